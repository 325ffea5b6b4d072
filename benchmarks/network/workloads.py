"""What is run: the paper's overlay, its shortest-path query by four metrics, and bursts of link updates.

An overlay of 100 nodes over a transit-stub network, four random neighbours each (loo-2006 section 6.1); every node
runs the query of figure 1. Of equally short paths P2 keeps one, by the key of its table; here all are kept and sent.
So that this is not what is measured, hops cost 1,000 and a random part of up to 100 each: hardly two paths cost the
same.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

from headwater.networks.network import Network
from headwater.networks.opening import network
from headwater.networks.topologies.named import as_topology
from headwater.networks.topologies.topology import Topology

Row = tuple[object, ...]

METRICS = ("hops", "latency", "reliability", "random")
ANNOTATION = "support"
"""Ranked support: rows travel with one number, as small as the paper's tuples, and deletions are followed."""
UPDATED_LINKS, MOST_CHANGE = 0.1, 0.1
"""The share of the links that a burst changes, and by how much of their cost at most."""

SHORTEST_PATHS = """
sp1 path(@S, @D, @D, P, C) :- #link(@S, @D, C), P = f_concatPath(link(@S, @D, C), nil).
sp2 path(@S, @D, @Z, P, C) :- #link(@S, @Z, C1), path(@Z, @D, @Z2, P2, C2), C = C1 + C2,
      P = f_concatPath(link(@S, @Z, C1), P2).
sp3 spCost(@S, @D, min<C>) :- path(@S, @D, @Z, P, C).
sp4 shortestPath(@S, @D, P, C) :- spCost(@S, @D, C), path(@S, @D, @Z, P, C).
"""
BY_HOPS = SHORTEST_PATHS.replace("#link(@S, @D, C)", "#link(@S, @D, H, R), C = 1000 * H + R").replace(
    "#link(@S, @Z, C1)", "#link(@S, @Z, H, R), C1 = 1000 * H + R"
)
THREE_QUERIES = "\n".join(
    f"""
    sp1{n} path{n}(@S, @D, @D, P, C) :- #link(@S, @D, {costs}), P = f_concatPath(link(@S, @D, C), nil).
    sp2{n} path{n}(@S, @D, @Z, P, C) :- #link(@S, @Z, {costs.replace("C", "C1")}), path{n}(@Z, @D, @Z2, P2, C2),
          C = C1 + C2, P = f_concatPath(link(@S, @Z, C1), P2).
    sp3{n} spCost{n}(@S, @D, min<C>) :- path{n}(@S, @D, @Z, P, C).
    sp4{n} shortestPath{n}(@S, @D, P, C) :- spCost{n}(@S, @D, C), path{n}(@S, @D, @Z, P, C).
    """
    for n, costs in enumerate(("C, _, _", "_, C, _", "_, _, C"))
)


def overlay_of(nodes: int, seed: int) -> Topology:
    """The overlay of the paper, of so many nodes."""
    return as_topology(f"overlay:{nodes}", seed=seed)


def shortest_paths(topology: Topology, metric: str, seed: int, **options: object) -> Network:
    """The query of figure 1, by a metric; it has not run yet."""
    text, metrics = (BY_HOPS, ("hops", "random")) if metric == "hops" else (SHORTEST_PATHS, metric)
    return network(text, topology, metric=metrics, annotation=ANNOTATION, seed=seed, **options)  # type: ignore[arg-type]


def least_messages(net: Network) -> int:
    """How many messages the query takes at least: each node tells those who have a link to it each of its best paths
    once, and of each link once."""
    known = Counter(target for _, target, *_ in net.links)
    return len(net.links) + sum(known[row[0]] for row in net["shortestPath"].rows())


def least_news(net: Network, before: set[Row], links: set[Row]) -> int:
    """How many new rows have to be told after links and best paths have changed, each once, as `least_messages`."""
    known = Counter(target for _, target, *_ in net.links)
    reached = Counter(row[0] for row in net["shortestPath"].rows())
    changed = set(net.links) - links
    again = sum(reached[target] for _, target, *_ in changed)
    return (
        len(changed) + again + sum(known[row[0]] for row in net["shortestPath"].rows() if row not in before)
    )


def burst(net: Network, chance: random.Random) -> None:
    """A tenth of the links cost up to a tenth more or less from now on."""
    links = net.links
    for source, target, cost in chance.sample(links, max(1, round(len(links) * UPDATED_LINKS))):
        changed = round(cost * (1 + chance.uniform(-MOST_CHANGE, MOST_CHANGE)))
        net.set_cost((source, target), max(1, changed if changed != cost else cost + 1))


def bandwidth(messages: Iterable[tuple[float, int]], nodes: int, step: float) -> list[tuple[float, float]]:
    """kB a second and node over time, from times and bytes of messages.

    >>> bandwidth([(0.1, 4000), (0.6, 1000)], 2, 0.5)
    [(0.0, 4.0), (0.5, 1.0)]
    """
    sums: dict[int, int] = {}
    for time, size in messages:
        sums[int(time / step)] = sums.get(int(time / step), 0) + size
    last = max(sums, default=0)
    return [(place * step, sums.get(place, 0) / nodes / step / 1e3) for place in range(last + 1)]
