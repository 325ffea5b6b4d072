"""A hosted node's part of a network of views: the same node as in the simulator, on streams of Arrow Flight.

A *network* is a program, the rows that follow at this node, and a loop that handles what comes (`node_loop`). A new
definition begins another; the present one is put aside until the version stands, so that going back costs nothing.
What comes for a network that is not the present one is of no use any more: batches carry the network's epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.networks.annotated.named import SCHEMES
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.runtime.directory import FIRST, Hashed
from headwater.networks.runtime.message_codec import decode_message, encode_message
from headwater.networks.runtime.messages import Message
from headwater.networks.runtime.node import NetworkNode
from headwater.networks.runtime.row_table import Row
from headwater.networks.runtime.view_changes import Changed, ViewChanges
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import plan_nodes
from headwater.networks.transports.node_loop import NodeLoop, too_long
from headwater.nodes.messages import network as says
from headwater.nodes.messages.message import PackedRows
from headwater.nodes.messages.outcomes import Done
from headwater.nodes.messages.reading import Export
from headwater.nodes.messages.versions import ChangeCount, ChangedRows, Shipped, VersionReport
from headwater.nodes.peers import PeerLost, Peers
from headwater.nodes.row_tables import pack, unpack
from headwater.plan.steps import Ints
from headwater.rules.checked import UNIT, Checked, RelationInfo
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.statistics import VersionStatistics

OF_STRATEGY = {
    "absorption": "absorption-bounded",
    "absorption-eager": "absorption-eager",
    "relative": "relative",
}
"""What rows carry on nodes that do not wait for each other: the scheme of each strategy."""
BYTES_OF_A_ROW = 700
"""About what a row takes on a node, with what it carries and where it is indexed."""


@dataclass
class HostedNetwork:
    """A program, its node, and the thread that runs it."""

    epoch: int
    checked: Checked
    node: NetworkNode
    loop: NodeLoop
    changes: ViewChanges

    def rows(self, relation: str) -> list[Row]:
        """The rows of a relation that live here."""
        return self.loop.do(lambda node: list(node.rows(relation)))


class NetworkPart:
    """What a hosted node has of networks, and a method for each command about them."""

    def __init__(self, number: int, peers: Peers, functions: Functions, checked: Callable[[Any], Checked]):
        self.number = number
        self.peers = peers
        self.functions = functions
        self.present: HostedNetwork | None = None
        self._aside: HostedNetwork | None = None
        self._checked = checked
        self._interrupted = False
        self._inferences = 0
        """Those made when the version began."""
        self.codec = Codec()
        peers.batched = self._batched
        peers.left = self._left

    # ------------------------------------------------------------------ networks

    def begin(self, command: says.BeginNetwork) -> Done:
        """Be a node of another network."""
        if not command.aside:
            self.clear()
        elif self._aside is None:
            self._aside, self.present = self.present, None
        elif self.present is not None:  # another one of the same version
            self.present.loop.end()
            self.present = None
        checked = self._checked(command.program)
        plan = plan_nodes(compile_program(checked), self.functions)
        node = NetworkNode(
            self.number, plan, Hashed(self.peers.nodes), SCHEMES[OF_STRATEGY[command.strategy]]()
        )
        node.pause = lambda: self._pause(node, command.most_derivations)
        views = [name for name, info in checked.relations.items() if not info.base and not info.internal]
        changes = ViewChanges(node, views)
        loop = NodeLoop(node, lambda to, messages: self._carry(command.epoch, to, messages))
        self.present = HostedNetwork(command.epoch, checked, node, loop, changes)
        return Done()

    def end_version(self, command: says.EndVersion) -> Done:
        """Forget what was put aside, or go back to it."""
        if command.back and self._aside is not None:
            if self.present is not None:
                self.present.loop.end()
            self.present, self._aside = self._aside, None
        self._forget()
        return Done()

    def clear(self) -> None:
        """Forget everything."""
        self._forget()
        if self.present is not None:
            self.present.loop.end()
            self.present = None
        self._interrupted = False

    def _forget(self) -> None:
        if self._aside is not None:
            self._aside.loop.end()
            self._aside = None

    @property
    def network(self) -> HostedNetwork:
        """The present network."""
        assert self.present is not None, "no network has begun"
        return self.present

    # ------------------------------------------------------------------ messages

    def _carry(self, epoch: int, receiver: int, messages: Sequence[Message]) -> None:
        encoded = pa.table({"m": pa.array([encode_message(message) for message in messages], pa.binary())})
        self.peers.post(receiver, says.MessageBatch(epoch, encoded))

    def _batched(self, sender: int, batch: says.MessageBatch) -> None:
        for network in (self.present, self._aside):
            if network is not None and network.epoch == batch.epoch:
                network.loop.deliver(
                    sender, lambda: map(decode_message, batch.messages.column("m").to_pylist())
                )

    def _left(self) -> None:
        """The other nodes are gone: whoever waits for this one is told."""
        gone = PeerLost("node-lost", "the other nodes are gone")
        for network in (self.present, self._aside):
            if network is not None:
                network.loop.end(gone)

    def interrupt(self) -> None:
        """Break off what is being done."""
        self._interrupted = True

    def calm(self) -> None:
        """Interrupts so far were for something else."""
        self._interrupted = False

    def _pause(self, node: NetworkNode, most: int) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        if node.inferences - self._inferences > most:
            raise too_long(most)

    # ------------------------------------------------------------------ versions

    def change(self, command: says.ChangeNetwork) -> Done:
        """Base rows go and come; what follows is under way when this returns."""
        network = self.network
        deletes = {name: self._values(network, name, table) for name, table in command.deletes.items()}
        inserts = {name: self._values(network, name, table) for name, table in command.inserts.items()}

        def change(node: NetworkNode) -> None:
            self._inferences = node.inferences
            if self.number == FIRST and UNIT in node.plan.program.facts:
                node.insert(UNIT, ())  # not before all nodes have begun, or they would not hear of it
            for name, rows in deletes.items():
                for row in rows:
                    node.delete(name, row)
            for name, rows in inserts.items():
                for row in rows:
                    node.insert(name, row)

        network.loop.do(change)
        return Done()

    def count_messages(self, command: says.CountMessages) -> says.MessageCounts:
        """What was sent and received, once nothing is left to do here."""
        found = self.network.loop.counters()
        return says.MessageCounts(found.sent, found.received, found.timers, int(found.wants))

    def quieten(self, command: says.Quieten) -> Done:
        """No node has anything to do: a stage begins that one of them wants."""
        self.network.loop.do(lambda node: node.quiet(QuietStage(command.stage)))
        return Done()

    def report(self, command: says.ReportNetwork) -> VersionReport:
        """What has happened to views since this was last asked."""
        network = self.network
        changes = dict(network.loop.do(lambda node: network.changes.take()))
        infos = dict(network.checked.relations)
        if command.whole and self._aside is not None:
            changes = self._against(self._aside, network)
            infos = {**self._aside.checked.relations, **infos}
        told = {}
        for name, (came, went) in changes.items():
            rows = ChangedRows(self._packed(infos[name], came), self._packed(infos[name], went))
            told[name] = ChangeCount(len(came), len(went), rows)
        shipped = Shipped(self.peers.messages, self.peers.bytes, network.node.sent)
        return VersionReport(told, {}, VersionStatistics(), shipped, self.nbytes, ())

    def _against(self, before: HostedNetwork, now: HostedNetwork) -> dict[str, Changed]:
        """How the views of one network differ from those of another."""
        found: dict[str, Changed] = {}
        views = {
            name: info
            for network in (before, now)
            for name, info in network.checked.relations.items()
            if not info.internal and not info.base
        }
        for name in views:
            old = set(_view_rows(before, name))
            new = set(_view_rows(now, name))
            if old != new:
                found[name] = [row for row in new if row not in old], [row for row in old if row not in new]
        return found

    @property
    def nbytes(self) -> int:
        """About what rows take here."""
        if self.present is None:
            return 0
        return BYTES_OF_A_ROW * sum(len(table.rows) for table in self.present.node.tables)

    # ------------------------------------------------------------------ rows

    def fetch(self, relation: str, columns: Sequence[int], values: PackedRows | None) -> PackedRows:
        """The rows of a relation that live here: all, or those with given values in some columns."""
        network = self.network
        info = network.checked.relations[relation]
        rows = network.rows(relation)
        if values is not None:
            types = [info.layout.code_types[code] for code in info.layout.codes(columns)]
            wanted = set(self.codec.decode_rows(unpack(self.codec, values, types), types))
            rows = [row for row in rows if tuple(row[column] for column in columns) in wanted]
        return self._packed(info, rows)

    def export(self, command: Export) -> str:
        """The rows of a relation that live here, as a Parquet file."""
        import pyarrow.parquet as parquet

        info = self.network.checked.relations[command.relation]
        codes = self.codes(info, self.network.rows(command.relation))
        file = Path(command.folder) / f"part-{self.number:05d}.parquet"
        parquet.write_table(info.layout.table(self.codec, codes, labels=command.labels), file)
        return str(file)

    def _values(self, network: HostedNetwork, name: str, packed: PackedRows) -> list[Row]:
        layout = network.checked.relations[name].layout
        return layout.decode(self.codec, unpack(self.codec, packed, layout.code_types))

    def codes(self, info: RelationInfo, rows: Sequence[Row]) -> Ints:
        """Rows as codes of this node's codec."""
        if not rows:
            return np.empty((0, info.layout.code_arity), np.int64)
        return info.layout.encode(self.codec, list(rows), info.name, asked=True)

    def _packed(self, info: RelationInfo, rows: Sequence[Row]) -> PackedRows:
        return pack(self.codec, self.codes(info, rows), info.layout.code_types)


def _view_rows(network: HostedNetwork, name: str) -> list[Row]:
    info = network.checked.relations.get(name)
    return [] if info is None or info.base else network.rows(name)
