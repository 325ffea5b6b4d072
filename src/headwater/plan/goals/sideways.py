"""Sideways information passing: in which order the parts of a body are asked, and what each knows from those before.

Greedy, as a join order is (`plan/order`): tests and computations as soon as they can be made, then the premise with
the fewest rows expected. A relation that is evaluated by demand costs little where a column is bound, and is put off
where none is. What is negated and evaluated by demand comes last: the fewer bindings are left, the less is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from headwater.language.program import Constant, Variable
from headwater.plan.order import needs, solved, variables
from headwater.rules.checked import Absent, CheckedRule, Compute, Item, Premise
from headwater.rules.safety import may_fail

FULLY_BOUND, PARTLY_BOUND, UNBOUND = 0.5, 100.0, 1e9
"""What a premise evaluated by demand is taken to cost: rows for each binding."""

Fanout = Callable[[Premise, set[str]], float]
"""How many rows of a stored premise are expected to match one binding of these variables."""


def names(terms: Iterable[object]) -> set[str]:
    """The names of the variables among terms without calls."""
    return {term.name for term in terms if isinstance(term, Variable)}


@dataclass(frozen=True)
class Passing:
    """What may be passed to a call: the variables, and the places of the items that bind and restrict them."""

    known: frozenset[str]
    places: tuple[int, ...]


@dataclass
class Sideways:
    """Puts a body into order. `virtual` names the relations that are evaluated by demand."""

    rule: CheckedRule
    virtual: Collection[str]
    fanout: Fanout
    as_written: bool = False
    """Whether premises stay in the order of writing; what is tested and computed still comes as soon as it can."""

    def ordered(self, bound: Collection[str], first: Item | None = None) -> list[Item]:
        """The items of the body, each after those that bind what it needs; `bound` have values from the start."""
        waiting = [item for item in self.rule.body if item is not first]
        known = set(bound)
        order: list[Item] = []
        if first is not None:
            order.append(first)
            known |= needs(first)
        while waiting:
            item = min(waiting, key=lambda item: self._cost(item, known))
            waiting.remove(item)
            order.append(item)
            known |= needs(item)
        return order

    def _cost(self, item: Item, known: set[str]) -> float:
        if isinstance(item, Premise):
            if self.as_written:
                return float(self.rule.body.index(item))
            if item.relation not in self.virtual:
                return self.fanout(item, known)
            given = [isinstance(arg, Constant) or bool(names((arg,)) & known) for arg in item.args]
            return FULLY_BOUND if all(given) else PARTLY_BOUND if any(given) else UNBOUND
        if not self._ready(item, known):
            return float("inf")
        asks = isinstance(item, Absent) and item.relation in self.virtual
        return 1e12 if may_fail(item) or asks else -1.0

    def passing(
        self,
        before: Sequence[Item],
        bound: Iterable[str],
        *,
        without: Collection[str] = (),
        computed: bool = True,
    ) -> Passing:
        """What of the items `before` a call may be passed to it.

        Never what may fail, since what keeps it from failing may be left out; nor what is negated and evaluated by
        demand, since that would have to be complete before anything is asked. Nothing of the relations `without`.
        Unless `computed`, only values that stand in rows: those computed from each other might have no end.
        """
        known = set(bound)
        places: list[int] = []
        for place, item in enumerate(before):
            if isinstance(item, Premise):
                if item.relation in without:
                    continue
            elif may_fail(item):
                continue
            elif isinstance(item, Compute):
                if not computed or not self._ready(item, known):
                    continue
            elif not needs(item) <= known or (isinstance(item, Absent) and item.relation in self.virtual):
                continue
            known |= needs(item)
            places.append(place)
        return Passing(frozenset(known), tuple(places))

    def _ready(self, item: Item, known: set[str]) -> bool:
        """Whether an item other than a premise has all values that it needs."""
        if isinstance(item, Compute):
            return variables(item.value) <= known or solved(item, known, self.rule) is not None
        return needs(item) <= known


def connected(items: Sequence[Item], wanted: set[str]) -> tuple[Item, ...]:
    """Those of the items that have to do with the wanted variables, directly or through others."""
    reached = set(wanted)
    growing = True
    while growing:
        before = len(reached)
        for item in items:
            if needs(item) & reached:
                reached |= needs(item)
        growing = len(reached) > before
    return tuple(item for item in items if needs(item) & reached)


def as_written(rule: CheckedRule, order: Sequence[Item], items: Sequence[Item]) -> list[Item]:
    """The items that stand for those of a rule, which are given in some `order`, in the order of the rule."""
    places = [rule.body.index(item) for item in order]
    return [item for _, item in sorted(zip(places, items, strict=True), key=itemgetter(0))]
