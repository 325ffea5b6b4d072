"""Messages that come to a node at the same time are taken in together: what that changes, and what it does not.

All links take the same time, so that much comes at once. Beside it runs a network whose nodes see to each message by
itself.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from link_restricted import link_restricted
from oracle_lockstep import examples

from headwater.language.datalog import parse
from headwater.networks.annotated.ranked import RankedScheme
from headwater.networks.runtime.directory import Addresses
from headwater.networks.runtime.messages import Message, Replaced, Supported
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import NodePlan, plan_nodes
from headwater.networks.transports.simulator.links import LinkQuality, alike
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.values.functions import Functions

NAMES = "abcdefgz"
COSTS = """
c1 cost(@S, @D, min<C>) :- #link(@S, @D, C).
c2 cost(@S, @D, min<C>) :- #link(@S, @Z, C1), cost(@Z, @D, C2), C = C1 + C2.
c3 far(@S, max<C>) :- cost(@S, @D, C).
"""


class OneByOne(RankedScheme):
    """Ranked support that takes in each message by itself."""

    def takes_together(self, message: Message) -> bool:
        return False


class Watched:
    """A network, and what its nodes said."""

    def __init__(self, plan: NodePlan, scheme: type[RankedScheme]):
        self.said: list[tuple[int, int, Message]] = []
        self.net = Simulator(
            plan, Addresses(list(NAMES)), scheme, links=alike(LinkQuality(0.01)),
            told=lambda time, sender, receiver, message, size: self.said.append((sender, receiver, message)),
            most_messages=200_000,
        )  # fmt: skip

    def told(self) -> Counter[Any]:
        """The rows that were told, by whom and to whom."""
        return Counter(
            (sender, receiver, message.relation, message.row)
            for sender, receiver, message in self.said
            if isinstance(message, Supported | Replaced)
        )

    def rows(self) -> dict[str, set[Any]]:
        return {name: self.net.rows(name) for name in self.net.plan.program.views}


def planned(text: str) -> NodePlan:
    return plan_nodes(compile_program(check(parse(text), Functions(), network=True)))


def both(text: str) -> tuple[Watched, Watched]:
    plan = planned(text)
    return Watched(plan, RankedScheme), Watched(plan, OneByOne)


def links_of(chance: random.Random, plan: NodePlan, number: int) -> list[tuple[str, tuple[Any, ...]]]:
    """Rows of all base relations, between some nodes."""
    pairs = chance.sample([(one, other) for one in NAMES for other in NAMES if one != other], number)
    base = [name for name in ("link", "wire", "b") if name in plan.numbers]
    return [
        (name, (one, other, chance.randint(1, 5))[: plan.relations[plan.numbers[name]].arity])
        for one, other in pairs
        for name in base
    ]


def changed(chance: random.Random, there: list[tuple[str, tuple[Any, ...]]], *nets: Watched) -> None:
    """Some rows go and some of them come back, at the same time in all networks."""
    gone = chance.sample(there, min(len(there), 5))
    back = [row for row in gone if chance.random() < 0.5]
    pause = chance.choice([0, 2, 9])
    for each in nets:
        for name, row in gone:
            each.net.delete(name, row)
        each.net.run(until=each.net.now + 0.01 * pause)
        for name, row in back:
            each.net.insert(name, row)
        each.net.run()


@pytest.mark.parametrize("first", range(0, examples(40), 10))
def test_rows_are_the_same_and_so_is_what_is_told_where_nothing_is_selected(first):
    for seed in range(first, first + 10):
        chance = random.Random(seed)
        together, apart = both(link_restricted(chance))
        there = links_of(chance, together.net.plan, 12)
        for each in (together, apart):
            for name, row in there:
                each.net.insert(name, row)
            each.net.run()
        assert together.rows() == apart.rows(), seed
        assert together.told() == apart.told(), (
            f"{seed}: a node tells a row that follows once, whatever came with it"
        )
        changed(chance, there, together, apart)
        assert together.rows() == apart.rows(), seed


@pytest.mark.parametrize("first", range(0, examples(40), 10))
def test_of_best_rows_no_more_are_told(first):
    for seed in range(first, first + 10):
        chance = random.Random(seed)
        together, apart = both(COSTS)
        there = links_of(chance, together.net.plan, 18)
        for each in (together, apart):
            for name, row in there:
                each.net.insert(name, row)
            each.net.run()
        assert together.rows() == apart.rows(), seed
        assert together.told().total() <= apart.told().total(), seed
        changed(chance, there, together, apart)
        assert together.rows() == apart.rows(), seed


def test_of_two_rows_that_come_together_only_the_better_one_is_told():
    """b and c tell a of their ways to d at the same time, and a tells z."""
    links = [("z", "a", 1), ("a", "b", 1), ("a", "c", 1), ("b", "d", 5), ("c", "d", 1)]
    ways = []
    for each in both(COSTS):
        for link in links:
            each.net.insert("link", link)
        each.net.run()
        ways.append(sorted(row for _, _, _, row in each.told() if row[:2] == ("z", "d")))
    assert ways == [[("z", "d", 3)], [("z", "d", 3), ("z", "d", 7)]]
