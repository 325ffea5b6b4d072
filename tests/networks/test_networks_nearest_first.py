"""Eager shipping in an order, what is near first: it ends with all derivations of every row, by fewer messages."""

from __future__ import annotations

import random

import pytest
from asynchronous import planned

from headwater.annotations.dnf_or_bdd import DnfOrBdd
from headwater.networks.annotated.absorption import Absorption, absorption
from headwater.networks.annotated.shipping import EAGER, Shipping, timed
from headwater.networks.runtime.directory import Subnetworks
from headwater.networks.transports.simulator.links import LinkQuality, alike
from headwater.networks.transports.simulator.simulator import Simulator

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
NEAREST = timed(1.0, nearest_first=True)
STUBS = ("abcd", "efgh", "ijkl")


def stubs(chance: random.Random, inside: int) -> list[tuple[str, str]]:
    """Links both ways: some inside each stub, and a ring of the stubs."""
    pairs = [(stub[i], stub[i + 1]) for stub in STUBS for i in range(3)]
    spare = [(a, b) for stub in STUBS for a in stub for b in stub if a < b and (a, b) not in pairs]
    pairs += chance.sample(spare, inside) + [("a", "e"), ("e", "i"), ("i", "a")]
    return [link for a, b in pairs for link in ((a, b), (b, a))]


def network(shipping: Shipping, most_terms: int = 1000) -> Simulator:
    return Simulator(
        planned(REACH),
        Subnetworks(STUBS, len(STUBS)),
        absorption(shipping, algebra=lambda: DnfOrBdd(1 << 18, most_terms=most_terms)),
        links=alike(LinkQuality(0.02)),
    )


def provenance(net: Simulator) -> dict[tuple[str, str], set[frozenset[tuple[str, str]]]]:
    """The minimal terms of all rows, by links."""
    links = {}
    for node in net.nodes:
        assert isinstance(node.scheme, Absorption)
        links |= {variable: row for (_, row), variable in node.scheme.base.items()}
    found = {}
    for node in net.nodes:
        assert isinstance(node.scheme, Absorption)
        number, algebra = node.scheme.numbering, node.scheme.algebra
        for row in node.rows("reach"):
            entry = node.entry("reach", row)
            assert entry is not None
            terms = algebra.terms(entry.value)
            found[row] = {frozenset(links[number.variable(one)] for one in term) for term in terms}
    return found


@pytest.mark.parametrize("seed", range(4))
def test_all_derivations_of_every_row_are_found(seed: int):
    chance = random.Random(seed)
    links = stubs(chance, 2)
    nets = [network(EAGER), network(NEAREST), network(NEAREST, most_terms=3)]
    for net in nets:
        for link in links:
            net.insert("link", link)
        net.run()
    expected = provenance(nets[0])
    assert all(provenance(net) == expected for net in nets[1:])
    gone = chance.sample(links, 5)
    for net in nets:
        for link in gone:
            net.delete("link", link)
            net.steps(3)
        net.run()
    expected = provenance(nets[0])
    assert all(provenance(net) == expected for net in nets[1:])


@pytest.mark.parametrize("seed", range(3))
def test_what_is_near_is_complete_before_it_goes_far(seed: int):
    """With the same timer: fewer messages, bytes and derivations; more time."""
    said = []
    for shipping in (NEAREST, timed(1.0)):
        net = network(shipping, most_terms=8)
        chance = random.Random(seed)
        links = stubs(chance, 6)
        chance.shuffle(links)
        for link in links:
            net.insert("link", link)
        net.run()
        assert len(net.rows("reach")) == 144
        derived = sum(node.inferences for node in net.nodes)
        said.append((net.traffic.messages, net.traffic.bytes, derived, -net.now))
    assert all(nearest < together for nearest, together in zip(*said, strict=True)), said


def test_a_timer_of_something_else_is_nobodys_turn():
    """Only what the scheme itself waits for lets rows go."""
    net = network(NEAREST)
    for link in stubs(random.Random(2), 4):
        net.insert("link", link)
    net.run(0.9)
    before = net.traffic.messages
    for node in net.nodes:
        node.woken()
        net._take(node)
    net.run(0.95)
    assert net.traffic.messages == before


def test_what_is_a_nodes_own_is_below_all_else_in_its_diagrams():
    """Others may have drawn them in another order."""
    net = network(NEAREST, most_terms=2)
    for link in stubs(random.Random(1), 2):
        net.insert("link", link)
    net.run()
    for node in net.nodes:
        scheme = node.scheme
        assert isinstance(scheme, Absorption) and isinstance(scheme.algebra, DnfOrBdd)
        diagrams = scheme.algebra._diagrams()
        assert diagrams is not None
        owners = [
            scheme.numbers.owner(scheme.numbering.variable(row))
            for _, row in sorted((-diagrams._height(level), row) for level, row in diagrams._rows.items())
        ]
        runs = [owner for owner, before in zip(owners, [None, *owners], strict=False) if owner != before]
        assert runs == [(node.number + turn) % 3 for turn in (1, 2, 3)]
