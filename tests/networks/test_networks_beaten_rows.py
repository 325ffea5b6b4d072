"""Best rows inside a recursion that are beaten: they leave the table that rules of the recursion read.

The programs are those where taking rows back goes wrong most easily: costs of zero around cycles, and values that
improve themselves around a cycle, so that the better row follows from the one that it beats. Rows are compared with
an evaluation by values alone, written for the purpose, after deletions under way with insertions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from asynchronous import planned
from oracle_lockstep import examples
from random_schedules import FIRST_SEED, SHIPPINGS, follow, simulated

from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.shipping import BOUNDED, EAGER, LAZY
from headwater.networks.runtime.directory import Hashed
from headwater.networks.runtime.node import NetworkNode
from headwater.networks.transports.simulator.simulator import Simulator

Link = tuple[int, int, int]
SIZE, DEAREST = 4, 9


@dataclass(frozen=True)
class Recursion:
    """The best value of each node: what a source gives it, or a link makes of another's."""

    name: str
    best: str
    cost: str
    better: Callable[[int, int], int]
    step: Callable[[int, int], int]

    @property
    def text(self) -> str:
        return f"""
          .decl source(x: number, c: number)
          .decl w(x: number, y: number, c: number)
          s(X, {self.best}<C>) :- source(X, C).
          s(Y, {self.best}<C>) :- s(X, B), w(X, Y, D), C = {self.cost}.
          seen(C) :- s(X, C).
        """

    def solve(self, sources: set[tuple[int, int]], links: set[Link]) -> frozenset[tuple[int, int]]:
        """Until nothing gets better; by values, with no thought of what came from where."""
        found: dict[int, int] = {}
        news = list(sources)
        while news:
            for x, c in news:
                found[x] = self.better(found[x], c) if x in found else c
            told = [(y, self.step(found[x], d)) for x, y, d in links if x in found]
            news = [(y, c) for y, c in told if y not in found or self.better(found[y], c) != found[y]]
        return frozenset(found.items())


RECURSIONS = [
    Recursion("cheapest", "min", "B + D", min, lambda b, d: b + d),
    Recursion("widest", "max", "min(B, D)", max, min),
    Recursion("saturating up", "max", f"min(B + D, {DEAREST})", max, lambda b, d: min(b + d, DEAREST)),
    Recursion("saturating down", "min", "max(B - D, 0)", min, lambda b, d: max(b - d, 0)),
]


def passed(node: NetworkNode) -> set[tuple[int, int]]:
    """What rules of the recursion read at a node."""
    (passing,) = node.plan.program.passing
    return set(node.tables[node.plan.numbers[passing.relation]].rows)


def stream(chance: random.Random) -> tuple[list[tuple[bool, str, tuple[int, ...]]], set[tuple[int, ...]]]:
    """Links and sources that come and go, dense enough for cycles; and what is there in the end."""
    there: set[tuple[int, ...]] = set()
    changes = []
    for _ in range(chance.choice([8, 20, 40])):
        if there and chance.random() < 0.45:
            row = chance.choice(sorted(there))
        elif chance.random() < 0.2:
            row = (chance.randrange(2), chance.randrange(1, 5))
        else:
            row = (chance.randrange(SIZE), chance.randrange(SIZE), chance.choice([0, 0, 1, 2, 5]))
        changes.append((row not in there, "w" if len(row) == 3 else "source", row))
        there ^= {row}
    return changes, there


@pytest.mark.parametrize("recursion", RECURSIONS, ids=lambda recursion: recursion.name)
def test_rows_are_right_and_only_best_ones_are_read(recursion: Recursion):
    """Whatever the places, latencies, orders and ways of shipping, with changes under way."""
    plan = planned(recursion.text)
    for seed in range(FIRST_SEED, FIRST_SEED + examples(60)):
        chance = random.Random(seed)
        changes, there = stream(chance)
        expected = recursion.solve(
            {(row[0], row[1]) for row in there if len(row) == 2},
            {(row[0], row[1], row[2]) for row in there if len(row) == 3},
        )
        net = simulated(plan, chance.choice(SHIPPINGS), chance)
        follow(net, changes, chance)
        assert net.rows("s") == expected, (seed, changes)
        assert net.rows("seen") == {(c,) for _, c in expected}, (seed, changes)
        assert set().union(*map(passed, net.nodes)) == expected, (seed, changes)


@pytest.mark.parametrize("shipping", [EAGER, LAZY, BOUNDED], ids=lambda shipping: shipping.name)
def test_a_better_row_may_follow_from_the_one_that_it_beats(shipping):
    """The smallest case in which taking back what follows from a beaten row never ends: `s(0, 9)` rests on all of
    `s(0, 1)` to `s(0, 8)`, each of which is beaten by the next. They are candidates while their link is there."""
    (recursion,) = (each for each in RECURSIONS if each.name == "saturating up")
    net = Simulator(planned(recursion.text), Hashed(1), absorption(shipping), most_messages=1000)
    net.insert("source", (0, 1))
    net.insert("w", (0, 0, 1))
    net.run()
    (node,) = net.nodes
    (passing,) = node.plan.program.passing
    candidates = node.tables[node.plan.numbers[passing.candidates]].rows
    assert passed(node) == net.rows("s") == {(0, 9)}
    assert set(candidates) == {(0, value) for value in range(1, 10)}
    net.delete("w", (0, 0, 1))
    net.run()
    assert passed(node) == set(candidates) == net.rows("s") == {(0, 1)}


def test_what_comes_later_is_not_joined_with_beaten_rows():
    """Ten sources beat each other; then a link comes: it carries the best value, and no other."""
    (recursion,) = (each for each in RECURSIONS if each.name == "cheapest")
    net = Simulator(planned(recursion.text), Hashed(1), absorption(LAZY))
    for cost in range(10, 0, -1):
        net.insert("source", (0, cost))
        net.run()
    (node,) = net.nodes
    before = node.inferences
    net.insert("w", (0, 1, 5))
    net.run()
    (passing,) = node.plan.program.passing
    assert net.rows("s") == {(0, 1), (1, 6)}
    assert {row for row in node.tables[node.plan.numbers[passing.candidates]].rows if row[0] == 1} == {(1, 6)}
    assert node.inferences - before <= 3
