"""All schemes on the queries of liu-2008, with changes under way; and what each of them promises besides."""

from __future__ import annotations

import random

import pytest
from asynchronous import ORDERS, SCHEMES, assert_rows, network, planned, random_network
from query_cases import CASES, QueryCase

from headwater import HeadwaterError
from headwater.networks import queries
from headwater.networks.annotated.acyclic import why_cyclic
from headwater.networks.annotated.counting import counting
from headwater.networks.annotated.ranked import ranked
from headwater.networks.annotated.soft_state import soft_state
from headwater.networks.runtime.directory import Addresses
from headwater.networks.runtime.message_codec import decode_message, encode_message, size_of
from headwater.networks.runtime.messages import (
    Alive,
    AskedFor,
    CountedDerivations,
    Derived,
    Dropped,
    Follows,
    FollowsBy,
    Grounded,
    Replaced,
    Reranked,
    Supported,
    TakenBack,
    Withdrawn,
)
from headwater.networks.transports.simulator.links import LinkQuality, alike

COUNTABLE = {"within", "horizon", "resilience"}
SEEDS = 4


def base(there, text: str):
    return {name: frozenset(row for other, row in there if other == name) for name in planned(text).numbers}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_queries_under_changes_in_flight(case: QueryCase, scheme: str):
    if scheme == "counting" and case.name not in COUNTABLE:
        with pytest.raises(HeadwaterError) as caught:
            network(case.text, SCHEMES[scheme])
        assert caught.value.code == "diverges"
        return
    for seed in range(SEEDS):
        chance = random.Random(f"{seed} {case.name}")
        net = random_network(case.text, SCHEMES[scheme], chance)
        there = set(case.fixed)
        for relation, row in case.fixed:
            net.insert(relation, row)
        for _ in range(15):
            for comes, relation, row in case.draw(chance, there):
                (there.add if comes else there.discard)((relation, row))
                (net.insert if comes else net.delete)(relation, row)
            net.steps(chance.randrange(30))
            if chance.random() < 0.2:
                net.run()
                assert_rows(net, case.expected(base(there, case.text)), f"{scheme}, seed {seed}")
        net.run()
        assert_rows(net, case.expected(base(there, case.text)), f"{scheme}, seed {seed}")


# ------------------------------------------------------------------ counting


def test_what_grows_with_every_step_cannot_rest_on_itself():
    assert why_cyclic(planned(queries.RESILIENCE).program) is None
    assert why_cyclic(planned(queries.WITHIN).program) is None
    reason = why_cyclic(planned(queries.REACHABLE).program)
    assert reason == "reachable may rest on itself: no column grows with every step of the recursion"
    reason = why_cyclic(planned(queries.CHEAPEST_PATHS).program)
    assert reason == "path has best rows inside of a recursion"


@pytest.mark.parametrize(
    ("rule", "grows"),
    [
        ("p(Y, N) :- p(X, M), e(X, Y), N = M + 1.", True),
        ("p(Y, N) :- p(X, M), e(X, Y), N = M + 0.", False),
        ("p(Y, N) :- p(X, M), e(X, Y), N = M - 1.", False),
        ("p(Y, N) :- p(X, N), e(X, Y).", False),
        ("p(Y, N) :- p(X, M), e(X, Y), N = M + K, k(K).", False),
        ("p(Y, N) :- q(Y, N). q(Y, N) :- p(X, M), e(X, Y), N = M + 1.", True),
        ("p(Y, N) :- q(Y, N). q(Y, N) :- p(X, M), e(X, Y), N = M + 1. p(X, N) :- q(X, N), p(X, N).", False),
        ("p(Y, N) :- p(X, M), p(X, K), e(X, Y), N = M + 1.", False),
    ],
)
def test_only_a_positive_step_grows(rule, grows):
    text = f".decl e(x: number, y: number)\n.decl k(x: number)\np(X, N) :- e(X, N). {rule}"
    text = text.replace(", X", ", x").replace("(X", "(x").replace("Y", "y").replace("N", "n")
    text = text.replace("M", "m").replace("K", "k1").replace("k1(k1)", "k(k1)")
    assert (why_cyclic(planned(text).program) is None) == grows


def test_counts_are_numbers_of_derivations():
    net = network("p(X, Z) :- e(X, Y), e(Y, Z).", counting(), 2)
    for row in [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")]:
        net.insert("e", row)
    net.run()
    (entry,) = [node.entry("p", ("a", "d")) for node in net.nodes if node.entry("p", ("a", "d"))]
    assert entry.value == 2
    net.delete("e", ("a", "b"))
    net.run()
    assert entry.value == 1
    assert net.rows("p") == {("a", "d")}


def test_counts_may_overtake_each_other():
    links = alike(LinkQuality(0.01, jitter=1.0, fifo=False))
    for seed in range(30):
        chance = random.Random(seed)
        net = network(
            "p(X, Z) :- e(X, Y), e(Y, Z). q(X) :- p(X, Y), !e(X, Y).", counting(), links=links, seed=seed
        )
        there: set = set()
        for _ in range(20):
            row = (chance.randrange(4), chance.randrange(4))
            (net.delete if row in there else net.insert)("e", row)
            there ^= {row}
            net.steps(chance.randrange(6))
        net.run()
        pairs = {(a, d) for a, b in there for c, d in there if b == c}
        assert net.rows("p") == pairs
        assert net.rows("q") == {(a,) for a, d in pairs if (a, d) not in there}


# ------------------------------------------------------------------ ranks


def test_what_older_rows_support_does_not_fall():
    """reachable(A, D) has two ways; the loss of one costs ranked support what the way was, and dred all of it."""
    links = [("Z", "A"), ("A", "B"), ("A", "C"), ("B", "D"), ("C", "D"), ("D", "E"), ("E", "F")]
    sent = {}
    for name in ("ranked", "dred"):
        net = network(queries.REACHABLE, SCHEMES[name], Addresses("ABCDEFZ"))
        for link in links:
            net.insert("link", link)
        net.run()
        before = net.traffic.messages
        net.delete("link", ("B", "D"))
        net.run()
        assert ("A", "F") in net.rows("reachable") and ("B", "F") not in net.rows("reachable")
        sent[name] = net.traffic.messages - before
    assert sent["ranked"] < sent["dred"]


def test_ranks_grow_along_support():
    net = network(queries.REACHABLE, ranked(), Addresses("ABC"))
    for link in [("A", "B"), ("B", "C"), ("C", "A"), ("C", "B")]:
        net.insert("link", link)
    net.run()
    for node in net.nodes:
        for row in node.rows("reachable"):
            assert node.entry("reachable", row).value.supported()


# ------------------------------------------------------------------ soft state


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_soft_state_comes_to_be_right_by_itself(case: QueryCase, loss: float):
    """Nothing is deleted, and messages may be lost for good: what is said again in time is there, all else dies."""
    lifetime = 6.0 if loss else 2.0
    links = alike(LinkQuality(0.01, jitter=0.01, loss=loss, reliable=False, fifo=not loss))
    chance = random.Random(case.name)
    net = network(
        case.text, soft_state(lifetime), 3, links=links, seed=7, most_messages=None, order=ORDERS["PSN"]
    )
    there = set(case.fixed)
    for relation, row in case.fixed:
        net.insert(relation, row)
    for _ in range(10):
        for comes, relation, row in case.draw(chance, there):
            (there.add if comes else there.discard)((relation, row))
            (net.insert if comes else net.delete)(relation, row)
        net.run(net.now + chance.random())
    for _ in range(8):
        net.run(net.now + lifetime)
        found = {name: net.rows(name) for name in case.expected(base(there, case.text))}
        if found == case.expected(base(there, case.text)):
            break
    assert found == case.expected(base(there, case.text))
    assert set(net.traffic.kinds) <= {"Alive"}


def test_a_cycle_does_not_refresh_itself():
    net = network(queries.REACHABLE, soft_state(1.0), 3, most_messages=None)
    for link in [("A", "B"), ("B", "C"), ("C", "B")]:
        net.insert("link", link)
    net.run(1.0)
    assert ("A", "C") in net.rows("reachable")
    net.delete("link", ("B", "C"))
    net.run(4.0)
    assert net.rows("reachable") == {("A", "B"), ("C", "B")}


# ------------------------------------------------------------------ on the wire


@pytest.mark.parametrize(
    "message",
    [
        Derived(3, ("a", 7), ((1, 5), (2, 300, 301))),
        CountedDerivations(3, ("a", -7), -2),
        Follows(0, ()),
        TakenBack(200, (None, True, 2.5)),
        Supported(1, ("x",), 300),
        Withdrawn((300,)),
        Withdrawn((300, 7, 1)),
        Replaced(3, ("a", 5), 2, (9, 300)),
        Reranked(2, 70),
        FollowsBy(2, ("a", "b"), ((4, (("a", 1), ("b",))), (0, ()))),
        Dropped(2, ("a", "b"), (4, (("a", 1), ("b",)))),
        AskedFor(5, (("p", "q"),)),
        Grounded(5, (b"x",)),
        Alive(6, ("a",), 12.25),
    ],
    ids=lambda message: type(message).__name__,
)
def test_messages_go_through_the_codec(message):
    assert decode_message(encode_message(message)) == message
    assert size_of(message) == len(encode_message(message))
