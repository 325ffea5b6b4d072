"""Nodes of a network in processes, as a carrier: children of this process, or tasks of a Spark session.

Where there are more nodes than processes, a process has several. Time is real.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from headwater.networks.node_settings import NodeSettings
from headwater.networks.runtime.row_table import Row
from headwater.networks.runtime.watching import WatchedRow
from headwater.networks.topologies.topology import Topology
from headwater.networks.transports.carrier import CarriedMessage, Derivation, TableRow
from headwater.networks.transports.tcp.hosting import Children, ProcessStarter
from headwater.networks.transports.tcp.network import TcpNetwork
from headwater.values import arguments

FEWEST_OF_MANY = 4
"""So many processes at least, where there are as many nodes."""


class ProcessNodes:
    """Implements `carrier.Carrier` over processes."""

    def __init__(self, network: TcpNetwork):
        self.network = network

    @property
    def now(self) -> float:
        return self.network.now

    @property
    def last_message(self) -> float:
        return self.network.last_message

    def check(self, changes: Sequence[tuple[bool, str, Row]]) -> None:
        self.network.check(changes)

    def change(self, changes: Sequence[tuple[bool, str, Row]]) -> None:
        self.network.change(changes)

    def given(self) -> Iterable[tuple[str, Row]]:
        return self.network.given()

    def run(self, until: float | None) -> bool:
        return self.network.run(until)

    def traffic(self) -> tuple[int, int]:
        return self.network.traffic()

    def messages(self) -> Iterable[CarriedMessage]:
        return self.network.messages()

    def load(self) -> Iterable[tuple[float, int]]:
        return ((message.time, message.bytes) for message in self.messages())

    def rows(self, relation: str, node: int | None = None) -> set[Row]:
        return self.network.rows_now(relation, node)

    def watched(self) -> Sequence[WatchedRow]:
        return self.network.watched()

    def derivations(self, node: int, derived: TableRow) -> list[Derivation]:
        return self.network.derivations(node, derived)

    def close(self) -> None:
        self.network.close()


def network_processes(
    settings: NodeSettings, topology: Topology, transport: str, processes: int | None, spark: Any
) -> ProcessNodes:
    """Start processes for the nodes of a network: so many, or as many as there are nodes, up to some a core."""
    names = topology.nodes
    wanted = min(len(names), max(FEWEST_OF_MANY, 2 * (os.cpu_count() or 1)))
    if processes is not None:
        wanted = min(len(names), arguments.whole_number("processes", processes, least=1))
    starter: ProcessStarter = Children()
    if transport == "spark":
        from headwater.networks.transports.spark_tasks import SparkTasks

        starter = SparkTasks.on(spark, wanted)
        wanted = min(wanted, starter.slots())
    network = TcpNetwork(
        settings,
        names=names,
        links=topology.neighbours(),
        processes=wanted,
        starter=starter,
        recording=True,
    )
    return ProcessNodes(network)
