"""A small network with a node for each of its routers, which know their own links and talk to each other."""

from __future__ import annotations

from dataclasses import dataclass

import headwater as hw
from headwater.networks import Link, Topology, sensor_grid

ROUTING = """\
bc1 bestCost(@S, @D, min<C>) :- #link(@S, @D, C).
bc2 bestCost(@S, @D, min<C>) :- #link(@S, @Z, C1), bestCost(@Z, @D, C2), C = C1 + C2.
"""


@dataclass(frozen=True)
class Networked:
    """What routers said to each other until they knew all costs, and when a link failed; a proof; whether all is
    right, by Dijkstra."""

    nodes: int
    messages: int
    seconds: float
    failing: Link
    messages_then: int
    changed: int
    proof: str
    right: bool


def route_packets() -> Networked:
    """Let routers find the cheapest ways, ask what a failure would change, and let it happen."""
    topology = sensor_grid(4)
    failing = topology.links[len(topology.links) // 2]
    net = hw.network(ROUTING, topology, annotation="support", metric="random")
    first = net.run()
    changed = net.what_if(fail=[failing[:2]]).changes["bestCost"]
    net.fail(failing[:2])
    after = net.run()
    row = changed.come[0]
    left = Topology(topology.nodes, tuple(Link(*link) for link in net.links), directed=True)
    found = {row[:2]: row[2] for row in net["bestCost"].rows() if row[0] != row[1]}
    wanted = {
        (source, target): cost
        for source in left.nodes
        for target, cost in left.latencies(source).items()
        if source != target
    }
    return Networked(
        len(topology.nodes),
        first.messages,
        first.seconds,
        failing,
        after.messages,
        len(changed.come),
        str(net.why("bestCost", row)).splitlines()[0],
        found == wanted,
    )
