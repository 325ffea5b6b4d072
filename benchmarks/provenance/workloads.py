"""The workloads of liu-2008 section 7.1: links of transit-stub networks, and sensors on a grid.

Nodes of networks are named by addresses, as in a network: annotations that name rows grow with the names, those that
number base rows do not. Query processing nodes sit in the stubs of the same network, one in each as far as there are
stubs, and messages between them take what the fastest path between them takes. Rows are spread over them by a hash,
as the paper's table does, or each looks after the addresses of its part of the network (liu-2008 figure 1).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

from headwater.networks import queries
from headwater.networks.runtime.directory import Directory, Hashed, Subnetworks
from headwater.networks.topologies.topology import Topology
from headwater.networks.topologies.transit_stub import transit_stub
from headwater.networks.transports.simulator.links import LinkModel, by_latency

Row = tuple[Any, ...]
Fact = tuple[str, Row]
"""A base relation and a row of it."""

SAME_STUB = 0.002
"""Seconds between two query processing nodes of one stub."""


@dataclass(frozen=True)
class Workload:
    """A query as rules, its base rows in the order of insertion, and those that are deleted later, one by one.

    `answer` is the view that is compared.
    """

    program: str
    answer: str
    facts: tuple[Fact, ...]
    gone: tuple[Fact, ...]
    underlay: Topology
    fixed: tuple[Fact, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    """The addresses of each stub, and of the transit nodes that the first stubs of each are with."""

    def directory(self, nodes: int, by_subnetwork: bool) -> Directory:
        """Who looks after what."""
        return Subnetworks(self.parts, nodes) if by_subnetwork and self.parts else Hashed(nodes)

    def links(self, nodes: int) -> LinkModel:
        """Latencies between query processing nodes."""
        stubs: dict[str, str] = {}
        for name in self.underlay.nodes:
            if len(name) > 2:
                stubs.setdefault(name[:-1], name)
        homes = [list(stubs.values())[number % len(stubs)] for number in range(nodes)]
        latencies = {home: self.underlay.latencies(home) for home in set(homes)}
        return by_latency(
            {
                (a, b): latencies[homes[a]][homes[b]] / 1000 or SAME_STUB
                for a, b in product(range(nodes), repeat=2)
            },
            SAME_STUB,
        )


def links(transit: int, dense: bool, share: float, seed: int) -> Workload:
    """Reachability over a network; a share of its links is deleted."""
    return _linked(transit, dense, share, seed, queries.REACHABLE, "reachable", lambda row: row[:2])


def priced_links(transit: int, dense: bool, share: float, seed: int, program: str, answer: str) -> Workload:
    """Best paths over a network with latencies; a share of its links is deleted."""
    return _linked(transit, dense, share, seed, program, answer, lambda row: row)


def _linked(
    transit: int,
    dense: bool,
    share: float,
    seed: int,
    program: str,
    answer: str,
    shape: Callable[[Row], Row],
) -> Workload:
    network = transit_stub(transit, dense=dense, seed=seed)
    address = {name: f"192.168.{i // 250}.{i % 250 + 1}" for i, name in enumerate(network.nodes)}
    facts = [("link", shape((address[a], address[b], cost))) for a, b, cost in network.rows()]
    chance = random.Random(seed + 1)
    chance.shuffle(facts)
    gone = chance.sample(facts, round(share * len(facts)))
    stubs: dict[str, list[str]] = {}
    for name in network.nodes:
        stubs.setdefault(name[:-1] if len(name) > 2 else f"{name}a", []).append(name)
    parts = tuple(tuple(address[name] for name in network.arranged(stub)) for stub in stubs.values())
    return Workload(program, answer, tuple(facts), tuple(gone), network, parts=parts)


def sensors(side: int, seed: int, spacing: int = 10, reach: int = 20, regions: int = 5) -> Workload:
    """Regions on a grid of side × side sensors: main ones and half of all are triggered, then let go again."""
    places = {f"s{number}": place for number, place in enumerate(product(range(side), repeat=2))}
    chance = random.Random(seed)
    main = chance.sample(sorted(places), regions)
    others = chance.sample([name for name in sorted(places) if name not in main], len(places) // 2 - regions)
    fixed: list[Fact] = [("reach", (reach,))]
    fixed += [("sensor", (name, x * spacing, y * spacing)) for name, (x, y) in places.items()]
    fixed += [("mainSensorInRegion", (f"r{number}", name)) for number, name in enumerate(main)]
    return Workload(
        queries.LARGEST_REGION,
        "activeRegion",
        tuple(("isTriggered", (name,)) for name in (*main, *others)),
        tuple(("isTriggered", (name,)) for name in chance.sample(others, len(others))),
        transit_stub(4, seed=seed),
        tuple(fixed),
    )
