"""Deletions that go from neighbour to neighbour: no message leaves the links, and rows are as without."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from asynchronous import planned
from oracle_lockstep import examples
from random_schedules import FIRST_SEED

import headwater as hw
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.shipping import BOUNDED, EAGER, LAZY
from headwater.networks.runtime.directory import Addresses
from headwater.networks.transports.simulator.links import LinkQuality, alike
from headwater.networks.transports.simulator.simulator import Simulator

TEXT = """
  r1 reach(@X, @Y) :- #link(@X, @Y, C).
  r2 reach(@X, @Y) :- #link(@X, @Z, C), reach(@Z, @Y).
  c1 cost(@X, @Y, min<C>) :- #link(@X, @Y, C).
  c2 cost(@X, @Y, min<C>) :- #link(@X, @Z, A), cost(@Z, @Y, B), C = A + B.
"""
PLAN = planned(TEXT)


def addressed(
    nodes: int, chance: random.Random, *, along_links: bool
) -> tuple[Simulator, set[tuple[int, int]]]:
    """A network, and the pairs of nodes between which messages went."""
    went: set[tuple[int, int]] = set()
    net = Simulator(
        PLAN,
        Addresses([f"n{number}" for number in range(nodes)]),
        absorption(chance.choice([LAZY, BOUNDED, EAGER]), along_links=along_links),
        links=alike(LinkQuality(0.1, chance.choice([0, 1, 5]))),
        seed=chance.randrange(1 << 30),
        most_messages=200_000,
        told=lambda time, sender, receiver, message, size: went.add((sender, receiver)),
    )
    return net, went


def change(net: Simulator, comes: bool, pair: tuple[int, int], cost: int) -> None:
    """A link comes or goes, both ways."""
    for x, y in (pair, pair[::-1]):
        (net.insert if comes else net.delete)("link", (f"n{x}", f"n{y}", cost))


def expected(graph: nx.Graph) -> tuple[set[tuple[str, str]], set[tuple[str, str, int]]]:
    """What is reached, and at what cost; from a node back to itself over its cheapest link."""
    reach, cost = set(), set()
    for x, lengths in nx.all_pairs_dijkstra_path_length(graph, weight="cost"):
        for y, length in lengths.items():
            if x != y:
                reach.add((f"n{x}", f"n{y}"))
                cost.add((f"n{x}", f"n{y}", length))
        if graph[x]:
            reach.add((f"n{x}", f"n{x}"))
            cost.add((f"n{x}", f"n{x}", 2 * min(link["cost"] for link in graph[x].values())))
    return reach, cost


def assert_right(net: Simulator, graph: nx.Graph, what: object) -> None:
    reach, cost = expected(graph)
    assert net.rows("reach") == reach, what
    assert net.rows("cost") == cost, what


@pytest.mark.parametrize("connected", [True, False], ids=["a tree of links stays", "any link may go"])
def test_every_message_goes_along_a_link(connected):
    """Random connected networks whose links come and go while messages are under way."""
    for seed in range(FIRST_SEED, FIRST_SEED + examples(40)):
        chance = random.Random(seed)
        nodes = chance.randint(3, 6)
        costs = {(chance.randrange(y), y): chance.randint(1, 3) for y in range(1, nodes)}
        tree = set(costs)
        for _ in range(3):
            x, y = sorted(chance.sample(range(nodes), 2))
            costs.setdefault((x, y), chance.randint(1, 3))
        flapping = sorted(set(costs) - tree if connected else costs)
        changes = [chance.choice(flapping) for _ in range(chance.choice([4, 12]))] if flapping else []
        for along_links in (True, False):
            net, went = addressed(nodes, chance, along_links=along_links)
            up = set(costs)
            for pair, cost in costs.items():
                change(net, True, pair, cost)
            net.steps(chance.choice([0, 10, 100]))
            for pair in changes:
                up ^= {pair}
                change(net, pair in up, pair, costs[pair])
                net.steps(chance.choice([0, 1, 8, 30]))
            net.run()
            graph = nx.Graph()
            graph.add_nodes_from(range(nodes))
            graph.add_edges_from((x, y, {"cost": costs[x, y]}) for x, y in up)
            assert_right(net, graph, (seed, along_links))
            if along_links:
                assert {(min(pair), max(pair)) for pair in went} <= set(costs), seed


def test_parts_that_are_cut_off_hear_of_deletions_when_a_link_joins_them():
    net, _ = addressed(4, random.Random(1), along_links=True)
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, 1, "cost")
    graph.add_edge(0, 2, cost=1)
    for x, y in graph.edges:
        change(net, True, (x, y), 1)
    net.run()
    assert_right(net, graph, "together")
    change(net, False, (2, 3), 1)
    graph.remove_edge(2, 3)
    net.run()
    assert_right(net, graph, "both parts know of the link that joined them")
    change(net, False, (1, 2), 1)
    graph.remove_edge(1, 2)
    net.run()
    assert_right(net, graph, "node 3 has nothing that rests on what it has not heard of")
    change(net, True, (2, 3), 1)
    graph.add_edge(2, 3, cost=1)
    net.run()
    assert_right(net, graph, "joined again")


@pytest.mark.parametrize("annotation", ["absorption", "absorption-lazy", "absorption-eager"])
def test_networks_of_users(annotation):
    """Over the ends of a grid: a deletion of a link is told along links, and rows are as with the option off."""
    nets = [
        hw.network("shortest-path", "grid:3", annotation=annotation, deletions_along_links=along)
        for along in (True, False)
    ]
    for net in nets:
        net.run()
        net.fail("s0.0", "s0.1")
        net.run()
        net.restore("s0.0", "s0.1")
        net.fail("s1.1", "s0.1")
        net.run()
    along, told = nets
    assert sorted(along["shortestPath"].rows()) == sorted(told["shortestPath"].rows())
    assert "deletions: from neighbour to neighbour, along links" in along.explain()
    assert "deletions: told to all nodes" in told.explain()


def test_nodes_in_processes():
    with hw.network(
        "shortest-path", "grid:2", transport="tcp", processes=2, deletions_along_links=True
    ) as net:
        net.run()
        net.fail("s0.0", "s0.1")
        net.run()
        found = {row[:2]: row[3] for row in net["shortestPath"].rows()}
    simulated = hw.network("shortest-path", "grid:2")
    simulated.fail("s0.0", "s0.1")
    simulated.run()
    assert found == {row[:2]: row[3] for row in simulated["shortestPath"].rows()}


@pytest.mark.parametrize(
    ("program", "options", "code"),
    [
        ("shortest-path", {"annotation": "dred"}, "annotation"),
        ("r(@X, @Y) :- edge(@X, @Y).", {}, "no-links"),
        ("shortest-path", {"deletions_along_links": 1}, "wrong-type"),
    ],
)
def test_refusals(program, options, code):
    with pytest.raises(hw.HeadwaterError) as refused:
        hw.network(program, "grid:2", **{"deletions_along_links": True, **options})
    assert refused.value.code == code
