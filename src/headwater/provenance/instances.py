"""Finding the derivations of rows, and what rows derive: rules run backwards and forwards over what is there now.

A row is known by its *key*: its relation and the codes of its values. Keys stay valid over versions, unlike row
numbers. An aggregate row (count, sum, avg) has one derivation, of which every binding of its group is a part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.errors import EvaluationError
from headwater.kernel.relation import Relation
from headwater.kernel.states import LIVE_ROWS, VISIBLE
from headwater.language.program import Constant, Variable, Wildcard
from headwater.maintain.engine import UNIT, Engine
from headwater.maintain.workspace import placed
from headwater.plan.execute import PRESENT, Access, Executor
from headwater.plan.order import needs
from headwater.plan.steps import Ints, Plan
from headwater.rules.checked import Absent, CheckedRule, Premise
from headwater.values.layout import constant_code

Key = tuple[str, tuple[int, ...]]
CANDIDATES = Access(LIVE_ROWS, LIVE_ROWS, LIVE_ROWS, LIVE_ROWS, LIVE_ROWS, LIVE_ROWS)
"""What can be derived, best or not."""


class Derivation(NamedTuple):
    """One rule with a row for each premise. For an aggregate, `premises` are those of all bindings of the group,
    `bindings` says how many these are, and `values` what was aggregated."""

    rule: CheckedRule
    head: Key
    premises: tuple[Key, ...]
    absent: tuple[Key, ...] = ()
    bindings: int = 1
    values: tuple[int, ...] = ()


@dataclass(frozen=True)
class Shape:
    """A rule whose wildcards have names, the names of all variables of its body, and where rows come from.

    A row of a premise is put together from bindings: columns (>= 0) or constants (-s - 1).
    """

    rule: CheckedRule
    named: CheckedRule
    names: tuple[str, ...]
    premises: tuple[tuple[str, tuple[int, ...]], ...]
    absent: tuple[tuple[str, tuple[int, ...]], ...]
    constants: tuple[int, ...]
    argument: int | None


class Instances:
    """Rules by the relation they derive and by those they read, with plans made on first use.

    Has an executor of its own, so that what explanations look at does not show in the statistics of versions;
    `notes` tells of scans and of indexes that were made.
    """

    def __init__(self, engine: Engine, asked: Mapping[str, Relation] | None = None):
        self.engine = engine
        self.workspace = engine.workspace
        self.relations: dict[str, Relation] = {**self.workspace.relations, **(asked or {})}
        self.executor = Executor(
            self.relations, self.workspace.codec, self.workspace.functions, self.workspace.interrupts.check
        )
        self.shapes: dict[str, list[Shape]] = {}
        self.readers: dict[str, list[tuple[Shape, int]]] = {}
        for view in engine.views:
            for rule in view.rules.rules:
                shape = self._shape(rule)
                self.shapes.setdefault(rule.relation, []).append(shape)
                for position, item in enumerate(rule.body):
                    if isinstance(item, Premise | Absent):
                        self.readers.setdefault(item.relation, []).append((shape, position))
        self._plans: dict[tuple[str, int], Plan] = {}

    # ------------------------------------------------------------------ rows

    def numbers(self, relation: str, rows: Sequence[tuple[int, ...]]) -> npt.NDArray[np.int32]:
        """The row number of each row that is there, -1 of each that is not."""
        stored = self.relations[relation]
        matrix = np.array(rows, np.int64).reshape(len(rows), stored.arity)
        if not stored.stored:
            return np.full(len(rows), -1, np.int32)
        found = stored.find(matrix)
        there = (found >= 0) & ((stored.state[np.maximum(found, 0)] & VISIBLE) != 0)
        return np.where(there, found, np.int32(-1)).astype(np.int32)

    def has(self, key: Key) -> bool:
        """Whether the row is there."""
        return bool(self.numbers(key[0], [key[1]])[0] >= 0)

    def rank(self, key: Key) -> int:
        """When the row was derived: one of its derivations is from rows of its stratum derived before."""
        relation = self.relations[key[0]]
        number = int(self.numbers(key[0], [key[1]])[0])
        return int(relation.rows[number, relation.head_rank_column]) if number >= 0 else -1

    def candidates(self, key: Key) -> int:
        """How many rows were compared for a best row: all that are derivable in its group, and itself."""
        return len(self.group(key, self.workspace.infos[key[0]].selections[0].group, CANDIDATES))

    def derived(self, relation: str) -> bool:
        """Whether rules derive the relation's rows."""
        return relation in self.shapes

    # ------------------------------------------------------------------ backwards

    def of(
        self, relation: str, rows: Sequence[tuple[int, ...]], most: int | None = None
    ) -> tuple[list[Derivation], int]:
        """All derivations of rows of one relation, at most `most` of them, and how many there are besides.

        An aggregate row has one derivation, which is never cut.
        """
        numbers = self.numbers(relation, rows)
        heads = {
            int(number): (relation, row) for number, row in zip(numbers, rows, strict=True) if number >= 0
        }
        if self.workspace.infos[relation].aggregate is None:
            return self._of(relation, heads, most)
        parts: dict[Key, list[Derivation]] = {}
        for part in self._of(relation, heads, None)[0]:
            parts.setdefault(part.head, []).append(part)
        found = [_together(bindings) for bindings in parts.values()]
        return found + [self._of_nothing(head) for head in heads.values() if head not in parts], 0

    def _of_nothing(self, head: Key) -> Derivation:
        """The derivation of a count or sum of 0: it rests on the row that asks for it."""
        rule = self.shapes[head[0]][0].rule
        demand = next(
            item
            for item in rule.body
            if isinstance(item, Premise)
            and rule.aggregate is not None
            and item.relation == rule.aggregate.demand
        )
        codes = self.workspace.planner.codes
        columns = dict(zip(codes(rule.relation, rule.head), head[1], strict=True))
        asking = tuple(
            columns[code] if isinstance(code, str) else code or 0
            for code in codes(demand.relation, demand.args)
        )
        return Derivation(rule, head, ((demand.relation, asking),), bindings=0)

    def _of(self, relation: str, heads: Mapping[int, Key], most: int | None) -> tuple[list[Derivation], int]:
        starts = np.array(list(heads), np.int32)
        found: list[Derivation] = []
        more = 0
        for shape in self.shapes.get(relation, ()):
            bindings, left = self._bindings(shape, starts, None if most is None else most - len(found))
            found += self._derivations(shape, bindings, heads)
            more += left
        return found, more

    def _bindings(self, shape: Shape, starts: npt.NDArray[np.int32], most: int | None) -> tuple[Ints, int]:
        taken: list[Ints] = []
        room = [most]

        def sink(bindings: Ints) -> None:
            if room[0] is None:
                taken.append(bindings.copy())
            elif room[0] > 0:
                taken.append(bindings[: room[0]].copy())
                room[0] -= taken[-1].shape[0]

        key = (shape.rule.label, -1)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self.workspace.planner.instances(shape.named, shape.names)
        try:
            count = self.executor.run(plan, shape.named.types, starts, PRESENT, sink)
        except EvaluationError as error:
            raise placed(error, shape.rule) from error
        matrix = np.concatenate(taken) if taken else np.empty((0, len(shape.names) + 2), np.int64)
        return matrix, count - matrix.shape[0]

    def _derivations(self, shape: Shape, bindings: Ints, heads: Mapping[int, Key]) -> list[Derivation]:
        if not bindings.shape[0]:
            return []
        premises = self.rows_of(shape.premises, shape.constants, bindings[:, 1:])
        absent = self.rows_of(shape.absent, shape.constants, bindings[:, 1:])
        of = [heads[number] for number in bindings[:, 0].tolist()]
        rule = shape.rule
        if shape.argument is None:
            return [Derivation(rule, *parts) for parts in zip(of, premises, absent, strict=True)]
        values = bindings[:, 1 + shape.argument].tolist()
        return [
            Derivation(rule, head, rows, none, 1, (value,))
            for head, rows, none, value in zip(of, premises, absent, values, strict=True)
        ]

    @staticmethod
    def rows_of(
        templates: Sequence[tuple[str, tuple[int, ...]]], constants: Sequence[int], values: Ints
    ) -> list[tuple[Key, ...]]:
        """For each binding, the rows that the templates stand for."""
        if not templates:
            return [()] * values.shape[0]
        columns: list[list[Key]] = []
        for relation, sources in templates:
            matrix = np.empty((values.shape[0], len(sources)), np.int64)
            for column, source in enumerate(sources):
                matrix[:, column] = values[:, source] if source >= 0 else constants[-source - 1]
            columns.append([(relation, row) for row in map(tuple, matrix.tolist())])
        return list(zip(*columns, strict=True))

    # ------------------------------------------------------------------ forwards

    def heads(self, relation: str, rows: Sequence[tuple[int, ...]], *, absent: bool = False) -> set[Key]:
        """The rows that are there and have a derivation that uses one of these rows (or its absence)."""
        found: set[Key] = set()
        starts = self._starts(relation, rows, absent)
        if not starts.shape[0]:
            return found
        for shape, position in self.readers.get(relation, ()):
            if isinstance(shape.rule.body[position], Absent) == absent:
                found.update(self._heads(shape, position, starts))
        return found

    def _starts(self, relation: str, rows: Sequence[tuple[int, ...]], absent: bool) -> npt.NDArray[np.int32]:
        if not absent:
            numbers = self.numbers(relation, rows)
            return np.ascontiguousarray(numbers[numbers >= 0])
        # rows that are not there are kept aside, where a plan can start from them
        aside = Relation(relation, self.relations[relation].arity)
        tuples = np.zeros((len(rows), aside.arity + 1), np.int64)
        tuples[:, : aside.arity] = np.array(rows, np.int64).reshape(len(rows), aside.arity)
        self.relations[f"{relation}~absent"] = aside
        return aside.show(aside.add(tuples, 0), 0)

    def _heads(self, shape: Shape, position: int, starts: npt.NDArray[np.int32]) -> set[Key]:
        key = (shape.rule.label, position)
        plan = self._plans.get(key)
        if plan is None:
            plan = self.workspace.planner.delta(shape.rule, position, frozenset())
            if isinstance(shape.rule.body[position], Absent):
                plan = replace(plan, start=replace(plan.start, relation=f"{plan.start.relation}~absent"))
            self._plans[key] = plan
        taken: list[Ints] = []
        try:
            self.executor.run(
                plan, shape.rule.types, starts, PRESENT, lambda rows: taken.append(rows[:, :-1].copy())
            )
        except EvaluationError as error:
            raise placed(error, shape.rule) from error
        if not taken:
            return set()
        rows = np.concatenate(taken)
        relation, aggregate = shape.rule.relation, shape.rule.aggregate
        if aggregate is not None:
            group = [column for column in range(len(shape.rule.head)) if column != aggregate.position]
            return self.matching(relation, group, rows[:, : len(group)])
        heads = list({tuple(row) for row in rows.tolist()})
        there = self.numbers(relation, heads) >= 0
        return {(relation, row) for row, good in zip(heads, there.tolist(), strict=True) if good}

    def matching(
        self, relation: str, columns: Sequence[int], values: Ints, access: Access = PRESENT
    ) -> set[Key]:
        """The rows that have one of the given combinations of values in some columns, found by an index."""
        every = tuple(Variable(f"c{column}") for column in range(self.relations[relation].arity))
        asked = Relation("~asked", len(columns))
        tuples = np.zeros((values.shape[0], len(columns) + 1), np.int64)
        tuples[:, : len(columns)] = values
        starts = asked.show(asked.add(tuples, 0), 0)
        self.relations[asked.name] = asked
        body = (Premise(asked.name, tuple(every[column] for column in columns)), Premise(relation, every))
        plan = self.workspace.planner.delta(CheckedRule("~asked", relation, every, body, {}), 0, frozenset())
        found: set[Key] = set()
        self.executor.run(
            plan, {}, starts, access,
            lambda rows: found.update((relation, row) for row in map(tuple, rows[:, :-1].tolist())),
        )  # fmt: skip
        return found

    def group(self, key: Key, columns: Sequence[int], access: Access = PRESENT) -> list[Key]:
        """The rows that agree with this one, there or not, in some columns."""
        codes = self.workspace.infos[key[0]].layout.codes(columns)
        values = np.array([key[1][code] for code in codes], np.int64).reshape(1, len(codes))
        return sorted(self.matching(key[0], codes, values, access))

    # ------------------------------------------------------------------ shapes

    def _shape(self, rule: CheckedRule) -> Shape:
        body = tuple(
            replace(
                item,
                args=tuple(
                    Variable(f"~{position}.{column}") if isinstance(arg, Wildcard) else arg
                    for column, arg in enumerate(item.args)
                ),
            )
            if isinstance(item, Premise)
            else item
            for position, item in enumerate(rule.body)
        )
        names = tuple(dict.fromkeys(name for item in body for name in sorted(needs(item))))
        where = {name: column for column, name in enumerate(names)}
        constants: list[int] = []

        def source(arg: Variable | Constant | Wildcard) -> int:
            if isinstance(arg, Variable):
                return where[arg.name]
            assert isinstance(arg, Constant)
            constants.append(constant_code(self.workspace.codec, arg.value))
            return -len(constants)

        def templates(kind: type[Premise] | type[Absent]) -> tuple[tuple[str, tuple[int, ...]], ...]:
            return tuple(
                (item.relation, tuple(source(arg) for arg in item.args))
                for item in body
                if isinstance(item, kind) and item.relation != UNIT
            )

        aggregate = rule.aggregate
        argument = None if aggregate is None or aggregate.argument is None else where[aggregate.argument.name]
        return Shape(
            rule, replace(rule, body=body), names, templates(Premise), templates(Absent), tuple(constants),
            argument,
        )  # fmt: skip

    def notes(self) -> tuple[str, ...]:
        """Scans, and indexes made on first use, that the search needed so far."""
        said = [f"scanned {self._said(name)}" for name in self.executor.scans if name != UNIT]
        for name, key in self.executor.built:
            columns = ", ".join(self.workspace.infos[name].layout.names(key))
            said.append(f"indexed {self._said(name)} by ({columns}), once")
        return tuple(dict.fromkeys(said))

    def _said(self, relation: str) -> str:
        """The relation's name; those that rewriting made are parts of rules."""
        return f"a part of {relation.split('~')[0]}" if self.workspace.infos[relation].internal else relation


def _together(parts: Sequence[Derivation]) -> Derivation:
    """The one derivation of an aggregate row, from its bindings."""
    aggregate = parts[0].rule.aggregate
    demand = aggregate.demand if aggregate is not None else None
    asking = {row for row in parts[0].premises if row[0] == demand}
    return parts[0]._replace(
        premises=(*asking, *(row for part in parts for row in part.premises if row not in asking)),
        absent=tuple(dict.fromkeys(row for part in parts for row in part.absent)),
        bindings=len(parts),
        values=tuple(value for part in parts for value in part.values),
    )
