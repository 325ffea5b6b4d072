"""How far each rule gets towards a row that is not there: all but a few items of its body hold.

The head is bound to the row's values. For small sets of items that are let off, the rest of the body is run over
what is there now. What comes out are bindings of the rule in which exactly those items fail. A variable that only
they would bind is free: any value would do, as far as the rest is concerned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from headwater.errors import EvaluationError, RuleError
from headwater.language.program import Constant, Term, Variable, Wildcard
from headwater.plan.access import PRESENT
from headwater.plan.instances import Instances, Unprojected
from headwater.plan.order import needs, solved, variables
from headwater.plan.steps import Ints, Plan
from headwater.plan.stored_rows import Key
from headwater.provenance.show.wording import Wording
from headwater.rules.checked import UNIT, Absent, CheckedRule, Compute, Item, Premise, Test
from headwater.rules.terms import rebuild_part
from headwater.values.special import LAST

WANTED = "~wanted"
"""A relation that holds the row which is not there, for plans to start from."""
MOST_ITEMS_LET_OFF = 3
"""At most so many items of a body are let off at once, unless it is all premises."""


@dataclass(frozen=True)
class RuleAttempt:
    """A rule with values for its variables. `holds` and `fails` are items of the body with values put in; free
    variables are left. `unsure` are items that nobody can judge before the free variables have values."""

    rule: CheckedRule
    values: Mapping[str, Any]
    holds: tuple[Item, ...]
    fails: tuple[Item, ...]
    unsure: tuple[Item, ...]
    first: int
    """The place of the first item that fails."""

    @property
    def distance(self) -> tuple[int, ...]:
        """How far the rule is from deriving the row; of two, the one that fails later as the body is read."""
        holding = sum(isinstance(item, Premise) for item in self.holds)
        return len(self.fails), len(self.unsure), -holding, -self.first


@dataclass(frozen=True)
class Reduced:
    """A body without some items: which are left, which nobody can judge, what is bound, and how to run it."""

    kept: list[int]
    unsure: list[int]
    names: list[str]
    plan: Plan


class Attempts:
    """Finds attempts; indexes and scans it needs are told by the instances' `notes`."""

    def __init__(self, instances: Instances, wording: Wording):
        self.instances = instances
        self.wording = wording
        self._plans: dict[tuple[str, frozenset[int]], Reduced | None] = {}

    def of(self, key: Key, rule: Unprojected, most: int) -> list[RuleAttempt]:
        """The attempts of one rule with the fewest failing items, and those that rows alone could mend."""
        if not self._fits(rule.rule, key):
            return []
        body = rule.named.body
        places = [place for place, item in enumerate(body) if not _unit(item)]
        rows = [place for place in places if isinstance(body[place], Premise | Absent)]
        found: list[RuleAttempt] = []
        mendable = False
        for failing in _choices(places, rows):
            only_rows = set(failing) <= set(rows)
            if found and len(failing) > len(found[0].fails) and (mendable or not only_rows):
                continue
            attempts = self._attempts(rule, key, frozenset(failing), most)
            mendable = mendable or (bool(attempts) and only_rows)
            found += attempts
        return sorted(found, key=lambda attempt: attempt.distance)

    def _fits(self, rule: CheckedRule, key: Key) -> bool:
        """Whether the row can be a head of the rule: the constants are its own, and equal variables equal values."""
        bound: dict[str, int] = {}
        for code, given in zip(self.instances.planner.codes(rule.relation, rule.head), key[1], strict=True):
            if (code if isinstance(code, int) else bound.setdefault(str(code), given)) != given:
                return False
        return True

    def misfit(self, rule: CheckedRule, key: Key) -> str | None:
        """Why the row cannot be a head of the rule, in words."""
        if self._fits(rule, key):
            return None
        head = replace(Premise(rule.relation, rule.head))
        return f"its head is {self.wording.part(head)}"

    def _attempts(
        self, shape: Unprojected, key: Key, failing: frozenset[int], most: int
    ) -> list[RuleAttempt]:
        rule = shape.named
        reduced = self._reduced(rule, failing)
        if reduced is None:
            return []
        kept, unsure, names, plan = reduced.kept, reduced.unsure, reduced.names, reduced.plan
        try:
            bindings = self._run(plan, rule, key, most)
        except EvaluationError:  # values that what is let off would keep out
            return []
        attempts = []
        for binding in bindings[:, 1 : 1 + len(names)].tolist():
            values = {
                name: self._decoded(rule, name, code) for name, code in zip(names, binding, strict=True)
            }

            def put_in(term: Term, values: Mapping[str, Any] = values) -> Term:
                known = isinstance(term, Variable) and term.name in values
                return Constant(values[term.name]) if known else term  # type: ignore[union-attr]

            def items(places: Sequence[int], put_in: Any = put_in) -> tuple[Any, ...]:
                return tuple(
                    _put(rule.body[place], put_in) for place in places if not _unit(rule.body[place])
                )

            attempts.append(
                RuleAttempt(
                    shape.rule, values, items(kept), items(sorted(failing)), items(unsure), min(failing)
                )
            )
        return attempts

    def _reduced(self, rule: CheckedRule, failing: frozenset[int]) -> Reduced | None:
        """The rest of a body as a plan; `None` if no order binds it without what is let off."""
        if (rule.label, failing) not in self._plans:
            kept, unsure, names = _kept(rule, failing)
            body = tuple(rule.body[place] for place in kept)
            try:
                plan = self.instances.planner.instances(replace(rule, body=body), names, WANTED)
                self._plans[rule.label, failing] = Reduced(kept, unsure, names, plan)
            except RuleError:
                self._plans[rule.label, failing] = None
        return self._plans[rule.label, failing]

    def _run(self, plan: Plan, rule: CheckedRule, key: Key, most: int) -> Ints:
        starts = self.instances.rows.set_aside(WANTED, np.array([key[1]], np.int64).reshape(1, len(key[1])))
        taken: list[Ints] = []

        def sink(bindings: Ints) -> None:
            if sum(map(len, taken)) < most:
                taken.append(bindings[:most].copy())

        self.instances.executor.run(plan, rule.types, starts, PRESENT, sink)
        if not taken:
            return np.empty((0, 1), np.int64)
        return np.unique(np.concatenate(taken), axis=0)[:most]

    def _decoded(self, rule: CheckedRule, name: str, code: int) -> Any:
        type_ = rule.types.get(name) or self._column_type(rule, name)
        untyped = type_ is None and code > LAST
        return code if untyped else self.instances.planner.codec.decode_value(code, type_)

    def _column_type(self, rule: CheckedRule, name: str) -> Any:
        """The type of a wildcard: that of the column it stands in."""
        for item in rule.body:
            if isinstance(item, Premise | Absent):
                for arg, type_ in zip(item.args, self.wording.infos[item.relation].types, strict=True):
                    if isinstance(arg, Variable) and arg.name == name:
                        return type_
        return None


def _unit(item: Item) -> bool:
    return isinstance(item, Premise) and item.relation == UNIT


def _choices(places: Sequence[int], rows: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Sets of items to let off, small ones first; all premises at last."""
    for size in range(1, min(MOST_ITEMS_LET_OFF, len(places)) + 1):
        yield from combinations(places, size)
    if len(rows) > MOST_ITEMS_LET_OFF:
        yield tuple(rows)


def _kept(rule: CheckedRule, failing: frozenset[int]) -> tuple[list[int], list[int], list[str]]:
    """Which items can be judged without those let off, which cannot, and the variables that have values."""
    hidden = rule.aggregate.position if rule.aggregate is not None else None
    bound = {arg.name for place, arg in enumerate(rule.head) if isinstance(arg, Variable) and place != hidden}
    rest = [place for place in range(len(rule.body)) if place not in failing]
    for place in rest:
        if isinstance(rule.body[place], Premise):
            bound |= needs(rule.body[place])
    kept = [place for place in rest if isinstance(rule.body[place], Premise)]
    waiting = [place for place in rest if place not in kept]
    moved = True
    while moved:
        moved = False
        for place in waiting:
            item = rule.body[place]
            if isinstance(item, Compute):
                ready = variables(item.value) <= bound or solved(item, bound, rule) is not None
            else:
                ready = needs(item) <= bound
            if ready:
                bound |= needs(item)
                kept.append(place)
                waiting.remove(place)
                moved = True
                break
    return sorted(kept), waiting, sorted(bound)


def _put(item: Item, put_in: Any) -> Item:
    """The item with values put in; a computation of a known value becomes a test."""
    if isinstance(item, Compute):
        left = put_in(item.variable)
        return Test("=", left, rebuild_part(Test("=", item.value, item.value), put_in).left, item.place)  # type: ignore[union-attr]
    return rebuild_part(item, put_in)  # type: ignore[return-value]


def free(item: Premise | Absent) -> list[int]:
    """The columns of a premise that have no value."""
    return [column for column, arg in enumerate(item.args) if isinstance(arg, Variable | Wildcard)]
