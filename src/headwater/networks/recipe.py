"""What a network is made from: whoever has it can make the same network again, simulated, from nothing."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headwater.networks.metrics import Costs, Ends
from headwater.networks.node_settings import ORDERS, NodeSettings
from headwater.networks.runtime.directory import Addresses
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.topologies.topology import Topology
from headwater.networks.transports.simulator.links import LinkModel, LinkQuality
from headwater.networks.transports.simulator.simulated import SimulatedNodes
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.values.functions import Functions

LATENCY_WITHOUT_A_WAY = 1000
"""Milliseconds that a message takes between nodes that no links connect."""


@dataclass(frozen=True)
class NetworkRecipe:
    """Settings of nodes, a topology with the costs of its links, the relations that have links as rows, a seed."""

    settings: NodeSettings
    topology: Topology
    costs: Mapping[Ends, Costs]
    links: tuple[str, ...]
    seed: int = 0
    functions: Functions = field(default_factory=Functions, compare=False)
    own_functions: bool = False
    """Whether some of them are Python of this process."""

    def plan(self) -> NodePlan:
        """What every node runs."""
        return self.settings.plan(self.functions)

    def simulated(self, plan: NodePlan | None = None) -> SimulatedNodes:
        """Simulated nodes that hold nothing yet."""
        return SimulatedNodes(
            Simulator(
                plan or self.plan(),
                Addresses(self.topology.nodes, self.topology.neighbours()),
                self.settings.scheme_maker(),
                order=ORDERS[self.settings.order],
                links=link_model(self.topology),
                seed=self.seed,
                service=self.settings.service_time,
                made=self.settings.prepare,
            )
        )


def link_model(topology: Topology) -> LinkModel:
    """Messages take the fastest way, along links and against them; of nodes between which there is none, a second."""
    both_ways = replace(topology, directed=False)
    latencies: dict[int, array[float]] = {}
    """By sender: the latency to each node, by its number."""
    known: dict[float, LinkQuality] = {}
    without_a_way = LATENCY_WITHOUT_A_WAY * topology.parts_of_ms

    def link(sender: int, receiver: int) -> LinkQuality:
        found = latencies.get(sender)
        if found is None:
            ways = both_ways.latencies(topology.nodes[sender])
            found = latencies[sender] = array("d", (ways.get(node, without_a_way) for node in topology.nodes))
        latency = found[receiver]
        if latency not in known:
            known[latency] = LinkQuality(latency / 1000 / topology.parts_of_ms)
        return known[latency]

    return link
