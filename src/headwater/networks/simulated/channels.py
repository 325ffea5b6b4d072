"""Nodes that send each other messages: reliable, first in first out on every channel, in one process.

What holds: messages from one node to another arrive in the order in which they were sent. Nothing holds between
channels: with a random source, any channel may be next, so that the same changes can be run in many orders.
Without one, messages are delivered in the order of sending, which is one of them. Messages and bytes are counted
when they go to another node; what a node sends to itself waits in line as well, and costs nothing.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

Row = tuple[Any, ...]
"""A tuple of ints, strings and tuples of such."""


class RowMessage(NamedTuple):
    """What is said of a row: `kind` is one of an algorithm's own; `body` is an annotation's wire form."""

    kind: str
    row: Row
    body: bytes = b""


Handle = Callable[[int, int, RowMessage], None]
"""Sender, receiver and message: what a receiver does."""


class Channels:
    """All channels between nodes numbered from 0."""

    def __init__(self, nodes: int, choices: random.Random | None = None):
        self.nodes = nodes
        self.choices = choices
        self.messages = 0
        self.bytes = 0
        self.sent_by = [0] * nodes
        self.log: list[tuple[int, int, RowMessage]] | None = None
        """Where messages between nodes are noted down, if anywhere."""
        self._line: deque[tuple[int, int, RowMessage]] = deque()
        self._channels: dict[tuple[int, int], deque[RowMessage]] = {}
        self._busy: list[tuple[int, int]] = []
        self._sizes: dict[Row, int] = {}

    def send(self, sender: int, receiver: int, message: RowMessage) -> None:
        """Put a message on its way."""
        if sender != receiver:
            size = 1 + self.size(message.row) + len(message.body)
            self.messages += 1
            self.bytes += size
            self.sent_by[sender] += size
            if self.log is not None:
                self.log.append((sender, receiver, message))
        if self.choices is None:
            self._line.append((sender, receiver, message))
            return
        channel = self._channels.setdefault((sender, receiver), deque())
        if not channel:
            self._busy.append((sender, receiver))
        channel.append(message)

    def broadcast(self, sender: int, message: RowMessage) -> None:
        """To all other nodes."""
        for receiver in range(self.nodes):
            if receiver != sender:
                self.send(sender, receiver, message)

    def deliver(self, handle: Handle, most: int | None = None) -> int:
        """Deliver messages, and those that they give rise to, until none is left (or so many); return how many."""
        count = 0
        if self.choices is None:
            line = self._line
            while line and (most is None or count < most):
                count += 1
                handle(*line.popleft())
            return count
        while self._busy and (most is None or count < most):
            count += 1
            place = self.choices.randrange(len(self._busy))
            sender, receiver = self._busy[place]
            channel = self._channels[sender, receiver]
            message = channel.popleft()
            if not channel:
                self._busy[place] = self._busy[-1]
                self._busy.pop()
            handle(sender, receiver, message)
        return count

    def waiting(self) -> int:
        """How many messages are under way, those of nodes to themselves included."""
        return len(self._line) + sum(len(self._channels[busy]) for busy in self._busy)

    def size(self, row: Row) -> int:
        """How many bytes a row takes on the wire."""
        found = self._sizes.get(row)
        if found is None:
            found = self._sizes[row] = sum(map(_width, row))
        return found


def _width(value: object) -> int:
    """Ints as varints, strings and tuples with their length before them."""
    if isinstance(value, int):
        return max(1, (value.bit_length() + 7) // 7)
    if isinstance(value, str):
        return 1 + len(value.encode())
    if isinstance(value, tuple):
        return 1 + sum(map(_width, value))
    return 8
