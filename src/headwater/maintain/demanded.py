"""Aggregates inside a recursion, over relations below it, for groups that the recursion asks for.

`o(R + 1, N) :- o(R, _), R < 3, N = count : { point(X), X <= R }.` counts points, which do not depend on `o`. What
does is which counts are wanted: those are the rows of a relation of the recursion (the aggregate's `demand`), and
each gives one row with its value. So the rule is a derivation from one premise, with a value that is looked up:
- more demand gives more rows and changes none, as a recursion must have it;
- a group without bindings has a count and a sum of 0; it has no avg, min and max, hence no row;
- when relations below change, the rows with the old value are lost and those with the new one are gained, for groups
  where the two differ. Everything else stays a derivation before and after.

Nothing is kept between versions: a value is made from the bindings of its group when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwater.kernel.states import EITHER, KEPT, OLD, VISIBLE
from headwater.language.program import Variable
from headwater.plan.access import PRESENT, Access
from headwater.plan.execute import Executor, Sink
from headwater.plan.order import ORIGIN, Planner
from headwater.plan.steps import Ints, Plan
from headwater.plan.templates import Code, Template
from headwater.rules.checked import Absent, CheckedRule, Premise
from headwater.values.group_sums import add_codes, aggregated, empty_sums
from headwater.values.ordering import order_keys
from headwater.values.special import NULL, has_special

Rows = npt.NDArray[np.int32]
Known = Callable[[CheckedRule, Hashable, Callable[[], Plan]], Plan]
"""A rule's plan by some name, or the function's, which is remembered."""

BEFORE = Access(OLD, OLD, OLD, OLD)
"""Bindings as they were when the version began."""
BEFORE_OR_NOW = Access(EITHER, EITHER, KEPT, KEPT)
"""All bindings there were or are, and some that never were: whose groups may have changed."""


@dataclass(frozen=True)
class Differing:
    """Groups whose value a version changes: rows of the aggregate that it loses, and that it gains.

    `asking` has the row of the demand that each gained row is for.
    """

    lost: Ints
    gained: Ints
    asking: Rows


class Demanded:
    """One rule with an aggregate by demand, and what it gives for rows of the demand."""

    def __init__(
        self, executor: Executor, planner: Planner, rule: CheckedRule, own: frozenset[str], known: Known
    ):
        assert rule.aggregate is not None
        self.executor = executor
        self.planner = planner
        self.known = known
        self.rule = rule
        self.own = own
        self.aggregate = rule.aggregate
        self.relation = rule.aggregate.demand or ""
        self.position, self.premise = next(
            (position, item)
            for position, item in enumerate(rule.body)
            if isinstance(item, Premise) and item.relation == self.relation
        )
        self.lower = [
            (position, item.relation)
            for position, item in enumerate(rule.body)
            if isinstance(item, Premise | Absent) and position != self.position
        ]

    # ------------------------------------------------------------------ as a rule

    def run(self, rows: Rows, access: Access, sink: Sink) -> int:
        """The rows that rows of the demand derive; where lower strata are to be as they stay, those that stay."""
        tuples, _ = self._values(rows, PRESENT)
        if access.after is KEPT:
            before, _ = self._values(rows, BEFORE)
            tuples = tuples[_among(tuples, before)]
        if tuples.shape[0]:
            sink(tuples)
        return int(tuples.shape[0])

    def ask(self, tuples: Ints, access: Access, sink: Sink) -> int:
        """Which of the given rows are derived now; the sink gets their places."""
        demand = self.executor.relations[self.relation]
        if not demand.stored or not tuples.shape[0]:
            return 0
        found = demand.find(self.asking(tuples))
        there = found >= 0
        there[there] = (demand.state[found[there]] & VISIBLE) != 0
        derived: list[Ints] = []
        self.run(np.unique(found[there]).astype(np.int32), access, lambda rows: derived.append(rows))
        if not derived:
            return 0
        places = np.flatnonzero(_among(tuples, derived[0][:, :-1]))
        sink(np.column_stack((places, np.zeros_like(places))))
        return int(places.shape[0])

    def asking(self, tuples: Ints) -> Ints:
        """The rows of the demand that rows of the aggregate are for."""
        return self._rows(tuples, self.planner.codes(self.rule.relation, self.rule.head))

    def _rows(self, tuples: Ints, given: Sequence[Code]) -> Ints:
        """Rows of the demand, from rows of which is said what each column holds."""
        columns = {code: column for column, code in enumerate(given) if isinstance(code, str)}
        wanted = self.planner.codes(self.relation, self.premise.args)
        return Template.of(self.relation, wanted, columns).matrix(tuples)

    # ------------------------------------------------------------------ changes below

    def differing(self, changed: Mapping[str, Rows]) -> Differing:
        """What a change of relations below does; `changed` has the rows that came or went, by relation."""
        rows = self._affected(changed)
        before, _ = self._values(rows, BEFORE)
        now, asking = self._values(rows, PRESENT)
        new = ~_among(now, before)
        return Differing(before[~_among(before, now)], now[new], asking[new])

    def standing(self, asking: Rows) -> npt.NDArray[np.bool_]:
        """Which of these rows of the demand still ask."""
        demand = self.executor.relations[self.relation]
        stands: npt.NDArray[np.bool_] = (demand.state[asking] & VISIBLE) != 0
        return stands

    def _affected(self, changed: Mapping[str, Rows]) -> Rows:
        demand = self.executor.relations[self.relation]
        found: list[Rows] = [np.empty(0, np.int32)]
        names = [arg.name for arg in self.premise.args if isinstance(arg, Variable)]
        codes = [
            code for code in self.planner.codes(self.relation, self.premise.args) if isinstance(code, str)
        ]

        def take(bindings: Ints) -> None:
            numbers = demand.find(self._rows(bindings, codes))
            found.append(np.unique(numbers[numbers >= 0]))

        for position, relation in self.lower:
            rows = changed.get(relation)
            if rows is None or not rows.shape[0] or not demand.stored:
                continue
            plan = self._plan(position, names)
            self.executor.run(plan, self.rule.types, rows, BEFORE_OR_NOW, take)
        return np.unique(np.concatenate(found)).astype(np.int32)

    # ------------------------------------------------------------------ values

    def _values(self, rows: Rows, access: Access) -> tuple[Ints, Rows]:
        """The rows of the aggregate (with ranks) for rows of the demand, and the row that each is for."""
        groups = self._collected(self._groups(), rows, PRESENT)
        groups = groups[np.argsort(groups[:, 0])]
        values, there = self._aggregated(groups[:, 0], self._collected(self._bindings(), rows, access))
        groups, values = groups[there], values[there]
        position = self.aggregate.position
        tuples = np.concatenate(
            (groups[:, 1 : position + 1], values[:, None], groups[:, position + 1 :]), axis=1
        )
        return np.ascontiguousarray(tuples), groups[:, 0].astype(np.int32)

    def _groups(self) -> Plan:
        return self.known(
            self.rule, "groups", lambda: self.planner.groups(self.rule, self.position, self.own)
        )

    def _bindings(self) -> Plan:
        argument = self.aggregate.argument
        return self._plan(self.position, [ORIGIN] if argument is None else [ORIGIN, argument.name])

    def _plan(self, position: int, names: Sequence[str]) -> Plan:
        return self.known(
            self.rule,
            ("bindings", position),
            lambda: self.planner.bindings(self.rule, position, self.own, names),
        )

    def _collected(self, plan: Plan, rows: Rows, access: Access) -> Ints:
        taken: list[Ints] = []
        self.executor.run(plan, self.rule.types, rows, access, lambda found: taken.append(found.copy()))
        return np.concatenate(taken) if taken else np.empty((0, plan.outputs.shape[0] + 1), np.int64)

    def _aggregated(self, origins: Ints, bindings: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """The aggregate of each group, as a code, and whether it has one; a binding starts with its origin."""
        groups = np.searchsorted(origins, bindings[:, 0])
        every = np.bincount(groups, minlength=origins.shape[0]).astype(np.int64)
        function, argument = self.aggregate.function, self.aggregate.argument
        everyone = np.ones(origins.shape[0], np.bool_)
        if argument is None:
            return every, everyone
        specials = self.executor.codec.specials
        values = np.ascontiguousarray(bindings[:, 1])
        if has_special(values):
            some = values != NULL if function == "count" else ~specials.nulls(values)
            groups, values = groups[some], values[some]
        counts = np.bincount(groups, minlength=origins.shape[0]).astype(np.int64)
        if function == "count":
            return counts, everyone
        type_ = self.rule.types[argument.name]
        if function in ("min", "max"):
            return self._best(function, groups, values, origins.shape[0]), every > 0
        sums = empty_sums(type_)
        sums.ensure(origins.shape[0])
        add_codes(sums, groups, values, 1, specials)
        # A group that nothing was found for has a sum of 0; one in which all is null has none.
        counted = np.where((every == 0) & (function == "sum"), 1, counts)
        places = np.arange(origins.shape[0], dtype=np.int64)
        codes = aggregated(sums, function, places, counted, specials)
        return codes, every > 0 if function == "avg" else everyone

    def _best(self, function: str, groups: Ints, values: Ints, count: int) -> Ints:
        """The least or greatest value of each group; NULL for one of no values."""
        assert self.aggregate.argument is not None
        type_ = self.rule.types[self.aggregate.argument.name]
        keys = order_keys([values], type_, self.executor.codec)[0] if type_ is not None else values
        order = np.lexsort((keys if function == "max" else -1 - keys, groups))
        best = np.full(count, NULL, np.int64)
        best[groups[order]] = values[order]  # of each group, the last one stays
        return best


def _among(rows: Ints, others: Ints) -> npt.NDArray[np.bool_]:
    """Which of the rows are also among the others."""
    known = set(map(tuple, others.tolist()))
    return np.fromiter((tuple(row) in known for row in rows.tolist()), np.bool_, rows.shape[0])
