"""Asking by goal: from a question's text, or a relation and some values, to answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headwater.catalog import Catalog
from headwater.catalog.question import Question, question
from headwater.database.answers import Answers
from headwater.errors import DataError
from headwater.language.datalog.questions import parse_question
from headwater.language.program import Atom, Column, Declaration, Positive, Program, Query, Variable
from headwater.local.runner import Runner
from headwater.maintain.goals import Means
from headwater.plan.goals import goal_program
from headwater.rules.checked import RelationInfo
from headwater.values.codec import Codec
from headwater.values.generators import GENERATORS
from headwater.values.layout import Layout
from headwater.values.special import is_untyped
from headwater.values.temporary import temporary_codec

GIVEN_VALUES = "~values"
"""The relation of the values that rows are asked for by, in a question about one relation."""


@dataclass(frozen=True)
class Questions:
    """Answers questions to what a catalog defines, from the place where the rows are. Nothing changes by it."""

    catalog: Catalog
    runner: Runner
    codec: Codec
    max_rounds: int
    at_max_rounds: str
    spark: Any = None
    asked: Callable[[Collection[str], float], None] = lambda relations, seconds: None
    """Is told which relations a question evaluated, and how long that took."""

    def ask(self, text: str) -> Answers:
        """The answers to a question as it is written."""
        return self._answered(question(self.catalog, parse_question(text)))

    def where(self, relation: str, values: Mapping[str, Any]) -> Answers:
        """The rows of a relation that have these values, all of its columns."""
        info = self.catalog.info(relation)
        self._check(info, values)
        if any(
            type is None and not is_untyped(values.get(c))
            for c, type in zip(info.columns, info.types, strict=True)
        ):
            # Nothing told the type of this column, so it has nulls only.
            return Answers(info.layout, self.codec, info.layout.empty(), spark_session=self.spark)
        if not values and info.kept:
            return Answers(info.layout, self.codec, self.runner.matrix(relation), spark_session=self.spark)
        variables = {column: Variable(f"{column}~") for column in info.columns}
        body = [Positive(Atom(relation, tuple(variables.values())))]
        program = Program()
        if values:
            body.insert(0, Positive(Atom(GIVEN_VALUES, tuple(variables[column] for column in values))))
            types = dict(zip(info.columns, info.types, strict=True))
            columns = tuple(Column(column, types[column], nullable=True) for column in values)
            program = Program(declarations=(Declaration(GIVEN_VALUES, columns),))
        names = tuple(variable.name for variable in variables.values())
        asked = question(self.catalog, replace(program, queries=(Query(tuple(body)),)), names)
        if values:
            asked = replace(asked, facts={GIVEN_VALUES: (tuple(values.values()),)})
        return replace(self._answered(asked, f"{relation} where"), layout=info.layout)

    @staticmethod
    def _check(info: RelationInfo, values: Mapping[str, Any]) -> None:
        """Refuse columns that are not there."""
        for name in values:
            if name not in info.columns:
                raise DataError(
                    "unknown-column",
                    f"{info.name} has no column {name!r}",
                    hint=f"it has: {', '.join(info.columns) or 'none'}",
                )

    def _answered(self, asked: Question, given: str | None = None) -> Answers:
        """What is evaluated for a question; `given` is what its facts are called in errors, if they have no name."""
        program = goal_program(asked.goal, asked.rules, asked.infos, self.runner.fanout, GENERATORS)
        codec = temporary_codec(self.codec)
        means = Means(codec, self.catalog.functions, self.max_rounds, self.at_max_rounds)
        facts = {
            name: asked.infos[name].layout.encode(codec, rows, given or name, asked=True)
            for name, rows in asked.facts.items()
        }
        matrix, cost = self.runner.evaluate(program, facts, means)
        self.asked({call.relation for call in program.calls}, cost.seconds)
        layout = asked.info.layout
        if not asked.columns:
            layout = Layout((), ())
        return Answers(layout, codec, matrix, program, cost, self.spark)
