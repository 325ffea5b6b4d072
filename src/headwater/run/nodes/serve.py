"""Being a node: come to the driver, do what it says, a command at a time, until it says to leave or is gone.

Commands are read ahead by the thread of the driver's stream, so that an interrupt, or the word to leave, is heard
while a command is carried out: whoever waits for another node then is told that it is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
from collections.abc import Sequence
from typing import Any

from headwater.errors import HeadwaterError
from headwater.run.nodes.channel import Listener, Stream, StreamEnded, ask
from headwater.run.nodes.hosting import Invitation
from headwater.run.nodes.meeting import AGAIN, FAREWELL, HELLO, LEAVE, WELCOME
from headwater.run.nodes.node import Node
from headwater.run.nodes.peers import Peers
from headwater.store.record import Record

BEAT = 1.0
"""Seconds between two signs of life."""
ASK_AGAIN = 5.0
"""Seconds after which the driver is asked again whether it is there, while its stream has not come."""


class StartedAgain(HeadwaterError):
    """This node's attempt is over; all nodes are to be started again."""


class Orders:
    """What the driver says, in order; and the way back to it."""

    def __init__(self, node: Node):
        self._node = node
        self._inbox: queue.SimpleQueue[Record | None] = queue.SimpleQueue()
        self._stream: Stream | None = None
        self._over = threading.Event()
        self._leave: Record | None = None
        self._current = self._interrupted = 0

    def arrived(self, says: Sequence[str], stream: Stream) -> None:
        """A stream has come: the driver's, or another node's."""
        if says[0] != "driver":
            self._node.peers.arrived(says, stream)
            return
        self._stream = stream
        self._inbox.put(Record(0, "arrived"))
        for record in stream:
            if record.kind == "interrupt":
                meta: Any = record.meta
                self._interrupted = meta["command"]
                if self._interrupted == self._current:
                    self._node.interrupt()
            elif record.kind == LEAVE:
                self._leave = record
                self._drop()
            else:
                self._inbox.put(record)
        self._drop()

    def _drop(self) -> None:
        """Whatever is being done now is of no use any more."""
        self._over.set()
        self._node.interrupt()
        self._node.peers.drop()
        self._inbox.put(None)

    def wait(self, timeout: float) -> bool:
        """Whether the driver's stream has come."""
        with contextlib.suppress(queue.Empty):
            self._inbox.get(timeout=timeout)
            return True
        return False

    def next(self) -> Record | None:
        """The next command, or the word to leave; `None` if the driver is gone."""
        record = self._inbox.get()
        if record is not None:
            meta: Any = record.meta
            self._current = meta["command"]
        self._node.calm()
        if self._over.is_set():
            return self._leave
        if self._interrupted == self._current:
            self._node.interrupt()
        return record

    def reply(self, record: Record) -> None:
        """Answer the driver; if it is gone, nobody wants to know."""
        assert self._stream is not None
        with contextlib.suppress(StreamEnded):
            self._stream.send(record)

    def beat(self) -> None:
        """Give signs of life until it is over."""
        while not self._over.wait(BEAT):
            self.reply(Record(0, "beat"))

    def end(self) -> None:
        """Give no more signs of life."""
        self._over.set()


def serve(number: int, invitation: Invitation, attempt: Sequence[int], address: str = "127.0.0.1") -> None:
    """Be node `number` until the driver says it is over, or is gone; raise if all are to be started again.

    A node that cannot be one says so to the driver, who need not find out by waiting.
    """
    hello = {"number": number, "attempt": list(attempt), "process": os.getpid()}
    try:
        _serve(number, invitation, hello, address)
    except StartedAgain:
        raise
    except Exception as error:
        body = json.dumps({**hello, "why": f"{type(error).__name__}: {error}"}).encode()
        with contextlib.suppress(StreamEnded):
            ask(invitation.driver, invitation.secret, FAREWELL, body)
        raise


def _serve(number: int, invitation: Invitation, hello: dict[str, Any], address: str) -> None:
    peers = Peers(number, invitation.nodes, invitation.secret, "/".join(map(str, hello["attempt"])))
    node = Node(number, peers, invitation.functions)
    orders = Orders(node)
    listener = Listener(address, invitation.secret, arrived=orders.arrived)
    try:
        if _come(invitation, {**hello, "address": listener.address}, orders):
            threading.Thread(target=orders.beat, daemon=True).start()
            _obey(node, orders)
    finally:
        orders.end()
        peers.close()
        listener.close()


def _come(invitation: Invitation, hello: dict[str, Any], orders: Orders) -> bool:
    """Say hello until the driver's stream is here; whether it is."""
    body = json.dumps(hello).encode()
    while True:
        try:
            answer = ask(invitation.driver, invitation.secret, HELLO, body).decode()
        except StreamEnded:
            return False  # the driver is gone
        if answer != WELCOME:
            _leave(answer)
            return False
        if orders.wait(ASK_AGAIN):
            return True


def _obey(node: Node, orders: Orders) -> None:
    while (record := orders.next()) is not None:
        meta: Any = record.meta
        if record.kind == LEAVE:
            _leave(meta["how"])
            return
        reply = node.obey(record)
        if not meta.get("silent"):
            orders.reply(Record(0, reply.kind, {**reply.meta, "command": meta["command"]}, reply.tables))


def _leave(how: str) -> None:
    if how == AGAIN:
        raise StartedAgain("node-lost", "another node is gone; all nodes are to be started again")
