"""The smallest changes of base rows that would bring a row about.

Best first: what a rule lacks (attempts) becomes rows to insert, rows to take away, and derived rows to bring about
in turn. What would take a row away is a set of base rows that hits all its minimal explanations. Every repair is
tried on the database and taken back before it is told.
"""

from __future__ import annotations

import datetime
import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from headwater.language.program import Call, Constant, Term, Variable
from headwater.plan.order import variables
from headwater.plan.stored_rows import Key
from headwater.provenance.ask.attempts import Attempts, RuleAttempt
from headwater.provenance.ask.repair import Repair, tried
from headwater.provenance.evidence import Evidence
from headwater.provenance.graph.graph import explore
from headwater.provenance.graph.terms import minimal_terms
from headwater.provenance.show.wording import Fact
from headwater.rules.checked import Absent, Premise, Test
from headwater.values.record import FrozenMap, Months
from headwater.values.scalars import canonical
from headwater.values.types import Type
from headwater.version.changes import Changes

EXPANSIONS, TRIALS, GUESSES, TERMS, BINDINGS = 60, 30, 4, 30, 6
"""How many rows are brought about on the way, repairs tried, values guessed for a free variable, explanations hit,
and bindings of a rule followed."""
ROUNDS = 2_000
"""A repair is not tried for longer than this: costs below zero, say, would go round for ever."""


@dataclass(frozen=True)
class State:
    """Part of a repair: changes so far, derived rows still to bring about, and those brought about on the way."""

    insert: frozenset[Fact] = frozenset()
    delete: frozenset[Fact] = frozenset()
    goals: tuple[Fact, ...] = ()
    passed: frozenset[Fact] = frozenset()
    free: frozenset[tuple[Any, ...]] = frozenset()
    """Rows with values that are guessed, without those values."""

    @property
    def cost(self) -> int:
        """Each row still to bring about takes one change at least."""
        return len(self.insert) + len(self.delete) + len(self.goals)


class Repairs:
    """The search. Internal relations' rows are brought about like any others."""

    def __init__(self, evidence: Evidence, attempts: Attempts, suppose: Callable[..., Changes], depth: int):
        self.engine = evidence.engine
        self.attempts = attempts
        self.suppose = suppose
        self.depth = depth
        self.wording = attempts.wording
        self.instances = attempts.instances
        self.twins = evidence.program.facades

    def of(self, fact: Fact, most: int) -> list[Repair]:
        """The smallest repairs found, smallest first; each has been tried."""
        found: list[Repair] = []
        queue: list[tuple[int, int, int, State]] = [(1, 0, 0, State(goals=(fact,)))]
        seen: set[tuple[frozenset[Fact], frozenset[Fact], tuple[Fact, ...]]] = set()
        tried_values: set[tuple[Any, ...] | None] = set()
        number = expansions = trials = 0
        while queue and len(found) < most and expansions < EXPANSIONS and trials < TRIALS:
            _, _, _, state = heapq.heappop(queue)
            if not state.goals:
                alike = (state.free, state.delete) if state.free else None
                if alike in tried_values:
                    continue
                trials += 1
                if self._works(state, fact):
                    found.append(Repair(state.insert, state.delete, bool(state.free)))
                    if alike is not None:
                        tried_values.add(alike)
                continue
            expansions += 1
            for following in self._expand(state):
                key = (following.insert, following.delete, following.goals)
                smaller = any(r.insert <= following.insert and r.delete <= following.delete for r in found)
                if key not in seen and not smaller:
                    seen.add(key)
                    number += 1
                    heapq.heappush(queue, (following.cost, len(following.passed), number, following))
        return found

    def _works(self, state: State, fact: Fact) -> bool:
        repair = Repair(state.insert, state.delete)
        workspace = self.engine.workspace
        allowed = workspace.max_rounds
        workspace.max_rounds = min(allowed, ROUNDS)
        try:
            return tried(repair, fact, self.suppose)
        finally:
            workspace.max_rounds = allowed

    # ------------------------------------------------------------------ one row

    def _expand(self, state: State) -> Iterator[State]:
        goal, goals = state.goals[0], state.goals[1:]
        relation = self.wording.infos[goal.relation]
        passed = state.passed | {goal}
        if relation.base or goal.relation in self.twins:
            yield State(state.insert | {goal}, state.delete, goals, passed, state.free)
        if relation.base or len(passed) > self.depth:
            return
        key = self.wording.key(goal.relation, goal.row)
        if key is None:
            return
        for shape in self.instances.rules.get(goal.relation, ()):
            for attempt in self.attempts.of(key, shape, BINDINGS):
                for change in self._mend(attempt, key):
                    new = tuple(fact for fact in change.goals if fact not in goals)
                    if passed.isdisjoint(new):
                        yield State(
                            state.insert | change.insert, state.delete | change.delete, goals + new, passed,
                            state.free | change.free,
                        )  # fmt: skip
        if relation.selections:
            yield from self._unseat(key, state, goals, passed)
        if relation.aggregate is not None:
            yield from self._thin_out(key, state, goals, passed)

    def _mend(self, attempt: RuleAttempt, key: Key) -> Iterator[State]:
        """The changes that would make the failing items of an attempt hold."""
        if any(isinstance(item, Test) for item in attempt.fails):
            return
        names = sorted(
            {arg.name for item in attempt.fails if isinstance(item, Premise) for arg in item.args
             if isinstance(arg, Variable)}
        )  # fmt: skip
        guesses = [self._guesses(attempt, name, key) for name in names]
        for values in product(*guesses):
            chosen = dict(zip(names, values, strict=True))
            yield from self._changes(attempt, chosen)

    def _changes(self, attempt: RuleAttempt, chosen: Mapping[str, Any]) -> Iterator[State]:
        insert: set[Fact] = set()
        goals: list[Fact] = []
        free: set[tuple[Any, ...]] = set()
        removals: list[list[frozenset[Fact]]] = []
        for item in attempt.fails:
            assert isinstance(item, Premise | Absent)
            row = tuple(arg.value if isinstance(arg, Constant) else chosen.get(arg.name) for arg in item.args)  # type: ignore[union-attr]
            fact = Fact(item.relation, row)
            if any(isinstance(arg, Variable) for arg in item.args):
                free.add((item.relation, *(a.value if isinstance(a, Constant) else None for a in item.args)))
            if isinstance(item, Absent):
                removals.append(self.removals(fact))
            elif self.wording.infos[item.relation].base:
                insert.add(Fact(self.wording.given.get(item.relation, item.relation), row))
            elif not self._there(fact):
                goals.append(fact)
        for delete in product(*removals):
            gone = frozenset().union(*delete) if delete else frozenset()
            yield State(frozenset(insert), gone, tuple(goals), free=frozenset(free))

    def _there(self, fact: Fact) -> bool:
        key = self.wording.key(fact.relation, fact.row)
        return key is not None and self.instances.rows.has(key)

    # ------------------------------------------------------------------ taking rows away

    def removals(self, fact: Fact) -> list[frozenset[Fact]]:
        """Smallest sets of base rows whose deletion takes a row away, as far as its explanations tell."""
        key = self.wording.key(fact.relation, fact.row)
        if key is None or not self.instances.rows.has(key):
            return [frozenset()]
        graph = explore(self.instances, [key], limit=1000)
        terms = minimal_terms(graph, key, self.wording, TERMS)
        return smallest_hitting_sets(list(terms), GUESSES)

    def _unseat(
        self, key: Key, state: State, goals: tuple[Fact, ...], passed: frozenset[Fact]
    ) -> Iterator[State]:
        """For a row that is beaten by a better one: take that away."""
        selection = self.wording.infos[key[0]].selections[0]
        for best in self.instances.rows.group(key, selection.group):
            for gone in self.removals(self.wording.fact(best)):
                yield State(state.insert, state.delete | gone, goals, passed, state.free)

    def _thin_out(
        self, key: Key, state: State, goals: tuple[Fact, ...], passed: frozenset[Fact]
    ) -> Iterator[State]:
        """For a group with too many bindings: take one of them away."""
        for now in self._aggregated(key):
            derivations, _ = self.instances.of(*now)
            for premise in [row for derivation in derivations for row in derivation.premises][:TERMS]:
                fact = self.wording.fact(premise)
                base = self.wording.infos[premise[0]].base
                for gone in [frozenset((fact,))] if base else self.removals(Fact(premise[0], fact.row)):
                    yield State(state.insert, state.delete | gone, goals, passed, state.free)

    def _aggregated(self, key: Key) -> list[tuple[str, list[tuple[int, ...]]]]:
        """The row that the group of an aggregate has now, if any."""
        info = self.wording.infos[key[0]]
        assert info.aggregate is not None
        group = [column for column in range(info.arity) if column != info.aggregate.position]
        return [(relation, [row]) for relation, row in self.instances.rows.group(key, group)]

    # ------------------------------------------------------------------ free variables

    def _guesses(self, attempt: RuleAttempt, name: str, key: Key) -> list[Any]:
        """A few values that a free variable might take: ones its column has, ones near constants it is compared
        with, or any of its type."""
        type_: Type | None = attempt.rule.types.get(name)
        found: dict[Any, None] = dict.fromkeys(self._summands(attempt, name, key))
        for item in attempt.unsure:
            if isinstance(item, Test) and name in _names(item):
                for value in _constants(item.left) + _constants(item.right):
                    near = (value, value + 1, value - 1) if type(value) in (int, float) else (value,)
                    found.update(dict.fromkeys(near))
        for item in attempt.fails:
            if isinstance(item, Premise):
                for column, arg in enumerate(item.args):
                    if isinstance(arg, Variable) and arg.name == name:
                        type_ = type_ or self.wording.infos[item.relation].types[column]
                        found.update(dict.fromkeys(self._column(item.relation, column)))
        if type_ is not None:
            found[_any(type_)] = None
        return list(found)[:GUESSES]

    def _summands(self, attempt: RuleAttempt, name: str, key: Key) -> list[Any]:
        """What a sum lacks, if the variable is what is summed."""
        aggregate = attempt.rule.aggregate
        if aggregate is None or aggregate.argument is None or aggregate.argument.name != name:
            return []
        wanted = self.wording.fact(key).row[aggregate.position]
        now = [self.wording.fact((relation, rows[0])).row for relation, rows in self._aggregated(key)]
        if aggregate.function == "sum" and wanted is not None:
            return [wanted - sum(row[aggregate.position] or 0 for row in now)]
        return [wanted]

    def _column(self, relation: str, column: int) -> list[Any]:
        stored = self.instances.relations[relation]
        layout = self.wording.infos[relation].layout
        if layout.types[column] is None or not stored.stored:
            return []
        first = np.arange(min(2, int(stored.sizes[0])), dtype=np.int32)
        return layout.decode_column(self.wording.codec, column, stored.codes(first)[:, column])


def smallest_hitting_sets(terms: list[frozenset[Fact]], most: int) -> list[frozenset[Fact]]:
    """A few smallest sets with a row of every term.

    >>> a, b, c = (Fact("link", (name,)) for name in "abc")
    >>> [sorted(fact.row for fact in found) for found in smallest_hitting_sets([{a, b}, {b, c}], 3)]
    [[('b',)]]
    """
    if not terms or not all(terms):
        return []
    rows = sorted({fact for term in terms for fact in term}, key=lambda f: -sum(f in term for term in terms))
    for size in range(1, 4):
        found = [
            frozenset(chosen)
            for chosen in combinations(rows[:24], size)
            if all(not term.isdisjoint(chosen) for term in terms)
        ]
        if found:
            return found[:most]
    greedy: set[Fact] = set()
    while left := [term for term in terms if term.isdisjoint(greedy)]:
        greedy.add(max(rows, key=lambda fact: sum(fact in term for term in left)))
    return [frozenset(greedy)]


def _names(test: Test) -> set[str]:
    return variables(test.left) | variables(test.right)


def _constants(term: Term) -> list[Any]:
    if isinstance(term, Constant):
        return [term.value]
    return [value for arg in term.args for value in _constants(arg)] if isinstance(term, Call) else []


def _any(type_: Type) -> Any:
    """Some value of a type."""
    plain: dict[str, Any] = {
        "int": 0, "float": 0.0, "string": "new", "binary": b"new", "bool": True, "list": (), "map": FrozenMap({}),
        "date": datetime.date(2000, 1, 1), "time": datetime.time(0), "interval": datetime.timedelta(0),
        "interval_months": Months(0),
    }  # fmt: skip
    if type_.name == "decimal":
        return canonical(0, type_)
    if type_.name.startswith("timestamp"):
        return canonical(datetime.datetime(2000, 1, 1), type_)
    if type_.name == "struct":
        return canonical({}, type_)
    return plain[type_.name]
