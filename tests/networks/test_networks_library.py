"""Every program that comes along does what it is for: on real networks, beside networkx, and where things fail."""

from __future__ import annotations

import random
from pathlib import Path

import networkx
import numpy as np
import pytest

import headwater as hw
from headwater.networks.annotated.absorption import absorption
from headwater.networks.library import library_program, programs
from headwater.networks.runtime.directory import Addresses
from headwater.networks.runtime.messages import EventRaised
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import plan_nodes
from headwater.networks.transports.simulator.links import LinkQuality, alike
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.types import STRING

ZOO = [
    "topozoo/Cynet", "topozoo/Arpanet196912", "topozoo/Nordu1989", "topozoo/Basnet", "topozoo/Mren",
    "topozoo/HiberniaIreland", "topozoo/Marwan", "topozoo/Nordu2005", "topozoo/Telecomserbia",
    "topozoo/Epoch", "topozoo/Layer42", "topozoo/Napnet", "topozoo/Dataxchange", "topozoo/Sanren",
    "topozoo/Getnet", "topozoo/Netrail", "topozoo/Heanet", "topozoo/Gblnet", "topozoo/Cesnet1993",
    "topozoo/Arpanet19706", "topozoo/Iinet", "topozoo/Airtel", "topozoo/Gridnet", "topozoo/Globalcenter",
    "topozoo/HiberniaCanada", "topozoo/Ilan", "sndlib/dfn-bwin", "topozoo/Cesnet1999", "topozoo/Itnet",
    "topozoo/Jgn2Plus", "topozoo/Abilene", "topozoo/Compuserve", "topozoo/Sprint", "sndlib/pdh",
    "sndlib/di-yuan", "sndlib/dfn-gwin", "topozoo/Nordu1997", "topozoo/Eenet", "topozoo/Gambia",
    "sndlib/abilene", "sndlib/polska", "topozoo/Grena", "topozoo/Kreonet", "topozoo/HiberniaUk",
    "topozoo/Rhnet", "topozoo/Nsfnet", "topozoo/Restena", "topozoo/Navigata", "topozoo/BsonetEurope",
    "sndlib/nobel-us", "topozoo/Aarnet",
]  # fmt: skip
"""Small real networks."""
LINE = [(a, b, 1) for x, y in [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")] for a, b in [(x, y), (y, x)]]
LONG = [(f"n{x}", f"n{y}", 1) for x in range(12) for y in (x - 1, x + 1) if 0 <= y < 12]


def both_ways(links):
    return [(x, y, c) for a, b, c in links for x, y in ((a, b), (b, a))]


def distances(net):
    graph = networkx.DiGraph()
    graph.add_nodes_from(net.topology.nodes)
    graph.add_weighted_edges_from(net.links)
    found = dict(networkx.all_pairs_dijkstra_path_length(graph))
    return {(s, t): c for s, costs in found.items() for t, c in costs.items() if s != t}


def costs_of(net, relation, column):
    return {row[:2]: row[column] for row in net[relation].rows() if row[0] != row[1]}


def reached(net):
    return dict.fromkeys((row for row in net["reachable"].rows() if row[0] != row[1]), True)


ROUTING = {
    "reachable": (reached, None),
    "best-cost": (lambda net: costs_of(net, "bestCost", 2), None),
    "shortest-path": (lambda net: costs_of(net, "shortestPath", 3), None),
    "distance-vector": (lambda net: costs_of(net, "bestCost", 2), 250),
    "link-state": (lambda net: costs_of(net, "route", 2), 60),
    "link-state-triggered": (lambda net: costs_of(net, "route", 2), None),
}
"""What each gives, and for how long it runs; `None`: until all is quiet."""
ON_REAL_NETWORKS = [(name, list(ROUTING)[number % len(ROUTING)]) for number, name in enumerate(ZOO)]


@pytest.mark.parametrize(("name", "program"), ON_REAL_NETWORKS)
def test_routes_on_real_networks_as_links_fail_come_back_and_cost_more_and_less(name, program):
    found, seconds = ROUTING[program]
    metric = "hops" if program == "distance-vector" else ["latency", "reliability", "random"][len(name) % 3]
    net = hw.network(program, f"topohub:{name}", metric=metric)
    chance = random.Random(name)
    links = sorted({(link.source, link.target) for link in net.topology.links})

    def settled():
        net.run(until=None if seconds is None else net.now + seconds)
        wanted = distances(net)
        return found(net) == (dict.fromkeys(wanted, True) if program == "reachable" else wanted)

    assert settled()
    failing = chance.sample(links, max(1, len(links) // 5))
    for link in failing:
        net.fail(link)
    assert settled()
    for link in failing:
        net.restore(link)
    for link in chance.sample(links, max(1, len(links) // 5)):
        net.set_cost(link, chance.randint(1, 3) if program == "distance-vector" else chance.randint(1, 200))
    assert settled()


def test_at_least_fifty_real_networks_are_routed():
    assert len(set(ZOO)) >= 50


def test_path_vector_has_all_paths_and_the_best():
    net = hw.network("path-vector", "topohub:topozoo/Epoch")
    net.run()
    graph = networkx.Graph((a, b) for a, b, _ in net.links)
    wanted = {
        tuple(path) for s in graph for t in graph if s != t for path in networkx.all_simple_paths(graph, s, t)
    }
    assert {row[2] for row in net["path"].rows() if row[0] != row[1]} == wanted
    assert costs_of(net, "bestPath", 3) == distances(net)


def test_split_horizon_and_poison_reverse():
    net = hw.network("distance-vector", LINE, metric="hops")
    net.run(until=100)
    heard = [m for m in net.timeline() if m.kind == EventRaised.__name__]
    poisoned = [m.row for m in heard if m.row[3] == 32]
    assert poisoned and all(m.row[3] < 32 or (m.row[0], m.row[1]) for m in heard)
    # a tells b nothing of c: its way there leads over b
    assert not [m for m in heard if m.row[:3] == ("b", "a", "c") and m.row[3] < 32]
    assert [m for m in heard if m.row == ("b", "a", "c", 32)]
    net.fail("d", "e")
    net.fail("e", "d")
    net.run(until=120)
    assert not [row for row in net["nextHop"].rows() if row[1] == "e" and row[0] == "d"]
    net.run(until=200)
    assert not [row for row in net["nextHop"].rows() if row[1] == "e"]


def test_link_state_is_quiet_when_triggered_and_hazy_says_less_than_periodic():
    lines = {}
    for program in ("link-state", "link-state-hazy", "link-state-triggered"):
        net = hw.network(program, LONG)
        net.run(until=90)
        assert costs_of(net, "route", 2) == distances(net)
        before = net.messages
        net.run(until=250)
        lines[program] = net.messages - before
    assert lines["link-state-triggered"] == 0 < lines["link-state-hazy"] < 0.7 * lines["link-state"]


def test_hazy_sight_near_nodes_know_sooner():
    net = hw.network("link-state-hazy", LONG)
    net.run(until=85)
    net.set_cost("n1", "n0", 50)
    net.run(until=92)
    assert ("n2", "n0", 51, "n1") in net["route"] and ("n11", "n0", 11, "n10") in net["route"]
    net.run(until=170)
    assert ("n11", "n0", 60, "n10") in net["route"]


def test_source_routing_finds_what_is_asked_for_and_nothing_else():
    net = hw.network("source-routing", "topohub:topozoo/Abilene")
    net.run()
    assert not net.messages
    source, target = "Chicago", "Los Angeles"
    net.insert("query", [(source, target)])
    net.run()
    links = {(s, t): c for s, t, c in net.links}
    for _, _, path, cost in net["sourceRoute"].rows():
        assert (path[0], path[-1]) == (source, target)
        assert (
            sum(links[step] for step in zip(path, path[1:], strict=False))
            == cost
            == distances(net)[source, target]
        )
    assert len(net["sourceRoute"])
    assert {row[:2] for row in net["sourceRoute"].rows()} == {(source, target)}
    best = net["sourceRoute"].rows()[0][2]
    net.fail(best[0], best[1])
    net.run()
    assert {row[3] for row in net["sourceRoute"].rows()} == {distances(net)[source, target]}


def test_multicast_trees_reach_all_members_and_nobody_twice():
    net = hw.network("multicast", "topohub:topozoo/Abilene")
    members = ["Seattle", "Atlanta", "New York", "Houston"]
    net.insert("member", [(member, "Denver") for member in members])
    net.run()
    tree = networkx.DiGraph((parent, child) for parent, source, child in net["child"].rows())
    assert networkx.is_arborescence(tree) and all(networkx.has_path(tree, "Denver", m) for m in members)
    before = net.messages
    net.insert("send", [("Denver", "hello")])
    net.run()
    assert net["received"].rows() == sorted((member, "Denver", "hello") for member in members)
    assert net.messages - before == tree.number_of_edges()
    net.fail(*next(iter(tree.edges)))
    net.run()
    net.insert("send", [("Denver", "again")])
    net.run()
    assert {row[0] for row in net["received"].rows() if row[2] == "again"} == set(members)


def test_ping_pong_measures_round_trips_and_forgets_who_does_not_answer():
    net = hw.network("ping-pong", both_ways([("a", "b", 20), ("b", "c", 35)]))
    net.run(until=3.5)
    assert {row[:2]: round(row[2], 6) for row in net["roundTrip"].rows()} == {
        ("a", "b"): 0.04, ("b", "a"): 0.04, ("b", "c"): 0.07, ("c", "b"): 0.07,
    }  # fmt: skip
    net.fail("b", "c")
    net.fail("c", "b")
    net.run(until=10)
    assert {row[:2] for row in net["roundTrip"].rows()} == {("a", "b"), ("b", "a")}


def hash_of(name):
    """The place of a node on the ring, as rules compute it."""
    codec = Codec()
    codes = Functions().apply("f_hashIp", [np.array([codec.encode_value(name, STRING)])], [STRING], codec)
    return int(codes[0]) % (1 << 32)


def simulated(program, names, quality, seed=0):
    plan = plan_nodes(compile_program(check(library_program(program), Functions(), network=True)))
    scheme = absorption(reclaim_every=None)
    return Simulator(plan, Addresses(names), scheme, links=alike(quality), seed=seed)


LOSSY = LinkQuality(0.05, jitter=0.1, loss=0.1, duplicates=0.05, fifo=False, reliable=False)


def test_gossip_knows_the_living_and_forgets_the_dead_though_messages_are_lost_and_out_of_order():
    names = [f"n{number}" for number in range(8)]
    net = simulated("gossip", names, LOSSY, seed=3)
    for x in range(8):
        for y in ((x + 1) % 8, (x - 1) % 8, (x + 4) % 8):
            net.insert("link", (names[x], names[y], 1))
    net.run(90)
    assert {row[:2] for row in net.rows("alive")} == {(x, y) for x in names for y in names}
    net.fail_node(5)
    net.run(170)
    living = [name for name in names if name != "n5"]
    assert {row[:2] for row in net.rows("alive")} == {(x, y) for x in living for y in living}
    net.run(300)  # and it does not come back
    assert {row[1] for row in net.rows("alive")} == set(living)


def test_soft_routes_where_links_are_not_fifo_and_lose_messages_and_parts_that_heal():
    names = list("abcdef")
    net = simulated("distance-vector", names, LOSSY, seed=5)
    ring = [(names[i], names[(i + 1) % 6]) for i in range(6)]
    for x, y in ring:
        net.insert("link", (x, y, 1))
        net.insert("link", (y, x, 1))
    graph = networkx.Graph(ring)

    def costs():
        return {row[:2]: row[2] for row in net.rows("bestCost") if row[0] != row[1]}

    def wanted(parts):
        return {
            (s, t): c
            for part in parts
            for s, found in networkx.all_pairs_shortest_path_length(graph.subgraph(part))
            for t, c in found.items()
            if s != t
        }

    net.run(120)
    assert costs() == wanted([names])
    net.partition([0, 1, 2], [3, 4, 5])
    for x, y in [("c", "d"), ("f", "a")]:
        net.delete("link", (x, y, 1))
        net.delete("link", (y, x, 1))
    net.run(1200)
    assert costs() == wanted([names[:3], names[3:]])
    net.heal()
    for x, y in [("c", "d"), ("f", "a")]:
        net.insert("link", (x, y, 1))
        net.insert("link", (y, x, 1))
    net.run(1500)
    assert costs() == wanted([names])


def test_packets_take_the_cheapest_way_and_the_lost_are_told():
    net = hw.network("packet-forwarding", "topohub:topozoo/Abilene")
    net.run()
    net.insert("send", [("Seattle", "Atlanta", "hello")])
    net.run()
    ((_, source, message, path),) = net["received"].rows()
    links = {(s, t): c for s, t, c in net.links}
    assert (source, message) == ("Seattle", "hello")
    assert (
        sum(links[step] for step in zip(path, path[1:], strict=False)) == distances(net)["Seattle", "Atlanta"]
    )
    for link in [link for link in net.topology.links if "Atlanta" in (link.source, link.target)]:
        net.fail(link.source, link.target)
    net.run()
    net.insert("send", [("Seattle", "Atlanta", "nobody")])
    net.run()
    assert net["lost"].rows() == [("Seattle", "Seattle", "Atlanta", "nobody")]
    assert len(net["received"]) == 1


PROVIDERS = [("t1", "m1"), ("t1", "m2"), ("t2", "m3"), ("m1", "s1"), ("m2", "s1"), ("m2", "s2"), ("m3", "s3")]
"""Who sells transit to whom; t1 and t2, and m2 and m3, are peers."""
PEERS = [("t1", "t2"), ("m2", "m3")]


def business(providers, peers):
    rows = [(a, b, "customer") for a, b in providers] + [(b, a, "provider") for a, b in providers]
    return rows + [(x, y, "peer") for a, b in peers for x, y in ((a, b), (b, a))]


def stable_routes(rows, origin):
    """BGP by hand: each picks among what neighbours may tell it, until nothing changes."""
    kinds = {(x, y): kind for x, y, kind in rows}
    chosen = {origin: (0, "", (origin,), "own")}
    for _ in range(20):
        now = {origin: chosen[origin]}
        for x in sorted({x for x, _ in kinds}):
            offers = []
            for (z, y), kind in kinds.items():
                if z == x and y in chosen and x != origin:
                    _, _, path, how = chosen[y]
                    if x not in path and (how in ("own", "customer") or kinds[y, x] == "customer"):
                        rank = {"customer": 1000, "peer": 2000, "provider": 3000}[kind] + len(path) + 1
                        offers.append((rank, y, (x, *path), kind))
            if offers:
                now[x] = min(offers)
        if now == chosen:
            return {x: path for x, (_, _, path, _) in chosen.items()}
        chosen = now
    raise AssertionError("no stable state")


def test_policy_routing_is_that_of_business_before_and_after_a_failure():
    names = sorted({name for pair in PROVIDERS + PEERS for name in pair})
    rows = business(PROVIDERS, PEERS)
    net = hw.network("policy-routing", both_ways([(names[0], name, 10) for name in names[1:]]))
    net.insert("neighbour", rows)
    net.insert("originates", [(name, f"net-{name}") for name in names])
    net.run(until=100)

    def routes(origin):
        return {row[0]: row[3] for row in net["route"].rows() if row[1] == f"net-{origin}"}

    for origin in names:
        assert routes(origin) == stable_routes(rows, origin)
    assert routes("s3")["s2"] == ("s2", "m2", "m3", "s3")  # over the peers of m2, not over its provider
    gone = business([], [("m2", "m3")])
    net.delete("neighbour", gone)
    net.run(until=250)
    left = [row for row in rows if row not in gone]
    for origin in names:
        assert routes(origin) == stable_routes(left, origin)
    assert routes("s3")["s2"] == ("s2", "m2", "t1", "t2", "m3", "s3")


def test_switches_flood_once_and_then_know():
    links = both_ways([("s1", "s2", 1), ("s2", "s3", 1), ("h1", "s1", 1), ("h2", "s3", 1), ("h3", "s2", 1)])
    net = hw.network("mac-learning", links)
    net.insert("switch", [("s1",), ("s2",), ("s3",)])
    net.run()

    def sent(source, target, text):
        before = net.messages
        net.insert("send", [(source, target, text)])
        net.run(until=net.now + 1)
        assert (target, source, text) in net["received"]
        return net.messages - before

    assert sent("h1", "h2", "one") == 5  # to s1, then everywhere: s2, s3, h2 and h3
    assert sent("h2", "h1", "two") == 4  # straight back
    assert sent("h1", "h2", "three") == 4
    net.run(until=net.now + 100)
    assert sent("h1", "h2", "four") == 5


def test_a_firewall_lets_answers_in_and_nothing_else():
    net = hw.network("firewall", both_ways([("f", "x", 1)]))
    net.insert("inside", [("f", "pc"), ("f", "web")])
    net.insert("open", [("f", "web")])
    net.insert(
        "packet",
        [("f", "evil", "pc", 1), ("f", "evil", "web", 2), ("f", "pc", "site", 3), ("f", "site", "pc", 4)],
    )
    net.run(until=29)
    net.insert("packet", [("f", "site", "pc", 5)])
    net.run(until=50)
    net.insert("packet", [("f", "site", "pc", 6)])
    net.run(until=100)
    net.insert("packet", [("f", "site", "pc", 7)])
    assert {row[3] for row in net["passed"].rows()} == {2, 3, 4, 5, 6}
    assert {row[3] for row in net["refused"].rows()} == {1, 7}


def test_chord_finds_the_right_successor_while_nodes_join_and_leave():
    names = [f"node{number}" for number in range(16)]
    net = simulated("chord", names, LinkQuality(0.03), seed=1)
    identity = {name: hash_of(name) for name in names}
    chance = random.Random(4)

    def check_ring(alive, asked):
        ring = sorted(alive, key=identity.get)
        after = {name: ring[(place + 1) % len(ring)] for place, name in enumerate(ring)}
        assert {row[0]: row[2] for row in net.rows("successor")} == after
        for number in range(asked):
            key, where = chance.randrange(1 << 32), chance.choice(ring)
            owner = next((name for name in ring if identity[name] >= key), ring[0])
            net.insert("lookup", (where, key, where, number))
            net.run(net.now + 2)
            assert (where, key, owner) in net.rows("found")

    net.insert("landmark", (names[0], names[0]))
    for place, name in enumerate(names[1:11]):
        net.run(2.0 * place)
        net.insert("landmark", (name, names[0]))
    net.run(90)
    check_ring(names[:11], 12)
    for place, name in enumerate(names[11:]):
        net.run(net.now + 1)
        net.insert("landmark", (name, names[0]))
        if place < 3:
            net.fail_node(2 + 3 * place)
    net.run(net.now + 120)
    check_ring([name for place, name in enumerate(names) if place not in (2, 5, 8)], 20)


def test_every_program_is_tested_here_and_documented():
    here = Path(__file__).read_text()
    page = (Path(__file__).parents[2] / "docs/networks.md").read_text()
    for name in programs():
        assert f'"{name}"' in here, name
        assert f"| `{name}` |" in page, name
