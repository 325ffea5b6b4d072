"""An overlay: nodes that sit on the stub nodes of a transit-stub network and know a few others each.

As in Loo et al. 2006, section 6.1: every node picks its neighbours at random and has a link to each, one way.
A link's latency is that of the fastest path below it, its loss grows with the latency, and it has a metric
that is drawn at random. Nobody need have picked a given node, so not every node can be reached from every
other one.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from headwater.errors import DataError
from headwater.networks.topologies.topology import STUB, Topology
from headwater.networks.topologies.transit_stub import transit_stub


class OverlayLink(NamedTuple):
    """A link one way: latency in ms, the part of what is sent that gets lost, and a random number."""

    source: str
    target: str
    latency: int
    loss: float
    metric: int


@dataclass(frozen=True)
class Overlay:
    """The network below, the stub node that each overlay node sits on, and the links."""

    underlay: Topology
    placed: dict[str, str]
    links: tuple[OverlayLink, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.placed)

    def rows(self) -> list[tuple[str, str, int]]:
        """Rows (source, target, latency) of all links."""
        return [(link.source, link.target, link.latency) for link in self.links]


def overlay(nodes: int = 100, *, neighbours: int = 4, transit: int = 4, seed: int = 0) -> Overlay:
    """An overlay over a dense transit-stub network. Stub nodes carry as equal a number of nodes as can be.

    >>> network = overlay()
    >>> len(network.nodes), len(network.rows()), network.rows()[0]
    (100, 400, ('n0', 'n87', 72))
    """
    if not 1 <= neighbours < nodes:
        raise DataError("topology", f"{nodes} nodes with {neighbours} neighbours each", hint="1 to nodes - 1")
    random = Random(seed)
    underlay = transit_stub(transit, seed=seed)
    homes = random.sample(underlay.nodes[transit:], len(underlay.nodes) - transit)
    placed = {f"n{i}": homes[i % len(homes)] for i in range(nodes)}
    links = []
    for source, home in placed.items():
        latencies = underlay.latencies(home)
        others = [node for node in placed if node != source]
        for target in random.sample(others, neighbours):
            latency = latencies[placed[target]] or STUB  # two on one stub node: as near as in one stub
            loss = round(latency / 2000 * random.uniform(0.5, 1.5), 6)
            links.append(OverlayLink(source, target, latency, loss, random.randint(1, 100)))
    return Overlay(underlay, placed, tuple(links))
