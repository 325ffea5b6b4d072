"""Values of rows over a graph of derivations, and what a change of some does to the others.

What holds between changes: each derived row's value is the sum of its derivations', and they are the least solution.
Of the rows that may owe their value to something that got worse, all are forgotten and evaluated again, since rows on
a cycle would else vouch for each other. A better value is simply passed on.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headwater.annotations.boolean import Trust
from headwater.annotations.clearance import Clearance
from headwater.annotations.equations import Equations, Summand, solve
from headwater.annotations.protocol import AnyAnnotation, product
from headwater.annotations.tropical import Tropical
from headwater.annotations.viterbi import Viterbi
from headwater.plan.instances import Derivation
from headwater.plan.stored_rows import Key
from headwater.provenance.graph.graph import Graph
from headwater.provenance.graph.proof import System

ORDERS: Mapping[type, Callable[[Any], Any]] = {
    Trust: lambda value: not value,
    Tropical: lambda value: value,
    Viterbi: lambda value: -value,
    Clearance: lambda value: value,
}
"""Annotations in which a sum is one of its summands, and what comes first there. A row owes its value to those
derivations that equal it."""
SELECTIVE = tuple(ORDERS)


class Valuation:
    """What every row of a graph carries. `label` names a derivation's rule, `rule` says what using it multiplies by.

    `users` has the rows that a row takes part in deriving, `absent_users` those that its absence does (some may be
    gone by now); `evaluated` counts the values that the last change worked out.
    """

    def __init__(
        self,
        annotation: AnyAnnotation,
        graph: Graph,
        base: Mapping[Key, Any],
        label: Callable[[Derivation], str],
        rule: Callable[[str], Any],
    ):
        self.annotation = annotation
        self.graph = graph
        self.label = label
        self.rule = rule
        self.users: dict[Key, dict[Key, None]] = {}
        self.absent_users: dict[Key, dict[Key, None]] = {}
        for derivation in graph:
            self.enter(derivation)
        self.values: dict[Key, Any] = dict(base)
        if isinstance(annotation, SELECTIVE):
            self._best_first()
        else:
            self.values.update(solve(self.equations(), annotation, base, rule))
        self.evaluated = len(self.values)

    def equations(self) -> Equations[Key]:
        """The derivations as equations."""
        return {
            head: [Summand(self.label(derivation), derivation.premises) for derivation in derivations]
            for head, derivations in self.graph.derivations.items()
        }

    def _best_first(self) -> None:
        """Where a sum is one of its summands and a product no better than its factors: rows are settled from the
        best on, each once (Knuth)."""
        zero, best = self.annotation.zero, ORDERS[type(self.annotation)]
        system = System(self.graph)
        met: dict[int, int] = {}
        queue: list[tuple[Any, int]] = []

        def reach(numbers: Iterable[int]) -> None:
            for number in numbers:
                derivation = system.derivations[number]
                met[number] = found = met.get(number, 0) + 1
                if found >= system.needs[number] and derivation.head not in self.values:
                    value = self._term(derivation)
                    if value != zero:
                        heapq.heappush(queue, (best(value), number))

        for key in list(self.values):
            reach(system.uses.get(key, ()))
        reach(system.free)
        while queue:
            _, number = heapq.heappop(queue)
            head = system.derivations[number].head
            if head not in self.values:
                self.values[head] = self._term(system.derivations[number])
                reach(system.uses.get(head, ()))
        for head in self.graph.derivations:
            self.values.setdefault(head, zero)

    def enter(self, derivation: Derivation) -> None:
        """Take note of a derivation that is in the graph."""
        for key in derivation.premises:
            self.users.setdefault(key, {})[derivation.head] = None
        for key in derivation.absent:
            self.absent_users.setdefault(key, {})[derivation.head] = None

    def revalue(self, changed: Mapping[Key, Any], heads: Iterable[Key]) -> dict[Key, Any]:
        """Set values of base rows, evaluate some rows again, and all that this affects; return old values."""
        plus, equal = self.annotation.plus, self.annotation.equal
        old: dict[Key, Any] = {}
        self.evaluated = 0
        gone = {key for key in changed if key not in self.graph.base}
        worse = [
            key
            for key, value in changed.items()
            if not equal(plus(value, self.values.get(key, self.annotation.zero)), value)
        ]
        reset = {head for head in heads if head in self.values}
        reset |= {key for key in gone if key in self.values}
        todo = [*worse, *reset]
        selective = isinstance(self.annotation, SELECTIVE)
        while todo:
            key = todo.pop()
            for head in self.users.get(key, ()):
                if head not in reset and head in self.values and self._owes(head, key, selective):
                    reset.add(head)
                    todo.append(head)
        for key in reset | set(changed):
            if key in self.values:
                old.setdefault(key, self.values[key])
        for key, value in changed.items():
            self.values[key] = value
        for key in reset:
            self.values[key] = self.annotation.zero
        waiting = dict.fromkeys([*reset, *heads])
        for key in changed:
            waiting.update(dict.fromkeys(self.users.get(key, ())))
        while waiting:
            head = next(iter(waiting))
            del waiting[head]
            if head not in self.graph.derivations:
                continue
            value = self._evaluate(head)
            if head not in self.values or not equal(value, self.values[head]):
                old.setdefault(head, self.values.get(head, self.annotation.zero))
                self.values[head] = value
                waiting.update(dict.fromkeys(self.users.get(head, ())))
        for key in (*gone, *reset):
            if key not in self.graph.derivations and key not in self.graph.base:
                self.values.pop(key, None)
                self.users.pop(key, None)
        return {
            key: value
            for key, value in old.items()
            if key in self.values and not equal(value, self.values[key])
        }

    def _owes(self, head: Key, key: Key, selective: bool) -> bool:
        """Whether the row may owe its value to a derivation that uses the key (values are those of before)."""
        derivations = [d for d in self.graph.derivations.get(head, ()) if key in d.premises]
        if not selective:
            return bool(derivations)
        return any(self.annotation.equal(self._term(d), self.values[head]) for d in derivations)

    def _evaluate(self, head: Key) -> Any:
        self.evaluated += 1
        result = self.annotation.zero
        for derivation in self.graph.derivations.get(head, ()):
            result = self.annotation.plus(result, self._term(derivation))
        return result

    def _term(self, derivation: Derivation) -> Any:
        zero = self.annotation.zero
        values = product(self.annotation, (self.values.get(key, zero) for key in derivation.premises))
        label = self.label(derivation)
        return self.annotation.times(self.rule(label), self.annotation.through(label, values))
