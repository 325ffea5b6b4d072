"""The other nodes: what is sent to each, and what each has sent.

Nodes take the same steps in the same order, so the n-th message of a command that one node sends is the n-th that
the others expect. A node that fails says so in place of its next message, and all fail alike. Messages of a
command that ended early are thrown away.
"""

from __future__ import annotations

import queue
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headwater.errors import HeadwaterError
from headwater.run.nodes.channel import Connection, Stream, StreamEnded
from headwater.store.record import Record

FAILED = "failed"


class PeerFailed(HeadwaterError):
    """Another node could not go on: it tells the driver why."""


class PeerLost(HeadwaterError):
    """Another node is gone."""


class Peers:
    """Streams to and from all other nodes of one run."""

    def __init__(self, number: int, nodes: int, secret: str, attempt: str):
        self.number = number
        self.nodes = nodes
        self.others = [other for other in range(nodes) if other != number]
        self.messages = 0
        self.bytes = 0
        self.steps: list[int] = []
        """The bytes that this node has sent in each exchange of the present command."""
        self._secret = secret
        self._attempt = attempt
        self._mail: dict[int, queue.SimpleQueue[Record | None]] = {}
        self._streams: dict[int, Connection] = {}
        self._dropped = False
        self._command = 0
        self._step = 0

    # ------------------------------------------------------------------ streams

    def box(self, sender: int) -> queue.SimpleQueue[Record | None]:
        """Where the messages of a node are put when they arrive; `None` there means that it is gone."""
        box = self._mail.setdefault(sender, queue.SimpleQueue())
        if self._dropped:
            box.put(None)
        return box

    def arrived(self, says: Sequence[str], stream: Stream) -> None:
        """Another node's stream has arrived: take in all it sends, unless it is of another attempt."""
        attempt, sender = says
        if attempt != self._attempt:
            return
        box = self.box(int(sender))
        for record in stream:
            box.put(record)
        box.put(None)

    def connect(self, addresses: Mapping[int, str]) -> None:
        """Connect to the other nodes."""
        for other in self.others:
            try:
                connection = Connection(addresses[other], self._secret, [self._attempt, str(self.number)])
            except StreamEnded as error:
                raise PeerLost("node-lost", f"node {other} is gone: {error}") from error
            self._streams[other] = connection
            if self._dropped:
                connection.cancel()

    def drop(self) -> None:
        """Expect nothing more of the others: whoever waits for one, or sends to one, is told that it is gone."""
        self._dropped = True
        for box in list(self._mail.values()):
            box.put(None)
        for connection in list(self._streams.values()):
            connection.cancel()

    def close(self) -> None:
        """End all streams."""
        for connection in self._streams.values():
            connection.close()
        self._streams = {}

    # ------------------------------------------------------------------ messages

    def begin(self, command: int) -> None:
        """A command begins."""
        self._command, self._step = command, 0
        self.steps = []

    def swap(
        self, meta: Mapping[str, Any], tables: Mapping[int, Mapping[str, pa.Table]]
    ) -> list[tuple[int, Record]]:
        """Send each other node a message, and wait for one from each, in the order of their numbers."""
        self._step += 1
        head = {"command": self._command, "step": self._step}
        before = self.bytes
        for other in self.others:
            own = tables.get(other, {})
            self._send(other, Record(0, "swap", {**head, **meta, "parts": list(own)}, own))
        self.steps.append(self.bytes - before)
        return [(other, self._expect(other)) for other in self.others]

    def fail(self) -> None:
        """Tell all others that this node cannot go on with the command."""
        self._step += 1
        for other in self.others:
            self._send(other, Record(0, FAILED, {"command": self._command, "step": self._step}))

    def _send(self, other: int, record: Record) -> None:
        try:
            self.bytes += self._streams[other].stream.send(record)
            self.messages += 1
        except OSError as error:
            raise PeerLost("node-lost", f"node {other} is gone") from error

    def _expect(self, other: int) -> Record:
        box = self.box(other)
        while True:
            record = box.get()
            if record is None:
                box.put(None)
                raise PeerLost("node-lost", f"node {other} is gone")
            meta: Any = record.meta
            if meta["command"] < self._command:
                continue
            if record.kind == FAILED:
                raise PeerFailed("node-failed", f"node {other} could not go on")
            assert (meta["command"], meta["step"]) == (self._command, self._step), "nodes out of step"
            return record
