"""Rule instances: rules run without projection, so that the rows of all premises are known.

The engine's plans project to the head as early as they can. Here a rule keeps the values of all its variables, as in
the mapping rules `P(x, y) :- body` of green-2007 (section 4.1.2), and rows are read off the bindings. Rules are run
*backwards*, from rows to their derivations, and *forwards*, from rows to what they derive, over what is there now.

An aggregate row (count, sum, avg) has one derivation, of which every binding of its group is a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.errors import EvaluationError
from headwater.kernel.relation import Relation
from headwater.language.program import Variable
from headwater.plan.access import PRESENT
from headwater.plan.execute import Executor
from headwater.plan.order import Planner, needs
from headwater.plan.steps import Ints, Plan
from headwater.plan.stored_rows import Key, StoredRows
from headwater.plan.templates import Template, with_named_wildcards
from headwater.rules.checked import UNIT, Absent, CheckedRule, Premise, RelationInfo, Stratum, placed


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
class Unprojected:
    """A rule that keeps the values of all its variables.

    `named` is the rule with a variable for each wildcard. A binding has a column for each of the `names`; head
    (unless it is an aggregate's), premises and absent rows are read off it, and so is the `argument` of an aggregate.
    """

    rule: CheckedRule
    named: CheckedRule
    names: tuple[str, ...]
    head: Template | None
    premises: tuple[Template, ...]
    absent: tuple[Template, ...]
    argument: int | None

    @classmethod
    def of(cls, rule: CheckedRule, planner: Planner) -> Unprojected:
        """The rule without its projection."""
        named = with_named_wildcards(rule)
        names = tuple(dict.fromkeys(name for item in named.body for name in sorted(needs(item))))
        columns = {name: column for column, name in enumerate(names)}

        def templates(kind: type[Premise] | type[Absent]) -> Iterator[Template]:
            for item in named.body:
                if isinstance(item, kind) and item.relation != UNIT:
                    yield Template.of(item.relation, planner.codes(item.relation, item.args), columns)

        aggregate = rule.aggregate
        head = planner.codes(rule.relation, rule.head) if aggregate is None else None
        return cls(
            rule,
            named,
            names,
            None if head is None else Template.of(rule.relation, head, columns),
            tuple(templates(Premise)),
            tuple(templates(Absent)),
            None if aggregate is None or aggregate.argument is None else columns[aggregate.argument.name],
        )

    @property
    def whole(self) -> CheckedRule:
        """The rule with all its variables as its head."""
        return replace(self.named, head=tuple(map(Variable, self.names)))

    def premise_at(self, position: int) -> int:
        """Which of the premises an item of the body is; -1 if it is none."""
        item = self.named.body[position]
        if not isinstance(item, Premise) or item.relation == UNIT:
            return -1
        before = self.named.body[:position]
        return sum(isinstance(other, Premise) and other.relation != UNIT for other in before)

    def heads(self, bindings: Ints) -> list[Key]:
        """The row that each binding derives; not for aggregates."""
        assert self.head is not None
        return [(self.rule.relation, row) for row in self.head.rows(bindings)]

    def derivations(self, bindings: Ints, heads: Iterable[Key]) -> list[Derivation]:
        """A derivation for each binding."""
        if not bindings.shape[0]:
            return []
        premises, absent = keys_of(self.premises, bindings), keys_of(self.absent, bindings)
        if self.argument is None:
            return [Derivation(self.rule, *parts) for parts in zip(heads, premises, absent, strict=True)]
        values = bindings[:, self.argument].tolist()
        return [
            Derivation(self.rule, head, rows, none, 1, (value,))
            for head, rows, none, value in zip(heads, premises, absent, values, strict=True)
        ]


def keys_of(templates: Sequence[Template], bindings: Ints) -> list[tuple[Key, ...]]:
    """For each binding, the rows that the templates stand for."""
    if not templates:
        return [()] * bindings.shape[0]
    columns = [[(template.relation, row) for row in template.rows(bindings)] for template in templates]
    return list(zip(*columns, strict=True))


class Instances:
    """Rules by the relation they derive and by those they read, with plans made on first use.

    Has an executor of its own, so that what a search looks at does not show in the statistics of versions; `notes`
    tells of scans and of indexes that were made.
    """

    def __init__(
        self,
        strata: Sequence[Stratum],
        relations: Mapping[str, Relation],
        infos: Mapping[str, RelationInfo],
        planner: Planner,
        between_pieces: Callable[[], None] = lambda: None,
    ):
        self.strata = strata
        self.infos = infos
        self.planner = planner
        self.relations: dict[str, Relation] = dict(relations)
        self.executor = Executor(self.relations, planner.codec, planner.functions, between_pieces)
        self.rows = StoredRows(self.relations, planner, self.executor)
        self.rules: dict[str, list[Unprojected]] = {}
        self.readers: dict[str, list[tuple[Unprojected, int]]] = {}
        for rule in (rule for stratum in strata for rule in stratum.rules):
            unprojected = Unprojected.of(rule, planner)
            self.rules.setdefault(rule.relation, []).append(unprojected)
            for position, item in enumerate(rule.body):
                if isinstance(item, Premise | Absent):
                    self.readers.setdefault(item.relation, []).append((unprojected, position))
        self._plans: dict[tuple[str, int], Plan] = {}

    def derived(self, relation: str) -> bool:
        """Whether rules derive the relation's rows."""
        return relation in self.rules

    # ------------------------------------------------------------------ backwards

    def of(
        self, relation: str, rows: Sequence[tuple[int, ...]], most: int | None = None
    ) -> tuple[list[Derivation], int]:
        """All derivations of rows of one relation, at most `most` of them, and how many there are besides.

        An aggregate row has one derivation, which is never cut.
        """
        numbers = self.rows.numbers(relation, rows)
        heads = {
            int(number): (relation, row) for number, row in zip(numbers, rows, strict=True) if number >= 0
        }
        if self.infos[relation].aggregate is None:
            return self._of(relation, heads, most)
        parts: dict[Key, list[Derivation]] = {}
        for part in self._of(relation, heads, None)[0]:
            parts.setdefault(part.head, []).append(part)
        found = [_together(bindings) for bindings in parts.values()]
        return found + [self._of_nothing(head) for head in heads.values() if head not in parts], 0

    def _of_nothing(self, head: Key) -> Derivation:
        """The derivation of a count or sum of 0: it rests on the row that asks for it."""
        rule = self.rules[head[0]][0].rule
        assert rule.aggregate is not None
        demand = next(
            item for item in rule.body if isinstance(item, Premise) and item.relation == rule.aggregate.demand
        )
        columns = {
            code: column
            for column, code in enumerate(self.planner.codes(rule.relation, rule.head))
            if isinstance(code, str)
        }
        template = Template.of(demand.relation, self.planner.codes(demand.relation, demand.args), columns)
        return Derivation(rule, head, keys_of([template], np.array([head[1]], np.int64))[0], bindings=0)

    def _of(self, relation: str, heads: Mapping[int, Key], most: int | None) -> tuple[list[Derivation], int]:
        starts = np.array(list(heads), np.int32)
        found: list[Derivation] = []
        more = 0
        for rule in self.rules.get(relation, ()):
            bindings, left = self._bindings(rule, starts, None if most is None else most - len(found))
            found += rule.derivations(bindings[:, 1:], (heads[number] for number in bindings[:, 0].tolist()))
            more += left
        return found, more

    def _bindings(
        self, rule: Unprojected, starts: npt.NDArray[np.int32], most: int | None
    ) -> tuple[Ints, int]:
        """The number of a row and the values of a derivation of it, for each; and how many were left out."""
        plan = self._plans.get((rule.rule.label, -1))
        if plan is None:
            plan = self._plans[rule.rule.label, -1] = self.planner.instances(rule.named, rule.names)
        taken: list[Ints] = []
        room = [most]

        def sink(bindings: Ints) -> None:
            if room[0] is None:
                taken.append(bindings.copy())
            elif room[0] > 0:
                taken.append(bindings[: room[0]].copy())
                room[0] -= taken[-1].shape[0]

        try:
            count = self.executor.run(plan, rule.named.types, starts, PRESENT, sink)
        except EvaluationError as error:
            raise placed(error, rule.rule) from error
        matrix = np.concatenate(taken) if taken else np.empty((0, len(rule.names) + 2), np.int64)
        return matrix, count - matrix.shape[0]

    # ------------------------------------------------------------------ forwards

    def heads(self, relation: str, rows: Sequence[tuple[int, ...]], *, absent: bool = False) -> set[Key]:
        """The rows that are there and have a derivation that uses one of these rows (or its absence)."""
        found: set[Key] = set()
        starts = self._starts(relation, rows, absent)
        if not starts.shape[0]:
            return found
        for rule, position in self.readers.get(relation, ()):
            if isinstance(rule.rule.body[position], Absent) == absent:
                found.update(self._heads(rule.rule, position, starts))
        return found

    def _starts(self, relation: str, rows: Sequence[tuple[int, ...]], absent: bool) -> npt.NDArray[np.int32]:
        if not absent:
            numbers = self.rows.numbers(relation, rows)
            return np.ascontiguousarray(numbers[numbers >= 0])
        # rows that are not there are kept aside, where a plan can start from them
        arity = self.relations[relation].arity
        return self.rows.set_aside(f"{relation}~absent", np.array(rows, np.int64).reshape(len(rows), arity))

    def _heads(self, rule: CheckedRule, position: int, starts: npt.NDArray[np.int32]) -> set[Key]:
        plan = self._plans.get((rule.label, position))
        if plan is None:
            plan = self.planner.delta(rule, position, frozenset())
            if isinstance(rule.body[position], Absent):
                plan = replace(plan, start=replace(plan.start, relation=f"{plan.start.relation}~absent"))
            self._plans[rule.label, position] = plan
        taken: list[Ints] = []
        try:
            self.executor.run(
                plan, rule.types, starts, PRESENT, lambda rows: taken.append(rows[:, :-1].copy())
            )
        except EvaluationError as error:
            raise placed(error, rule) from error
        if not taken:
            return set()
        rows = np.concatenate(taken)
        if rule.aggregate is not None:
            group = [column for column in range(len(rule.head)) if column != rule.aggregate.position]
            return self.rows.matching(rule.relation, group, rows[:, : len(group)])
        heads = list({tuple(row) for row in rows.tolist()})
        there = self.rows.numbers(rule.relation, heads) >= 0
        return {(rule.relation, row) for row, good in zip(heads, there.tolist(), strict=True) if good}


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
