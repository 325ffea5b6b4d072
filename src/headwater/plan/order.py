"""Choosing a join order for each start of a rule, from what the relations look like now.

Greedy: tests, computations and absent premises run as soon as their variables are bound; of the premises, the
one with the fewest expected matches per binding comes next. An index knows its number of distinct keys, so the
expectation is exact on average where the index exists, and guessed from size and width where it does not. What is
expected is looked at again only where something was bound: a long body is put in order in the time of reading it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Protocol

import numpy as np

from headwater.errors import RuleError
from headwater.language.program import Call, Constant, Term, Variable
from headwater.plan.steps import (
    AddNumbers,
    AntiJoin,
    Extend,
    Filter,
    Generate,
    Ints,
    Join,
    Plan,
    Start,
    Step,
    Words,
)
from headwater.plan.templates import Code, Sources, atom_codes
from headwater.rules.checked import Absent, CheckedRule, Compute, Item, Premise, Test
from headwater.rules.safety import may_fail
from headwater.rules.terms import subterms
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.layout import constant_code
from headwater.values.types import FLOAT, INT, Type, type_of

ORIGIN = "\0origin"
LAST = 1e12
"""What comes after all premises costs this much."""
NO_PAIRS = np.empty((0, 2), np.int64)


class Statistics(Protocol):
    """What the planner asks about relations."""

    def size(self, relation: str) -> int:
        """How many rows there are."""
        ...

    def fanout(self, relation: str, key: tuple[int, ...]) -> float:
        """How many rows one key of these code columns is expected to match."""
        ...


def variables(term: Term) -> set[str]:
    """The names of the variables in a term."""
    return {inner.name for inner in subterms(term) if isinstance(inner, Variable)}


def needs(item: Item) -> set[str]:
    """The variables an item mentions."""
    if isinstance(item, Premise | Absent):
        return {arg.name for arg in item.args if isinstance(arg, Variable)}
    if isinstance(item, Test):
        return variables(item.left) | variables(item.right)
    return variables(item.value) | {item.variable.name}


def ints(values: Iterable[int]) -> Ints:
    """A one-dimensional int64 array."""
    return np.array(list(values), np.int64)


def pairs(values: Sequence[tuple[int, int]]) -> Ints:
    """A two-column int64 array."""
    return np.array(values, np.int64).reshape(len(values), 2) if values else NO_PAIRS


def is_sum(term: Term, types: Mapping[str, Type | None], of: Type) -> bool:
    """Whether the term is `a + b` or `a - b` of variables and constants that have this type."""
    return (
        isinstance(term, Call)
        and term.function in ("+", "-")
        and len(term.args) == 2
        and all(
            types.get(arg.name) == of
            if isinstance(arg, Variable)
            else isinstance(arg, Constant) and type_of(arg.value) == of
            for arg in term.args
        )
    )


def solved(item: Compute, bound: set[str], rule: CheckedRule) -> tuple[str, str, Term, Term] | None:
    """How to find the one unknown int of `total = a + b` or `total = a - b` when the total is bound.

    A total that is null tells nothing of what was added.
    """
    value, total = item.value, item.variable
    if total.name not in bound or not isinstance(value, Call) or not is_sum(value, rule.types, INT):
        return None
    if total.name in rule.nullable:
        return None
    left, right = value.args
    for unknown, other in ((left, right), (right, left)):
        if isinstance(unknown, Variable) and unknown.name not in bound and variables(other) <= bound:
            if value.function == "+":
                return unknown.name, "-", total, other
            return (unknown.name, "+", total, right) if unknown is left else (unknown.name, "-", left, total)
    return None


class _Search:
    """What is left of a body while its order is chosen. A step costs what it binds, not the length of the body.

    `waiting` has the items left, by their place; `needed` how many of them need each variable.
    """

    def __init__(self, rule: CheckedRule, position: int | None, fanout: Callable[[Premise, set[str]], float]):
        self.rule = rule
        self.waiting = {place: item for place, item in enumerate(rule.body) if place != position}
        self.needed: Counter[str] = Counter()
        self._fanout = fanout
        self._bound: set[str] = set()
        self._users: dict[str, list[int]] = {}
        self._costs: dict[int, float] = {}
        self._queue: list[tuple[float, int]] = []
        self._lowest = 0
        for place, item in self.waiting.items():
            for name in needs(item):
                self.needed[name] += 1
                self._users.setdefault(name, []).append(place)
        if not self._one_premise:
            self._update(self.waiting)

    @property
    def _one_premise(self) -> bool:
        """Whether there is nothing to choose: all that is left is a premise, which can come at any time."""
        return len(self.waiting) == 1 and isinstance(next(iter(self.waiting.values())), Premise)

    def bind(self, names: Iterable[str]) -> None:
        """Take note of variables that have a value now."""
        if self._one_premise:
            return
        new = set(names) - self._bound
        self._bound |= new
        self._update({place for name in new for place in self._users.get(name, ())})

    def _update(self, places: Iterable[int]) -> None:
        for place in places:
            if place in self.waiting:
                cost = self._cost(self.waiting[place])
                if cost != float("inf") and cost != self._costs.get(place):
                    self._costs[place] = cost
                    heappush(self._queue, (cost, place))

    def _cost(self, item: Item) -> float:
        """The expected matches of a premise; -1 for what can be computed; infinite for what cannot yet.

        What may fail comes after all that is written before it, unless nothing else is left.
        """
        if isinstance(item, Premise):
            return self._fanout(item, self._bound)
        if isinstance(item, Compute):
            solution = solved(item, self._bound, self.rule)
            ready = variables(item.value) <= self._bound or solution is not None
        else:
            ready = needs(item) <= self._bound
        return float("inf") if not ready else LAST if may_fail(item) else -1.0

    def take(self) -> tuple[int, Item]:
        """The item that comes next."""
        if self._one_premise:
            self.needed.clear()
            return self.waiting.popitem()
        while self._lowest not in self.waiting:
            self._lowest += 1
        place = self._lowest
        if self._costs.get(place) != LAST:
            place = self._cheapest()
        item = self.waiting.pop(place)
        for name in needs(item):
            self.needed[name] -= 1
        return place, item

    def _cheapest(self) -> int:
        while self._queue:
            cost, place = heappop(self._queue)
            if place in self.waiting and self._costs[place] == cost:
                return place
        raise RuleError(
            "unsafe-rule", f"no order binds all variables of rule {self.rule.label}", place=self.rule.place
        )


class Planner:
    """Makes plans for rules; `own` names the relations of the rule's stratum."""

    def __init__(self, codec: Codec, functions: Functions, statistics: Statistics):
        self.codec = codec
        self.functions = functions
        self.statistics = statistics

    def delta(self, rule: CheckedRule, position: int, own: frozenset[str]) -> Plan:
        """From rows of the (absent) premise at `position` to rows of the head."""
        item = rule.body[position]
        assert isinstance(item, Premise | Absent)
        return self._plan(rule, item.relation, item.args, position, own, self._heads(rule))

    def goal(self, rule: CheckedRule, own: frozenset[str]) -> Plan:
        """From rows of the head to the row numbers (origins) of those that the body derives, once a derivation."""
        return self._plan(rule, rule.relation, rule.head, None, own, [ORIGIN])

    def instances(self, rule: CheckedRule, names: Sequence[str], relation: str | None = None) -> Plan:
        """From rows of the head to whole bindings: the row's number, then the values of the named variables.

        The rows may be kept in another `relation` than the rule's own: rows that are asked for, and not there.
        """
        return self._plan(rule, relation or rule.relation, rule.head, None, frozenset(), [ORIGIN, *names])

    def _heads(self, rule: CheckedRule) -> list[int | str]:
        """What a derivation is known by: the head, or the group and what is aggregated."""
        wanted: list[int | str] = []
        for column, arg in enumerate(rule.head):
            if rule.aggregate is not None and column == rule.aggregate.position:
                continue
            if isinstance(arg, Variable):
                wanted.append(arg.name)
            else:
                wanted.append(constant_code(self.codec, arg.value))
        if rule.aggregate is not None and rule.aggregate.argument is not None:
            wanted.append(rule.aggregate.argument.name)
        return wanted

    def groups(self, rule: CheckedRule, position: int, own: frozenset[str]) -> Plan:
        """From rows of one premise, and that alone, to the row's number and the head without what is aggregated."""
        assert rule.aggregate is not None
        alone = replace(rule, body=(rule.body[position],), aggregate=replace(rule.aggregate, argument=None))
        return self.bindings(alone, 0, own, [ORIGIN, *self._heads(alone)])

    def bindings(
        self, rule: CheckedRule, position: int, own: frozenset[str], wanted: Sequence[int | str]
    ) -> Plan:
        """From rows of the (absent) premise at `position` to wanted codes and variables, `ORIGIN` among them."""
        item = rule.body[position]
        assert isinstance(item, Premise | Absent)
        return self._plan(rule, item.relation, item.args, position, own, wanted)

    def _plan(
        self,
        rule: CheckedRule,
        relation: str,
        args: Sequence[Term],
        position: int | None,
        own: frozenset[str],
        wanted: Sequence[int | str],
    ) -> Plan:
        """`wanted` are codes, and variables."""
        head = position is None
        final = {name for name in wanted if isinstance(name, str)}
        search = _Search(rule, position, self.fanout)
        keep = final.union(search.needed)
        found: dict[str, int] = {}
        constants: list[tuple[int, int]] = []
        equalities: list[tuple[int, int]] = []
        for column, code in enumerate(self.codes(rule.relation if head else relation, args)):
            if isinstance(code, int):
                constants.append((column, code))
            elif code is not None:
                if code in found:
                    equalities.append((found[code], column))
                else:
                    found[code] = column
        layout = [name for name in found if name in keep]
        outputs = [found[name] for name in layout]
        if ORIGIN in final:
            layout.insert(0, ORIGIN)
            outputs.insert(0, -1)
        start = Start(
            relation,
            position,
            pairs(constants),
            pairs(equalities),
            ints(outputs),
            relation in own and not head,
        )
        told: list[Words] = [(f"start {relation}(", tuple(args), ")")]
        steps: list[Step] = []
        search.bind(layout)
        while search.waiting:
            place, item = search.take()
            keep = {n for n in (*layout, *needs(item)) if n in final or search.needed[n]}
            step, layout, words = self._step(rule, place, item, layout, keep, own)
            search.bind(layout)
            steps.append(step)
            told.append(words)
        sources = Sources({name: column for column, name in enumerate(layout)})
        results = [sources.of(code) for code in wanted]
        identity = results == list(range(len(layout)))
        return Plan(start, tuple(steps), ints(results), ints(sources.constants), identity, tuple(told))

    def codes(self, relation: str, args: Sequence[Term]) -> list[Code]:
        """What stands in each code column of an atom."""
        return atom_codes(args, self.codec)

    def _sum(
        self,
        op: str,
        left: Term,
        right: Term,
        where: Mapping[str, int],
        outputs: Sequence[int],
    ) -> AddNumbers:
        sources = Sources(where)
        operands = [sources.of(code) for code in atom_codes((left, right), self.codec)]
        constants = ints(sources.constants)
        return AddNumbers(operands[0], operands[1], constants, op == "-", ints(outputs))

    def fanout(self, item: Premise, bound: set[str]) -> float:
        """How many rows of a premise are expected to match one binding."""
        key = tuple(
            column
            for column, arg in enumerate(item.args)
            if isinstance(arg, Constant) or (isinstance(arg, Variable) and arg.name in bound)
        )
        size = self.statistics.size(item.relation)
        if not key:
            return float(size) + 1e6
        if len(key) == len(item.args):
            return 0.5
        return self.statistics.fanout(item.relation, key)

    def _step(
        self,
        rule: CheckedRule,
        place: int,
        item: Item,
        layout: list[str],
        keep: set[str],
        own: frozenset[str],
    ) -> tuple[Step, list[str], Words]:
        where = {name: column for column, name in enumerate(layout)}
        kept = [name for name in layout if name in keep]
        outputs = [where[name] for name in kept]
        if isinstance(item, Test):
            words: Words = ("where ", (item.left,), f" {item.op} ", (item.right,))
            return Filter(item.op, item.left, item.right, where, ints(outputs)), kept, words
        if isinstance(item, Compute) and (solution := solved(item, set(layout), rule)) is not None:
            name, op, left, right = solution
            words = (f"with {name} = ", (left,), f" {op} ", (right,))
            backwards = replace(self._sum(op, left, right, where, outputs), solves=True)
            return backwards, [*kept, name], words
        if isinstance(item, Compute):
            words = (f"with {item.variable.name} = ", (item.value,))
            if isinstance(item.value, Call) and self.functions.is_generator(item.value.function):
                if item.variable.name in where:
                    raise RuleError(
                        "unsupported",
                        f"{item.variable.name} is already bound where {item.value.function} should generate it",
                        place=item.place,
                        hint="generate into another variable and compare the two",
                    )
                step: Step = Generate(item.value.function, item.value.args, where, ints(outputs))
                return step, [*kept, item.variable.name], words
            if item.variable.name in where:
                return Filter("=", item.variable, item.value, where, ints(outputs)), kept, words
            names = [*kept, item.variable.name]
            if is_sum(item.value, rule.types, INT) or is_sum(item.value, rule.types, FLOAT):
                assert isinstance(item.value, Call)
                left, right = item.value.args
                added = self._sum(item.value.function, left, right, where, outputs)
                return replace(added, floats=is_sum(item.value, rule.types, FLOAT)), names, words
            return Extend(item.value, where, ints(outputs)), names, words
        sources = Sources(where)
        if isinstance(item, Absent):
            row = [sources.of(code) for code in self.codes(item.relation, item.args)]
            words = (f"unless {item.relation}(", item.args, ")")
            return (
                AntiJoin(item.relation, place, ints(row), ints(sources.constants), ints(outputs)),
                kept,
                words,
            )
        key: list[int] = []
        known: list[int] = []
        scan_constants: list[tuple[int, int]] = []
        equalities: list[tuple[int, int]] = []
        new: dict[str, int] = {}
        codes = self.codes(item.relation, item.args)
        for column, code in enumerate(codes):
            if isinstance(code, int) or code in where:
                known.append(sources.of(code))
                key.append(column)
                if isinstance(code, int):
                    scan_constants.append((column, code))
            elif code is not None:
                if code in new:
                    equalities.append((new[code], column))
                else:
                    new[code] = column
        fresh = [name for name in new if name in keep]
        outputs += [-new[name] - 1 for name in fresh]
        whole = len(key) == len(codes)
        access = "row" if whole else f"index({', '.join(map(str, key))})" if key else "scan"
        words = (f"join {item.relation}(", item.args, f") by {access}")
        join = Join(
            item.relation, place, tuple(key), whole, ints(known), ints(sources.constants), pairs(scan_constants),
            pairs(equalities), ints(outputs), item.relation in own,
        )  # fmt: skip
        return join, kept + fresh, words
