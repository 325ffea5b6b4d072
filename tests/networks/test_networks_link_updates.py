"""Links that cost something else, fail and come back under ranked support: which messages that takes, and that best
rows are right however changes overlap."""

from __future__ import annotations

import random
from collections import Counter

import networkx as nx
import pytest
from oracle_lockstep import examples

import headwater as hw
from headwater.networks.annotated.numbered import HeardRows
from headwater.networks.network import Network

COSTS = """
c1 cost(@S, @D, min<C>) :- #link(@S, @D, C).
c2 cost(@S, @D, min<C>) :- #link(@S, @Z, C1), cost(@Z, @D, C2), C = C1 + C2.
"""
PATHS = """
p1 path(@S, @D, P, C) :- #link(@S, @D, C), P = [S, D].
p2 path(@S, @D, P, C) :- #link(@S, @Z, C1), path(@Z, @D, P2, C2), C = C1 + C2, P = f_concat([S], P2).
p3 least(@S, @D, min<C>) :- path(@S, @D, P, C).
p4 cost(@S, @D, C) :- least(@S, @D, C).
"""
LINE = [("a", "b", 1), ("b", "c", 1), ("c", "d", 1)]


def said(net: Network, before: int) -> list[tuple[str, str, str, tuple]]:
    return [(each.sender, each.receiver, each.kind, each.row) for each in net.timeline()[before:]]


def after(net: Network, *change: object) -> list[tuple[str, str, str, tuple]]:
    before = net.messages
    net.set_cost(*change)
    net.run()
    return said(net, before)


@pytest.mark.parametrize("cost", [5, 2])
def test_a_link_that_costs_more_is_one_wave_of_news(cost):
    """Each node on the way tells the next one the new row, and with it takes the old one back."""
    net = hw.network(COSTS, LINE, annotation="support")
    net.run()
    before = net.messages
    assert after(net, ("c", "d"), cost) == [
        ("c", "d", "Supported", ("d", "c", cost)),
        ("c", "d", "Withdrawn", ("d", "c", 1)),
        ("c", "b", "Replaced", ("b", "d", cost + 1)),
        ("b", "a", "Replaced", ("a", "d", cost + 2)),
    ]
    taken_back = [each.taken_back for each in net.timeline()[before:]]
    assert taken_back == [(), (("d", "c", 1),), (("b", "d", 2),), (("a", "d", 3),)]
    assert net.at("a")["cost"].rows() == [("a", "b", 1), ("a", "c", 2), ("a", "d", cost + 2)]


def test_what_is_taken_back_is_known_by_a_number():
    net = hw.network(PATHS, LINE, annotation="support")
    net.run()
    before = net.messages
    net.fail("c", "d")
    net.run()
    assert {(each.kind, each.bytes) for each in net.timeline()[before:]} == {("Withdrawn", 2)}


def test_a_number_that_was_not_told_is_refused():
    with pytest.raises(hw.HeadwaterError, match="speaks of a row 1 that it has not told"):
        HeardRows().forget(3, 1)


@pytest.mark.parametrize("text", [COSTS, PATHS], ids=["costs", "paths"])
def test_routes_to_what_was_cut_off_do_not_go_round_for_ever(text):
    """A ring loses its way out: each node's next best way leads over its neighbours and back to itself."""
    nodes = "abcdef"
    ring = [(one, nodes[number - 1], 1) for number, one in enumerate(nodes)]
    net = hw.network(text, [*ring, *((b, a, c) for a, b, c in ring), ("a", "out", 1)], annotation="support")
    net.run()
    before = net.messages
    net.fail("a", "out")
    net.run()
    assert not [row for row in net["cost"].rows() if row[1] == "out"]
    assert Counter(kind for _, _, kind, _ in said(net, before)).keys() == {"Withdrawn"}


def test_a_node_takes_its_time_for_each_message():
    links = [(node, "hub", 0) for node in "abcd"]
    text = "h1 heard(@D, @S) :- #link(@S, @D, C)."
    net = hw.network(text, links, service_time=0.5)
    assert net.run().quiet and net.last_message == 4 * 0.5
    assert len(net["heard"]) == 4
    assert "takes 0.5 s for a message" in net.explain()
    together = hw.network(
        text + "h2 told(@D, @S) :- #link(@S, @D, C).", [("a", "hub", 0)], service_time=0.5, sharing_delay=0.25
    )
    assert together.run().messages == 1 and together.last_message == 0.25 + 2 * 0.5
    with pytest.raises(hw.HeadwaterError, match="real nodes take the time that they take"):
        hw.network(text, links, service_time=0.5, transport="tcp")


def drawn(seed: int) -> tuple[Network, random.Random]:
    chance = random.Random(seed)
    nodes = [f"n{number}" for number in range(chance.randint(2, 9))]
    share = chance.choice([0.15, 0.3, 0.5])
    links = [
        (one, other, chance.randint(1, 9))
        for one in nodes
        for other in nodes
        if one != other and chance.random() < share
    ]
    options = {"selection_period": [0.001, 0.02, 0.5], "sharing_delay": [0.001, 0.3], "service_time": [0.01]}
    given = {name: chance.choice(values) for name, values in options.items() if chance.random() < 0.3}
    given["order"] = chance.choice(["psn", "psn", "psn", "bsn", "sn"])
    text = chance.choice([COSTS, PATHS])
    return hw.network(text, links or LINE, annotation="support", seed=seed, **given), chance


def least_costs(links: list[tuple[str, str, int]]) -> dict[tuple[str, str], int]:
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(links)
    ways = dict(nx.all_pairs_dijkstra_path_length(graph))
    return {
        (one, other): cost for one, found in ways.items() for other, cost in found.items() if one != other
    }


@pytest.mark.parametrize("first", range(0, examples(60), 20))
def test_costs_are_least_after_changes_that_overlap(first):
    for seed in range(first, first + 20):
        net, chance = drawn(seed)
        links = [link[:2] for link in net.links]
        for _ in range(chance.randint(1, 6)):
            for _ in range(chance.randint(1, 5)):
                link, what = chance.choice(links), chance.random()
                if what < 0.4 and link in {up[:2] for up in net.links}:
                    net.fail(link)
                elif what < 0.6:
                    net.restore(link)
                else:
                    net.set_cost(link, chance.randint(1, 9))
            net.run(until=net.now + chance.choice([0.001, 0.004, 0.02]))
        net.run()
        found = {row[:2]: row[2] for row in net["cost"].rows() if row[0] != row[1]}
        assert found == least_costs(net.links), seed


@pytest.mark.parametrize("annotation", ["support", "absorption", "dred"])
def test_a_relation_of_links_without_the_cost_that_changes_stays_as_it_is(annotation):
    ends = hw.network("r1 beside(@S, @D) :- #link(@S, @D).", LINE, metric="latency", annotation=annotation)
    first = hw.network(
        "r1 beside(@S, @D, C) :- #link(@S, @D, C).", LINE, metric=("hops", "latency"), annotation=annotation
    )
    for net, cost in ((ends, 5), (first, (1, 5))):
        net.run()
        before = sorted(net["beside"].rows())
        net.set_cost("a", "b", cost)
        net.run()
        assert sorted(net["beside"].rows()) == before
        net.fail("a", "b")
        net.run()
        assert len(net["beside"].rows()) == len(before) - 1


def test_what_is_told_after_many_links_failed_at_once_is_not_taken_back():
    """A way round one failed link may lead over another that failed with it: nodes wait until that is known."""
    graph = nx.connected_watts_strogatz_graph(30, 4, 0.3, seed=1)
    chance = random.Random(1)
    links = [(f"n{one}", f"n{other}", chance.randint(1, 99)) for one, other in graph.edges]
    net = hw.network(
        COSTS, [*links, *((other, one, cost) for one, other, cost in links)], annotation="support"
    )
    net.run()
    before = net.messages
    for link in chance.sample(sorted(tuple(row[:2]) for row in net.links if row[0] < row[1]), 12):
        net.fail(link)
    net.run()
    told, again = set(), 0
    for each in net.timeline()[before:]:
        again += sum((each.sender, each.receiver, row) in told for row in each.taken_back)
        if each.kind in ("Supported", "Replaced"):
            told.add((each.sender, each.receiver, each.row))
    assert len(told) > 300 and again <= len(told) // 20, (again, len(told))
    found = {row[:2]: row[2] for row in net["cost"].rows() if row[0] != row[1]}
    assert found == least_costs(net.links)


@pytest.mark.parametrize("text", [COSTS, PATHS], ids=["costs", "paths"])
def test_ways_that_were_beaten_are_not_told_over_a_link_that_changes(text):
    """They are told when they are best again."""
    links = [("a", "b", 1), ("b", "d", 10), ("b", "c", 1), ("c", "e", 1), ("e", "d", 1)]
    net = hw.network(text, links, annotation="support")
    net.run()
    first = {each.row[-1] for each in net.timeline() if each.receiver == "a" and each.row[:2] == ("a", "d")}
    assert first == {11, 4}, "the shorter way came first, and was beaten"
    before = net.messages
    net.set_cost(("a", "b"), 5)
    net.run()
    told = [each for each in net.timeline()[before:] if each.receiver == "a" and each.row[:2] == ("a", "d")]
    assert [each.row[-1] for each in told if each.kind != "Withdrawn"] == [8]
    net.fail("c", "e")
    net.run()
    assert [row for row in net.at("a")["cost"].rows() if row[1] == "d"] == [("a", "d", 15)]
    net.restore("c", "e")
    net.run()
    assert [row for row in net.at("a")["cost"].rows() if row[1] == "d"] == [("a", "d", 8)]


def test_rows_that_go_together_are_one_message():
    links = [("a", "b", 1), ("b", "c", 1), ("c", "d", 1), ("c", "e", 1), ("c", "f", 1)]
    net = hw.network(COSTS, links, annotation="support")
    net.run()
    before = net.messages
    net.fail("b", "c")
    net.run()
    back = [(each.receiver, each.kind, len(each.taken_back)) for each in net.timeline()[before:]]
    assert back == [
        ("c", "Withdrawn", 1),
        ("a", "Withdrawn", 1),
        ("b", "Withdrawn", 3),
        ("a", "Withdrawn", 3),
    ]
    assert net["cost"].rows() == [("a", "b", 1), ("c", "d", 1), ("c", "e", 1), ("c", "f", 1)]
