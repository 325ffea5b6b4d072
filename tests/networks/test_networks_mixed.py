"""Expressions of asynchronous nodes that are terms or diagrams, in memory and on the wire: rows are clingo's."""

from __future__ import annotations

import random

from asynchronous import assert_rows, follow, planned, random_network
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_lockstep import examples
from oracle_programs import RandomProgram
from oracle_strategies import programs
from test_networks_random_programs import stream

from headwater.annotations import wire
from headwater.annotations.dnf_or_bdd import DnfOrBdd
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.shipping import EAGER, LAZY, windowed
from headwater.networks.runtime.directory import Hashed
from headwater.networks.runtime.message_codec import decode_message, encode_message, size_of
from headwater.networks.runtime.messages import Derived
from headwater.networks.transports.simulator.simulator import Simulator

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."


@settings(max_examples=examples(12), deadline=None)
@given(programs(), st.integers(0, 1 << 30))
def test_random_programs(program: RandomProgram, seed: int):
    """With a limit of one term, so that nearly everything is a diagram."""
    chance = random.Random(seed)
    changes, there = stream(chance)
    for shipping in (LAZY, EAGER):
        scheme = absorption(shipping, algebra=lambda: DnfOrBdd(1 << 14, most_terms=1), reclaim_every=2)
        net = random_network(program.text(), scheme, chance)
        follow(net, changes, chance)
        assert_rows(net, solve(program, there), shipping.name)


class Listening(Simulator):
    """Has every message encoded and decoded on its way."""

    diagrams = 0

    def _send(self, sender: int, receiver: int, message: object) -> None:
        data = encode_message(message)  # type: ignore[arg-type]
        assert len(data) == size_of(message)  # type: ignore[arg-type]
        read = decode_message(data)
        assert read == message
        if isinstance(read, Derived) and isinstance(read.terms, bytes):
            assert read.terms[0] == wire.DIAGRAM
            self.diagrams += 1
        super()._send(sender, receiver, read)


def test_diagrams_cross_the_wire_and_numbers_are_used_again():
    """Nodes number variables on their own, and draw them in orders of their own; links come and go."""
    size = 5
    links = [(x, y) for x in range(size) for y in range(size) if x != y]
    scheme = absorption(windowed(40), algebra=lambda: DnfOrBdd(1 << 16, most_terms=3))
    net = Listening(planned(REACH), Hashed(3), scheme)
    chance, there = random.Random(3), set(links)
    for link in links:
        net.insert("link", link)
    net.run()
    assert net.diagrams > 10
    for _ in range(60):
        link = chance.choice(links)
        (net.delete if link in there else net.insert)("link", link)
        there ^= {link}
        net.steps(5)
    net.run()
    reach = {(x, y) for x, y in there}
    while more := {(x, z) for x, y in there for y2, z in reach if y == y2} - reach:
        reach |= more
    assert net.rows("reach") == reach
