"""The other nodes: what is sent to each, and what each has sent.

Nodes take the same steps in the same order, so the n-th message of a command that one node sends is the n-th that
the others expect. A node that fails says so in place of its next message, and all fail alike. Messages of a
command that ended early are thrown away.

Nodes that do not wait for each other post batches over the same streams (`asynchronous`).
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from headwater.errors import HeadwaterError
from headwater.nodes.flight_streams import Connection, FlightStream, StreamEnded
from headwater.nodes.messages.between import PeerMessage, Step, Unable
from headwater.nodes.messages.network import MessageBatch

Content = TypeVar("Content", bound=PeerMessage)


class PeerFailed(HeadwaterError):
    """Another node could not go on: it tells the driver why."""


class PeerLost(HeadwaterError):
    """Another node is gone."""


class Peers:
    """Streams to and from all other nodes of one attempt."""

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
        self._mail: dict[int, queue.SimpleQueue[Step | None]] = {}
        self._streams: dict[int, Connection] = {}
        self._dropped = False
        self._order = 0
        self._step = 0
        self.batched: Callable[[int, MessageBatch], None] = lambda sender, batch: None
        """Told what comes from nodes that do not wait for each other."""
        self.left: Callable[[], None] = lambda: None
        """Called when nothing more is to be expected of the others."""

    # ------------------------------------------------------------------ streams

    def box(self, sender: int) -> queue.SimpleQueue[Step | None]:
        """Where the messages of a node are put when they arrive; `None` there means that it is gone."""
        box = self._mail.setdefault(sender, queue.SimpleQueue())
        if self._dropped:
            box.put(None)
        return box

    def arrived(self, says: Sequence[str], stream: FlightStream) -> None:
        """Another node's stream has arrived: take in all it sends, unless it is of another attempt."""
        attempt, sender = says
        if attempt != self._attempt:
            return
        box = self.box(int(sender))
        for message in stream:
            if isinstance(message, MessageBatch):
                self.batched(int(sender), message)
            else:
                assert isinstance(message, Step)
                box.put(message)
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
        self.left()

    def close(self) -> None:
        for connection in self._streams.values():
            connection.close()
        self._streams = {}

    # ------------------------------------------------------------------ messages

    def post(self, other: int, batch: MessageBatch) -> None:
        """Send what need not be waited for."""
        try:
            self.bytes += self._streams[other].stream.send(batch)
            self.messages += 1
        except (OSError, KeyError) as error:
            raise PeerLost("node-lost", f"node {other} is gone") from error

    def begin(self, order: int) -> None:
        self._order, self._step = order, 0
        self.steps = []

    def swap(self, messages: Mapping[int, Content]) -> list[tuple[int, Content]]:
        """Send each other node its message, and wait for one from each, in the order of their numbers."""
        self._step += 1
        before = self.bytes
        for other in self.others:
            self._send(other, messages[other])
        self.steps.append(self.bytes - before)
        received: list[tuple[int, Content]] = []
        for other in self.others:
            content = self._expect(other)
            assert type(content) is type(messages[other]), "nodes out of step"
            received.append((other, content))
        return received

    def fail(self) -> None:
        """Tell all others that this node cannot go on with the order."""
        self._step += 1
        for other in self.others:
            self._send(other, Unable())

    def _send(self, other: int, content: PeerMessage) -> None:
        try:
            self.bytes += self._streams[other].stream.send(Step(self._order, self._step, content))
            self.messages += 1
        except (OSError, KeyError) as error:
            raise PeerLost("node-lost", f"node {other} is gone") from error

    def _expect(self, other: int) -> PeerMessage:
        box = self.box(other)
        while True:
            message = box.get()
            if message is None:
                box.put(None)
                raise PeerLost("node-lost", f"node {other} is gone")
            if message.order < self._order:
                continue
            if isinstance(message.content, Unable):
                raise PeerFailed("node-failed", f"node {other} could not go on")
            assert (message.order, message.step) == (self._order, self._step), "nodes out of step"
            return message.content
