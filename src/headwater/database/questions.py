"""Asking by goal: from a question's text, or a relation and some values, to answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headwater.catalog import Catalog
from headwater.catalog.question import Question, question
from headwater.database.answers import Answers
from headwater.errors import DataError
from headwater.language.datalog.questions import parse_question
from headwater.language.program import Atom, Comparison, Constant, Literal, Positive, Program, Query, Variable
from headwater.local.runner import Runner
from headwater.maintain.goals import Means
from headwater.plan.goals import goal_program
from headwater.rules.checked import Kind, RelationInfo
from headwater.values.codec import Codec
from headwater.values.generators import GENERATORS
from headwater.values.layout import Layout
from headwater.values.temporary import temporary_codec


@dataclass(frozen=True)
class Questions:
    """Answers questions to what a catalog defines, from the place where the rows are. Nothing changes by it."""

    catalog: Catalog
    runner: Runner
    codec: Codec
    max_rounds: int
    at_max_rounds: str
    spark: Any = None

    def ask(self, text: str) -> Answers:
        """The answers to a question as it is written."""
        return self._answered(question(self.catalog, parse_question(text)))

    def where(self, relation: str, values: Mapping[str, Any]) -> Answers:
        """The rows of a relation that have these values, all of its columns."""
        info = self.catalog.info(relation)
        self._check(info, values)
        if None in info.types:  # nothing told them yet, so there is no row
            return Answers(info.layout, self.codec, info.layout.empty(), spark_session=self.spark)
        if not values and info.kind is not Kind.VIRTUAL:
            return Answers(info.layout, self.codec, self.runner.matrix(relation), spark_session=self.spark)
        variables = {column: Variable(f"{column}~") for column in info.columns}
        equal = (Comparison("=", variables[column], Constant(value)) for column, value in values.items())
        body: tuple[Literal, ...] = (Positive(Atom(relation, tuple(variables.values()))), *equal)
        names = tuple(variable.name for variable in variables.values())
        found = self._answered(question(self.catalog, Program(queries=(Query(body),)), names))
        return replace(found, layout=info.layout)

    def _check(self, info: RelationInfo, values: Mapping[str, Any]) -> None:
        """Refuse columns that are not there, and values that could not be in them."""
        for name, value in values.items():
            if name not in info.columns:
                raise DataError(
                    "unknown-column",
                    f"{info.name} has no column {name!r}",
                    hint=f"it has: {', '.join(info.columns) or 'none'}",
                )
            type_ = info.types[info.columns.index(name)]
            if type_ is not None:
                self.codec.find_value(value, type_)

    def _answered(self, asked: Question) -> Answers:
        program = goal_program(asked.goal, asked.rules, asked.infos, self.runner.fanout, GENERATORS)
        codec = temporary_codec(self.codec)
        means = Means(codec, self.catalog.functions, self.max_rounds, self.at_max_rounds)
        facts = {
            name: asked.infos[name].layout.encode(codec, rows, name) for name, rows in asked.facts.items()
        }
        matrix, cost = self.runner.evaluate(program, facts, means)
        layout = asked.info.layout
        if not asked.columns:
            layout = Layout((), ())
        return Answers(layout, codec, matrix, program, cost, self.spark)
