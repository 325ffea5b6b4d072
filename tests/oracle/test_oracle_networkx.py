"""Graphs too large for enumeration: closures, cheapest and widest ways, same generation, against networkx."""

from __future__ import annotations

import pytest
from oracle_graphs import cheapest, closure, cost_stream, link_stream, same_generation, seeds, widest
from oracle_lockstep import Lockstep, assert_exact, state_of

import headwater as hw
from headwater.maintain import fixpoint

STRATEGIES = ("support", "dred", "recompute", "auto")
CLOSURES = {
    "right": "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).",
    "left": "reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), link(Z, Y).",
    "double": "reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), reach(Z, Y).",
    "triple": "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Y), reach(X, _)."
    " reach(A, D) :- reach(A, B), reach(B, C), reach(C, D). reach(X, Y) :- link(X, Z), link(Z, Y).",
}
DECLARED = "link(x: int, y: int). "


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("shape", CLOSURES)
def test_closures(shape: str, seed: int):
    stream = link_stream(seed, nodes=12)
    lockstep = Lockstep(DECLARED + CLOSURES[shape], STRATEGIES)
    lockstep.apply({}, {"link": stream.start(20)})
    for delete, insert in stream.versions(12):
        lockstep.apply({"link": delete}, {"link": insert}, lambda state: {"reach": closure(state["link"])})


@pytest.mark.parametrize("seed", seeds(3))
def test_pairs_that_are_not_joined(seed: int):
    text = (
        DECLARED
        + CLOSURES["right"]
        + (
            "node(X) :- link(X, _). node(X) :- link(_, X). apart(X, Y) :- node(X), node(Y), !reach(X, Y)."
            "source(X) :- node(X), !link(_, X)."
        )
    )
    stream = link_stream(100 + seed, nodes=10)
    lockstep = Lockstep(text, STRATEGIES)
    lockstep.apply({}, {"link": stream.start(12)})

    def reference(state):
        nodes = {node for link in state["link"] for node in link}
        reach = closure(state["link"])
        return {
            "apart": frozenset((x, y) for x in nodes for y in nodes if (x, y) not in reach),
            "source": frozenset((x,) for x in nodes if all(y != x for _, y in state["link"])),
        }

    for delete, insert in stream.versions(12):
        lockstep.apply({"link": delete}, {"link": insert}, reference)


BEST = {
    "cheapest": (
        "best(X, Y, min<C>) :- link(X, Y, C). best(X, Y, min<C>) :- link(X, Z, A), best(Z, Y, B), C = A + B.",
        cheapest,
    ),
    "cheapest, doubling": (
        "best(X, Y, min<C>) :- link(X, Y, C). best(X, Y, min<C>) :- best(X, Z, A), best(Z, Y, B), C = A + B.",
        cheapest,
    ),
    "cheapest of all ways": (
        "path(X, Y, C) :- link(X, Y, C). path(X, Y, C) :- path(X, Z, A), link(Z, Y, B), C = A + B."
        "best(X, Y, min<C>) :- path(X, Y, C).",
        cheapest,
    ),
    "widest": (
        "best(X, Y, max<C>) :- link(X, Y, C)."
        "best(X, Y, max<C>) :- best(X, Z, A), link(Z, Y, B), C = min(A, B).",
        widest,
    ),
}


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("shape", BEST)
def test_best_ways(shape: str, seed: int):
    """Costs from 0 on: free cycles, ties, and links of different cost between the same nodes."""
    text, reference = BEST[shape]
    stream = cost_stream(seed, nodes=10, most=4)
    lockstep = Lockstep("link(x: int, y: int, c: int). " + text, STRATEGIES)
    lockstep.apply({}, {"link": stream.start(22)})
    for delete, insert in stream.versions(12):
        lockstep.apply({"link": delete}, {"link": insert}, lambda state: {"best": reference(state["link"])})


@pytest.mark.parametrize("seed", seeds(3))
def test_same_generation(seed: int):
    text = (
        "parent(x: int, y: int). sg(X, Y) :- parent(X, P), parent(Y, P)."
        "sg(X, Y) :- parent(X, P), sg(P, Q), parent(Y, Q)."
    )
    stream = link_stream(200 + seed, nodes=12)
    lockstep = Lockstep(text, STRATEGIES)
    lockstep.apply({}, {"parent": stream.start(16)})
    for delete, insert in stream.versions(10):
        lockstep.apply(
            {"parent": delete}, {"parent": insert}, lambda state: {"sg": same_generation(state["parent"])}
        )


# ------------------------------------------------------------------ larger ones, one strategy at a time


@pytest.mark.parametrize("strategy", ["support", "dred"])
@pytest.mark.parametrize("seed", seeds(2))
def test_large_closures(strategy: str, seed: int):
    """Tens of thousands of rows, so that joins come in many pieces and large losses start over."""
    stream = link_stream(300 + seed, nodes=170)
    db = hw.connect(strategy=strategy)
    db.define(DECLARED + CLOSURES["right"])
    db.apply(insert={"link": stream.start(380)})
    for delete, insert in stream.versions(8 if strategy == "support" else 4):
        before = state_of(db)
        changes = db.apply(delete={"link": delete}, insert={"link": insert})
        after = state_of(db)
        assert after["reach"] == closure(stream.rows)
        assert_exact(changes, before, after)


def test_a_large_loss_starts_over_and_says_so(monkeypatch):
    """A chain of 200 links, cut in the middle, loses half of its rows; found out while they are dying."""
    monkeypatch.setattr(fixpoint, "COST_OF_SURE_DEATH", 1.0)  # else it is cheaper to let them die
    chain = [(i, i + 1) for i in range(200)]
    db = hw.connect()
    db.define(DECLARED + CLOSURES["right"])
    db.apply(insert={"link": chain})
    before = state_of(db)
    changes = db.apply(delete={"link": [(100, 101)]})
    assert [event.relations for event in changes.statistics.events if event.code == "recomputed"] == [
        ("reach",)
    ]
    after = state_of(db)
    assert after["reach"] == closure(set(chain) - {(100, 101)})
    assert_exact(changes, before, after)
    assert_exact(db.apply(insert={"link": [(100, 101)]}), after, before)


def test_a_loss_that_can_be_foreseen_starts_over_at_once():
    db = hw.connect()
    db.define(DECLARED + CLOSURES["right"])
    ring = [(i, (i + 1) % 150) for i in range(150)]
    db.apply(insert={"link": ring})
    before = state_of(db)
    changes = db.apply(delete={"link": ring[::2]})
    assert [event.relations for event in changes.statistics.events if event.code == "recomputed"] == [
        ("reach",)
    ]
    after = state_of(db)
    assert after["reach"] == closure(ring[1::2])
    assert_exact(changes, before, after)


@pytest.mark.parametrize("strategy", ["support", "dred"])
@pytest.mark.parametrize("shape", ["cheapest", "widest"])
def test_large_best_ways(shape: str, strategy: str):
    text, reference = BEST[shape]
    stream = cost_stream(7, nodes=90, most=20)
    db = hw.connect(strategy=strategy)
    db.define("link(x: int, y: int, c: int). " + text)
    db.apply(insert={"link": stream.start(220)})
    for delete, insert in stream.versions(6):
        before = state_of(db)
        changes = db.apply(delete={"link": delete}, insert={"link": insert})
        after = state_of(db)
        assert after["best"] == reference(stream.rows)
        assert_exact(changes, before, after)
