"""A goal that is one atom, answered from the rows of a state at rest: `reach(a, X)`.

Other goals are left to the engine: those with rules, conditions or `_`, a variable twice, and constants that may be
equal to values of another type.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.errors import LanguageError
from headwater.language.datalog.questions import parse_question
from headwater.language.program import Atom, Constant, Positive, Variable
from headwater.local.at_rest import AtRest, state_at_rest
from headwater.values.arrow_calls import equal, rows_where
from headwater.values.arrow_numbers import scalar_of

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES: dict[type, str] = {str: "string", int: "int", bool: "bool", datetime.date: "date"}
"""The types of columns whose values a constant of a class equals, and no others."""


@dataclass(frozen=True)
class OneAtom:
    """A relation, the names that the answers' columns have, and the constants of the other columns, by position."""

    relation: str
    variables: dict[int, str]
    constants: dict[int, object]

    @classmethod
    def of(cls, text: str) -> OneAtom | None:
        """The goal in a text, if it is of this form."""
        try:
            program = parse_question(text)
        except LanguageError:
            return None  # told by those who know all of the language
        (query,) = program.queries
        if (
            program.slips
            or program.rules
            or program.declarations
            or program.directives
            or len(query.body) != 1
        ):
            return None
        (part,) = query.body
        return cls._of_atom(part.atom) if isinstance(part, Positive) else None

    @classmethod
    def _of_atom(cls, atom: Atom) -> OneAtom | None:
        variables = {place: arg.name for place, arg in enumerate(atom.args) if isinstance(arg, Variable)}
        constants = {place: arg.value for place, arg in enumerate(atom.args) if isinstance(arg, Constant)}
        names = set(variables.values())
        if len(variables) + len(constants) < len(atom.args) or len(names) < len(variables):
            return None
        return (
            None if any(name.startswith("_") for name in names) else cls(atom.relation, variables, constants)
        )

    def answers(self, rows: AtRest) -> AnswersAtRest | None:
        """The answers among the rows of the relation; `None` if the goal does not fit its columns."""
        if len(self.variables) + len(self.constants) != len(rows.columns) or not rows.columns:
            return None
        if any(_TYPES.get(type(value)) != rows.types[place] for place, value in self.constants.items()):
            return None
        table = rows.arrow()
        for place, value in self.constants.items() if table.num_rows else ():
            table = rows_where(table, equal(table.column(place), _comparable(value)))
        names = tuple(self.variables.values())
        types = tuple(rows.types[place] for place in self.variables)
        shown = table.select(list(self.variables)).rename_columns(list(names))
        return AnswersAtRest(names, types, shown, table.num_rows)


def _comparable(value: Any) -> Any:
    """A constant as Arrow compares columns with it."""
    return value if isinstance(value, datetime.date) else scalar_of(value)


@dataclass(frozen=True)
class AnswersAtRest:
    """Answers as a table. Without columns, `count` still says whether there is one."""

    columns: tuple[str, ...]
    types: tuple[str | None, ...]
    table: pa.Table
    count: int

    def __len__(self) -> int:
        return self.count

    def arrow(self, *, labels: bool = False) -> pa.Table:
        """The answers, in any order. There are no labelled nulls among them."""
        return self.table


def goal_at_rest(path: Path, text: str) -> tuple[int, AnswersAtRest] | None:
    """The version of the state in a folder and the answers to a goal, if both are of the simple kind."""
    goal = OneAtom.of(text)
    found = None if goal is None else state_at_rest(path, goal.relation)
    if goal is None or found is None or goal.relation not in found[1]:
        return None
    version, relations, _ = found
    answers = goal.answers(relations[goal.relation])
    return None if answers is None else (version, answers)
