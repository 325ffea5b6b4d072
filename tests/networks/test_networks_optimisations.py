"""Optimisations (loo-2006 section 5): the same rows as without, on random networks that change; fewer messages or
bytes where the paper says so."""

from __future__ import annotations

import random
from dataclasses import replace

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import examples

import headwater as hw
from headwater.networks.network import Network
from headwater.networks.optimisations.neighbourhood import estimated, neighbourhood
from headwater.networks.optimisations.searching import PathSearch
from headwater.networks.runtime.message_codec import decode_message, encode_message, size_of
from headwater.networks.runtime.messages import (
    Alive,
    AskedFor,
    CountedDerivations,
    Derived,
    Dropped,
    EventRaised,
    Follows,
    FollowsBy,
    Gone,
    Grounded,
    Replaced,
    Reranked,
    RowDeleted,
    RowInserted,
    SharedMessage,
    Supported,
    TakenBack,
    Withdrawn,
)
from headwater.networks.topologies.named import as_topology
from headwater.networks.topologies.topology import Topology

TWO_METRICS = """
    p1 path(@S, @D, P, A, B) :- #link(@S, @D, A, B), P = f_init(S, D).
    p2 path(@S, @D, P, A, B) :- #link(@S, @Z, A1, B1), path(@Z, @D, P2, A2, B2), A = A1 + A2, B = B1 + B2,
         P = f_prepend(S, P2).
    a1 cheap(@S, @D, min<A>) :- path(@S, @D, P, A, B).
    a2 short(@S, @D, min<B>) :- path(@S, @D, P, A, B).
"""
SEPARATELY = "\n".join(
    f"""
    p1{n} path{n}(@S, @D, P, C) :- #link(@S, @D, {costs}), P = f_init(S, D).
    p2{n} path{n}(@S, @D, P, C) :- #link(@S, @Z, {costs.replace("C", "C1")}), path{n}(@Z, @D, P2, C2), C = C1 + C2,
         P = f_prepend(S, P2).
    p3{n} cost{n}(@S, @D, min<C>) :- path{n}(@S, @D, P, C).
    p4{n} best{n}(@S, @D, P, C) :- cost{n}(@S, @D, C), path{n}(@S, @D, P, C).
    """
    for n, costs in enumerate(["C, _, _", "_, C, _", "_, _, C"])
)


def random_network(seed: int, *, acyclic: bool = False) -> list[tuple[str, str, int]]:
    chance = random.Random(seed)
    names = "abcdefgh"[: chance.randint(3, 8)]
    pairs = [(a, b) for a in names for b in names if a != b and (a < b or not acyclic)]
    chosen = chance.sample(pairs, min(len(pairs), chance.randint(2, 14)))
    return [(a, b, chance.randint(1, 9)) for a, b in chosen]


def ran(seed: int, program: str, links: list[tuple[str, str, int]], **options) -> Network:
    """A network that has gone through changes, some of them while others were under way."""
    chance = random.Random(seed)
    net = hw.network(program, links, seed=seed, **options)
    net.run(until=chance.choice([0.0, 0.004, 0.02]))
    for number in range(4):
        link = chance.choice(net.topology.links)[:2]
        if link in net._up and number % 2:
            net.fail(link)
        else:
            costs = tuple(chance.randint(1, 9) for _ in net._costs[link])
            net.set_cost(link, costs)
        if chance.random() < 0.5:
            net.run(until=net.now + 0.003)
    assert net.run().quiet
    return net


def rows(net: Network, *names: str) -> dict[str, list]:
    return {name: net[name].rows() for name in names}


OPTIONS = [
    {"selection_period": 0.01},
    {"sharing_delay": 0.01},
    {"selection_period": 0.02, "sharing_delay": 0.005},
    {"sharing_delay": 0.01, "annotation": "dred"},
    {"selection_period": 0.01, "order": "bsn"},
    {"selection_period": 0.01, "annotation": "support"},
    {"selection_period": 0.01, "sharing_delay": 0.01, "annotation": "dred"},
    {"sharing_delay": 0.01, "annotation": "relative", "order": "sn"},
]


@settings(max_examples=examples(12))
@given(st.integers(0, 1 << 30), st.sampled_from(OPTIONS))
def test_periodic_selections_and_sharing_change_no_rows(seed, options):
    links = random_network(seed)
    plain = ran(seed, "shortest-path", links)
    assert rows(ran(seed, "shortest-path", links, **options), "shortestPath") == rows(plain, "shortestPath")


@settings(max_examples=examples(8))
@given(st.integers(0, 1 << 30), st.sampled_from(["shortest-path", TWO_METRICS]))
def test_aggregate_selections_change_no_rows(seed, program):
    """Without them recursions over cycles do not end, so links lead one way."""
    links = random_network(seed, acyclic=True)
    names = ("shortestPath",) if program != TWO_METRICS else ("cheap", "short")
    metric = "latency" if program != TWO_METRICS else ("latency", "random")
    found = [
        rows(ran(seed, program, links, metric=metric, **options), *names)
        for options in ({}, {"multi_aggregates": False}, {"aggregate_selections": False})
    ]
    assert found[0] == found[1] == found[2]


@settings(max_examples=examples(10))
@given(st.integers(0, 1 << 30), st.sampled_from(["shortest-path", "best-cost", "reachable"]))
def test_goals_are_answered_as_if_all_was_derived(seed, program):
    relation = {"shortest-path": "shortestPath", "best-cost": "bestCost", "reachable": "reachable"}[program]
    arity = {"shortestPath": 4, "bestCost": 3, "reachable": 2}[relation]
    links = random_network(seed)
    plain, names = ran(seed, program, links), sorted({end for link in links for end in link[:2]})
    chance = random.Random(seed)
    one, other = chance.choice(names), chance.choice(names)
    for bound in ({0: one}, {1: other}, {0: one, 1: other}):
        terms = [f"'{bound[n]}'" if n in bound else f"X{n}" for n in range(arity)]
        net = ran(seed, program, links, goal=f"{relation}({', '.join(terms)})")
        wanted = [row for row in plain[relation].rows() if all(row[n] == v for n, v in bound.items())]
        assert net[relation].rows() == wanted, bound


@settings(max_examples=examples(5))
@given(st.integers(0, 1 << 30))
def test_every_search_finds_best_paths(seed):
    links = random_network(seed)
    graph = networkx.DiGraph()
    graph.add_edges_from(link[:2] for link in links)
    chance = random.Random(seed)
    names = sorted(graph)
    queries = [tuple(chance.sample(names, 2)) for _ in range(4)]
    ways = [{}, {"strategy": "bottom-up"}, {"strategy": "hybrid"}, {"zone_radius": 1},
            {"strategy": "hybrid", "approximate": True}, {"zone_radius": 2, "caching": True}]  # fmt: skip
    for options in ways:
        search, found = PathSearch(links, **options), {}
        for query in queries:
            found |= search.ask([query])
        for source, target in queries:
            if not networkx.has_path(graph, source, target):
                assert (source, target) not in found
                continue
            path, cost = found[source, target]
            assert cost == networkx.shortest_path_length(graph, source, target) == len(path) - 1
            assert path[0] == source and path[-1] == target and networkx.is_path(graph, path)


@settings(max_examples=examples(5))
@given(st.integers(0, 1 << 30))
def test_caches_hold_for_any_metric(seed):
    links = random_network(seed)
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from(links)
    chance = random.Random(seed)
    queries = [tuple(chance.sample(sorted(graph), 2)) for _ in range(6)]
    search, found = PathSearch(links, caching=True, metric="latency"), {}
    for query in queries:
        found |= search.ask([query])
    lengths = dict(networkx.all_pairs_dijkstra_path_length(graph))
    assert {ends: cost for ends, (_, cost) in found.items()} == {
        (one, other): lengths[one][other] for one, other in queries if other in lengths[one]
    }


WAYS_BY_HOPS = [
    {"strategy": "hybrid"}, {"zone_radius": 2}, {"zone_radius": 1, "caching": True},
    {"strategy": "hybrid", "caching": True},
]  # fmt: skip
WAYS_BY_COST = [{"caching": True}, {"caching": True, "strategy": "bottom-up", "annotation": "support"}]


def changed_at_random(
    search: PathSearch, graph: networkx.DiGraph, links: list, chance: random.Random
) -> None:
    """Links fail, come back, and cost something else where they can; the graph follows."""
    source, target, cost = chance.choice(links)
    if graph.has_edge(source, target) and chance.random() < 0.6:
        search.fail(source, target)
        graph.remove_edge(source, target)
    elif chance.random() < 0.5 and search.strategy != "hybrid" and not search.zones:
        cost = chance.randint(1, 9)
        search.set_cost((source, target), cost)
        graph.add_edge(source, target, weight=cost)
        links[links.index(next(link for link in links if link[:2] == (source, target)))] = (
            source,
            target,
            cost,
        )
    else:
        search.restore((source, target))
        graph.add_edge(source, target, weight=cost)


@settings(max_examples=examples(2))
@given(st.integers(0, 1 << 30))
def test_searches_follow_links_that_fail_and_come_back(seed):
    """What was cached, what zones know and how far hybrid search looks is of the links that are there."""
    for number, options in enumerate((*WAYS_BY_HOPS, *WAYS_BY_COST)):
        by_hops = options in WAYS_BY_HOPS
        links = [(*link[:2], 1 if by_hops else link[2]) for link in random_network(seed + number)]
        graph, chance = networkx.DiGraph(), random.Random(seed)
        graph.add_weighted_edges_from(links)
        names = sorted(graph)
        search = PathSearch(links, metric="hops" if by_hops else "latency", **options)
        for _ in range(5):
            queries = [tuple(chance.sample(names, 2)) for _ in range(3)]
            found = search.ask(queries)
            lengths = dict(networkx.all_pairs_dijkstra_path_length(graph))
            wanted = {(one, other): lengths[one][other] for one, other in queries if other in lengths[one]}
            assert {ends: cost for ends, (_, cost) in found.items()} == wanted
            assert all(networkx.is_path(graph, path) for path, _ in found.values())
            changed_at_random(search, graph, links, chance)


def test_a_failure_is_told_to_all_nodes_that_cache():
    """Each node tells its neighbours once: as many messages as links, both ways; nothing where nothing is cached."""
    line = [("a", "b", 1), ("b", "c", 1), ("c", "d", 1)]
    search, plain = PathSearch(line, caching=True), PathSearch(line)
    for each in (search, plain):
        each.ask([("a", "d")])
        before = each.messages
        each.fail("c", "d")
        assert each.messages - before == (4 if each is search else 0)
        assert each.ask([("a", "d")]) == {}
    with pytest.raises(hw.HeadwaterError, match="count hops"):
        PathSearch(line, zone_radius=1).set_cost("a", "b", 4)
    with pytest.raises(hw.HeadwaterError, match="transport"):
        PathSearch(line, transport="tcp")


# ------------------------------------------------------------------ what they save


def overlay_network() -> Topology:
    return as_topology("overlay:20", seed=3)


@pytest.mark.parametrize("annotation", ["absorption", "support"])
def test_periodic_selections_send_less_and_take_longer(annotation):
    """Published values that change do not hold best rows up: these wait for a period, not until all is quiet."""
    options = {"metric": "random", "annotation": annotation}
    plain = hw.network("shortest-path", overlay_network(), **options)
    periodic = hw.network("shortest-path", overlay_network(), selection_period=0.1, **options)
    first, second = plain.run(), periodic.run()
    assert plain["shortestPath"].rows() == periodic["shortestPath"].rows()
    assert second.messages < first.messages and second.bytes < 0.88 * first.bytes
    hops = max(len(path) - 1 for _, _, path, _ in plain["shortestPath"].rows())
    assert first.seconds < second.seconds < first.seconds + 0.1 * (hops + 2)


@pytest.mark.parametrize(
    ("annotation", "share"), [("absorption", 0.66), ("support", 0.66), ("dred", 0.66), ("relative", 0.82)]
)
def test_shared_messages_are_fewer_and_smaller(annotation, share):
    """The paper saves 34 % (section 6.4); rows that carry their premises are alike in less."""
    options = {"metric": ("latency", "reliability", "random"), "annotation": annotation}
    plain = hw.network(SEPARATELY, overlay_network(), **options)
    shared = hw.network(SEPARATELY, overlay_network(), sharing_delay=0.3, **options)
    first, second = plain.run(), shared.run()
    names = ("best0", "best1", "best2")
    assert rows(plain, *names) == rows(shared, *names)
    assert second.messages < first.messages / 3 and second.bytes < share * first.bytes, (
        second.bytes / first.bytes
    )


def test_several_aggregates_prune_together():
    links = [(a, b, c) for a, b, c in as_topology("grid:3x3").rows() if a < b]
    metric = ("reliability", "random")
    pruned = hw.network(TWO_METRICS, links, metric=metric, seed=1)
    whole = hw.network(TWO_METRICS, links, metric=metric, seed=1, multi_aggregates=False)
    assert pruned.run().messages < whole.run().messages
    assert rows(pruned, "cheap", "short") == rows(whole, "cheap", "short")
    assert "max of" not in pruned.explain() and "min of column 4 and min of column 5" in pruned.explain()


def test_magic_sets_send_less_where_a_destination_is_asked_for():
    everything = hw.network("shortest-path", overlay_network(), metric="hops").run()
    one = hw.network(
        "shortest-path", overlay_network(), metric="hops", goal="shortestPath('n1', 'n2', P, C)"
    ).run()
    assert one.bytes < everything.bytes / 3


def test_hybrid_searches_zones_and_caches_send_less():
    queries = [(f"n{n}", f"n{n + 10}") for n in range(5)]
    sent = {}
    for name, options in {"td": {}, "hybrid": {"strategy": "hybrid"}, "zone": {"zone_radius": 2}}.items():
        search = PathSearch(overlay_network(), **options)
        before = search.messages
        for query in queries:
            search.ask([query])
        sent[name] = search.messages - before
    assert sent["hybrid"] < sent["td"] and sent["zone"] < sent["td"]
    to_one = [(f"n{n}", "n19") for n in range(8)]
    plain, cached = PathSearch(overlay_network()), PathSearch(overlay_network(), caching=True)
    for query in to_one:
        assert plain.ask([query]).keys() == cached.ask([query]).keys()
    assert cached.messages < plain.messages


def test_the_neighbourhood_function():
    topology = overlay_network()
    graph = networkx.DiGraph()
    graph.add_edges_from((a, b) for a, b, _ in topology.rows())
    exact = neighbourhood(topology)
    guess, messages, _ = estimated(topology, most=3)
    for node in topology.nodes:
        lengths = networkx.single_source_shortest_path_length(graph, node)
        for radius in range(4):
            wanted = sum(length <= radius for length in lengths.values())
            assert exact.size(node, radius) == wanted
            assert abs(guess[node][radius] - wanted) <= 0.5 * wanted + 1
    assert messages > 0
    for source, target in [("n0", "n7"), ("n3", "n9")]:
        near, far = exact.split(source, target)
        distance = exact.distances[source, target]
        behind = networkx.single_source_shortest_path_length(graph.reverse(), target)
        ahead = networkx.single_source_shortest_path_length(graph, source)

        def cost(radius, distance=distance, ahead=ahead, behind=behind):
            return sum(d <= radius for d in ahead.values()) + sum(
                d <= distance - radius for d in behind.values()
            )

        assert near + far == distance and cost(near) == min(map(cost, range(distance + 1)))


# ------------------------------------------------------------------ parts


def test_messages_that_go_together_are_encoded_by_what_they_differ_in():
    path = ("a", "b", "c", "d", "e")
    alike = [Derived(n, ("a", "e", path, 7 + n), ((1, 2, 3),)) for n in range(3)]
    together = SharedMessage(
        (*alike, Gone(4, 1), Derived(9, (1, 1.0, True), b"diagram"), Derived(9, (True, 1, 1), ((),)))
    )
    assert decode_message(encode_message(together)) == together
    assert [list(map(type, m.row)) for m in decode_message(encode_message(together)).messages[-2:]] == [
        [int, float, bool], [bool, int, int]]  # fmt: skip
    assert size_of(SharedMessage(tuple(alike))) < 2 * size_of(alike[0])
    data = encode_message(together)
    for cut in range(len(data)):
        with pytest.raises((hw.HeadwaterError, IndexError)):
            decode_message(data[:cut])


ROW = ("a", "e", ("a", "b", "c", "d", "e"), 7)
ROW_MESSAGES = [
    Derived(1, ROW, ((1, 2),)), CountedDerivations(1, ROW, -3), Supported(1, ROW, 9), Follows(1, ROW),
    Replaced(1, ROW, 9, (4, 300)),
    TakenBack(1, ROW),
    FollowsBy(1, ROW, ((3, (ROW, (1,))),)), Dropped(1, ROW, (3, (ROW,))), AskedFor(1, ROW), Grounded(1, ROW),
    Alive(1, ROW, 2.5), EventRaised(1, ROW), RowInserted(1, ROW), RowDeleted(1, ROW),
]  # fmt: skip


@pytest.mark.parametrize("message", ROW_MESSAGES, ids=lambda message: type(message).__name__)
def test_every_message_with_a_row_is_told_by_differences(message):
    others = [replace(message, relation=n, row=(*ROW[:3], n)) for n in (2, 3)]
    rowless = Gone(1, 1), Withdrawn((3,)), Withdrawn((3, 8)), Reranked(3, 9)
    for last in (*others, Follows(4, ROW), Supported(4, ROW, 8), *rowless):
        together = SharedMessage((message, *others, last, message))
        assert decode_message(encode_message(together)) == together
    assert size_of(SharedMessage((message, *others))) <= size_of(message) + 2 * 8 + 3
    data = encode_message(SharedMessage((message, *others)))
    for cut in range(len(data)):
        with pytest.raises((hw.HeadwaterError, IndexError)):
            decode_message(data[:cut])


def test_what_the_plan_says():
    net = hw.network("shortest-path", "grid:2", selection_period=0.5, sharing_delay=0.3)
    text = net.explain()
    assert "periodic aggregate selections: every 0.5 s" in text and "message sharing: after 0.3 s" in text
    assert "aggregate selections: on" in text and "sp2b" in text and "a message for each row" in text
    assert "goes on" not in hw.network("shortest-path", [("a", "b")], aggregate_selections=False).explain()
    goal = hw.network("reachable", "grid:2", goal="reachable('s0.0', D)").explain()
    assert (
        "magic sets and predicate reordering: for reachable('s0.0', D)" in goal
        and "from reachable^bf" in goal
    )


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"selection_period": -1}, "wrong-type"),
        ({"sharing_delay": "soon"}, "wrong-type"),
        ({"sharing_delay": float("nan")}, "wrong-type"),
        ({"aggregate_selections": 1}, "wrong-type"),
        ({"goal": 7}, "wrong-type"),
        ({"goal": "shortestPath(S, D, P, C)"}, "goal"),
        ({"goal": "shortestPath(S, D, P, 3)"}, "goal"),
        ({"goal": "shortPath('a', D, P, C)"}, "unknown-relation"),
        ({"goal": "shortestPath('a', D, P, C), D != S"}, "goal"),
        ({"goal": "shortestPath('a'"}, "syntax"),
        ({"sharing": 1}, "wrong-arguments"),
    ],
)
def test_refusals(options, code):
    with pytest.raises(hw.HeadwaterError) as refused:
        hw.network("shortest-path", [("a", "b")], **options)
    assert refused.value.code == code


def test_what_searches_refuse():
    for options, code in [({"strategy": "sideways"}, "unknown-option"), ({"zone_radius": -1}, "wrong-type"),
                          ({"zone_radius": 1, "metric": "random"}, "wrong-metric")]:  # fmt: skip
        with pytest.raises(hw.HeadwaterError) as refused:
            PathSearch([("a", "b")], **options)
        assert refused.value.code == code
    with pytest.raises(hw.HeadwaterError) as refused:
        PathSearch([("a", "b")]).ask([("a", "z")])
    assert refused.value.code == "no-such-node"
