"""The neighbourhood function N(X, r): how many nodes are within r hops of X (loo-2006 section 5.3).

Nodes work it out by rules. Exactly: each learns its distance to every other one. Approximately (after Palmer, Gibbons
and Faloutsos 2002, with the registers of HyperLogLog, which take maxima): each holds `REGISTERS` small numbers for
each radius, and learns its neighbours' numbers for the radius before; rows are as many as registers, however many
nodes there are. The error is about 1.04 / sqrt(registers).

`split` finds the radii of a hybrid search from s to d: those with r_s + r_d = dist(s, d) for which
N(s, r_s) + N(d, r_d) is least. Distances are from source to target along links; from d the search goes against them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from headwater.networks.opening import network
from headwater.networks.topologies.topology import Link, Topology

REGISTERS = 64
MOST_HOPS = 16
"""How far estimates go."""

EXACT = """
n1 hops(@X, @Y, min<H>) :- #link(@X, @Y, C), H = 1.
n2 hops(@X, @Y, min<H>) :- #link(@X, @Z, C), hops(@Z, @Y, H1), X != Y, H = H1 + 1.
"""
APPROXIMATE = """
s1 sketch(@X, H, I, max<V>) :- own(@X, I, V), H = 0.
s2 sketch(@X, H, I, max<V>) :- sketch(@X, H1, I, V), H = H1 + 1, H <= {most}.
s3 sketch(@X, H, I, max<V>) :- #link(@X, @Z, C), sketch(@Z, H1, I, V), H = H1 + 1, H <= {most}.
"""


@dataclass(frozen=True)
class Neighbourhood:
    """How many nodes are within each radius, along the links and against them; distances; what that took."""

    ahead: Mapping[str, tuple[float, ...]]
    behind: Mapping[str, tuple[float, ...]]
    distances: Mapping[tuple[str, str], int]
    messages: int
    bytes: int

    def size(self, node: str, radius: int) -> float:
        """N(node, radius), the node itself among them."""
        return _at(self.ahead[node], radius)

    def split(self, source: str, target: str) -> tuple[int, int]:
        """How far to search from both ends; where there is no way, from neither."""
        distance = self.distances.get((source, target))
        if distance is None:
            return 0, 0
        cost = [
            (_at(self.ahead[source], near) + _at(self.behind[target], distance - near), near)
            for near in range(distance + 1)
        ]
        near = min(cost)[1]
        return near, distance - near


def neighbourhood(topology: Topology, *, approximate: bool = False, seed: int = 0) -> Neighbourhood:
    """Have the nodes of a network work out their neighbourhoods; distances are known exactly in either case."""
    exact = network(EXACT, topology, metric="hops", seed=seed)
    taken = exact.run()
    distances = {(one, other): hops for one, other, hops in exact["hops"].rows() if one != other}
    if not approximate:
        ahead = _counts(topology.nodes, distances)
        behind = _counts(topology.nodes, {(other, one): hops for (one, other), hops in distances.items()})
        return Neighbourhood(ahead, behind, distances, taken.messages, taken.bytes)
    ahead, messages, volume = estimated(topology, seed=seed)
    behind = ahead
    if topology.directed:
        turned = replace(topology, links=tuple(Link(b, a, c) for a, b, c in topology.links))
        behind, more, bytes_more = estimated(turned, seed=seed)
        messages, volume = messages + more, volume + bytes_more
    return Neighbourhood(ahead, behind, distances, messages, volume)


def estimated(
    topology: Topology, *, most: int = MOST_HOPS, seed: int = 0
) -> tuple[dict[str, tuple[float, ...]], int, int]:
    """N(X, r) for all nodes, estimated; and the messages and bytes that it took."""
    net = network(APPROXIMATE.format(most=most), topology, metric="hops", seed=seed)
    net.insert("own", [(node, *_register(node, seed)) for node in topology.nodes])
    taken = net.run()
    registers: dict[str, list[dict[int, int]]] = {
        node: [{} for _ in range(most + 1)] for node in topology.nodes
    }
    for node, hops, register, value in net["sketch"].rows():
        registers[node][hops][register] = value
    found = {node: tuple(map(_estimate, each)) for node, each in registers.items()}
    return found, taken.messages, taken.bytes


def _counts(nodes: tuple[str, ...], distances: Mapping[tuple[str, str], int]) -> dict[str, tuple[float, ...]]:
    by_node: dict[str, dict[int, int]] = {node: {0: 1} for node in nodes}
    for (node, _), hops in distances.items():
        by_node[node][hops] = by_node[node].get(hops, 0) + 1
    found = {}
    for node, counts in by_node.items():
        total, sums = 0, []
        for hops in range(max(counts) + 1):
            total += counts.get(hops, 0)
            sums.append(float(total))
        found[node] = tuple(sums)
    return found


def _at(sizes: tuple[float, ...], radius: int) -> float:
    return sizes[min(radius, len(sizes) - 1)]


def _register(node: str, seed: int) -> tuple[int, int]:
    """The register that a node sets, and how many zeros its hash begins with, and one."""
    number = int.from_bytes(hashlib.sha256(f"{seed} {node}".encode()).digest()[:8], "big")
    rest = number >> 6
    return number % REGISTERS, 58 - rest.bit_length() + 1


def _estimate(registers: Mapping[int, int]) -> float:
    empty = REGISTERS - len(registers)
    values = sum(2.0**-value for value in registers.values()) + empty
    raw = 0.709 * REGISTERS**2 / values
    if raw <= 2.5 * REGISTERS and empty:
        return REGISTERS * math.log(REGISTERS / empty)
    return raw
