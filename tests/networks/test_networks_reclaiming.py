"""Variables and tombstones are used again: what a network holds follows what is there, not what was."""

from __future__ import annotations

import random

import pytest

from headwater.language.datalog import parse
from headwater.networks.annotated.absorption import Absorption, absorption
from headwater.networks.annotated.shipping import BOUNDED, LAZY
from headwater.networks.runtime.directory import Addresses, Hashed
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import plan_nodes
from headwater.networks.transports.simulator.links import LinkQuality, alike
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.values.functions import Functions

REACH = plan_nodes(
    compile_program(
        check(parse("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."), Functions())
    )
)
RING = [(node, (node + step) % 6) for node in range(6) for step in (1, 2)]


def schemes(net: Simulator) -> list[Absorption]:
    found = [node.scheme for node in net.nodes]
    assert all(isinstance(scheme, Absorption) for scheme in found)
    return found  # type: ignore[return-value]


def held(net: Simulator) -> dict[str, int]:
    """How much nodes hold that could grow."""
    terms = [
        term for node in net.nodes for table in node.tables for e in table.rows.values() for term in e.value
    ]
    return {
        "variables": sum(scheme.own.given for scheme in schemes(net)),
        "tombstones": sum(len(scheme.tombstones) for scheme in schemes(net)),
        "width of terms": max(term.bit_length() for term in terms),
        "terms": len(terms),
    }


@pytest.mark.parametrize(("shipping", "flaps"), [(LAZY, 10_000), (BOUNDED, 2_000)], ids=["lazy", "bounded"])
def test_many_flaps_without_growth(shipping, flaps):
    """A link goes and comes back, again and again, while what follows is under way."""
    net = Simulator(
        REACH,
        Hashed(3),
        absorption(shipping, reclaim_every=16),
        links=alike(LinkQuality(0.001, jitter=0.01)),
        measure=False,
    )
    for link in RING:
        net.insert("link", link)
    net.run()
    chance = random.Random(3)
    for flap in range(flaps):
        link = chance.choice(RING)
        net.delete("link", link)
        net.steps(chance.randrange(4))
        net.insert("link", link)
        net.run(until=net.now + 0.02 * chance.random())
        if flap == flaps // 10:
            before = held(net)
    net.run()
    assert net.rows("reach") == {(x, y) for x in range(6) for y in range(6)}
    for what, number in held(net).items():
        assert number <= 1.5 * before[what] + 20, what


def test_a_variable_that_never_left_its_node_is_deleted_without_a_word():
    net = Simulator(REACH, Hashed(1), absorption(LAZY))
    net.insert("link", (0, 1))
    net.run()
    net.delete("link", (0, 1))
    net.run()
    assert net.traffic.messages == 0
    assert [scheme.own.given for scheme in schemes(net)] == [1]
    assert len(schemes(net)[0].tombstones) == 0


def test_nothing_is_dropped_while_a_third_channel_may_carry_it():
    """An owner deletes a row; node 3 has heard of it, node 4 has not: the tombstone must stay at node 3."""
    net = Simulator(REACH, Addresses(range(6)), absorption(LAZY, reclaim_every=1))
    for link in RING:
        net.insert("link", link)
    net.run()
    owner = (0, 1)[REACH.program.relations["link"].location or 0]
    net.fail_link(owner, 4)
    net.delete("link", (0, 1))
    net.run()
    kept = [len(scheme.tombstones) for scheme in schemes(net)]
    assert (kept[3], kept[4]) == (1, 0)
    net.restore_link(owner, 4)
    net.run()
    assert [len(scheme.tombstones) for scheme in schemes(net)] == [0] * 6
