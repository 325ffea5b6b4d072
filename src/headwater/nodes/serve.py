"""Being a node: come to the driver, do what it says, a command at a time, until it says to leave or is gone.

Commands are read ahead by the thread of the driver's stream, so that an interrupt, or the word to leave, is heard
while a command is carried out: whoever waits for another node then is told that it is gone.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Sequence

from headwater.errors import HeadwaterError
from headwater.kernel.compiled import compile_missing
from headwater.nodes.flight_streams import FlightStream, Listener, StreamEnded, ask
from headwater.nodes.hosting import Invitation
from headwater.nodes.messages.coming import Beat, Farewell, Hello, Interrupt, Leave, Order, Outcome, Welcome
from headwater.nodes.messages.message import Message
from headwater.nodes.node import Node
from headwater.nodes.peers import Peers

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
        self._inbox: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._stream: FlightStream | None = None
        self._came = threading.Event()
        self._over = threading.Event()
        self._leave: Leave | None = None
        self._current = self._interrupted = 0

    def arrived(self, says: Sequence[str], stream: FlightStream) -> None:
        """A stream has come: the driver's, or another node's."""
        if says[0] != "driver":
            self._node.peers.arrived(says, stream)
            return
        self._stream = stream
        self._came.set()
        for message in stream:
            if isinstance(message, Order):
                self._inbox.put(message)
            elif isinstance(message, Interrupt):
                self._interrupted = message.number
                if self._interrupted == self._current:
                    self._node.interrupt()
            elif isinstance(message, Leave):
                self._leave = message
                self._drop()
        self._drop()

    def _drop(self) -> None:
        """Whatever is being done now is of no use any more."""
        self._over.set()
        self._node.interrupt()
        self._node.peers.drop()
        self._inbox.put(None)

    def wait(self, timeout: float) -> bool:
        """Whether the driver's stream has come."""
        return self._came.wait(timeout)

    def next(self) -> Order | Leave | None:
        """The next order, or the word to leave; `None` if the driver is gone."""
        order = self._inbox.get()
        if order is not None:
            self._current = order.number
        self._node.calm()
        if self._over.is_set():
            return self._leave
        if self._interrupted == self._current:
            self._node.interrupt()
        return order

    def reply(self, message: Outcome | Beat) -> None:
        """Answer the driver; if it is gone, nobody wants to know."""
        assert self._stream is not None
        with contextlib.suppress(StreamEnded):
            self._stream.send(message)

    def beat(self) -> None:
        """Give signs of life until it is over."""
        while not self._over.wait(BEAT):
            self.reply(Beat())

    def end(self) -> None:
        """Give no more signs of life."""
        self._over.set()


def serve(number: int, invitation: Invitation, attempt: Sequence[int], address: str = "127.0.0.1") -> None:
    """Be node `number` until the driver says it is over, or is gone; raise if all are to be started again.

    A node that cannot be one says so to the driver, who need not find out by waiting.
    """
    try:
        _serve(number, invitation, tuple(attempt), address)
    except StartedAgain:
        raise
    except Exception as error:
        farewell = Farewell(tuple(attempt), number, f"{type(error).__name__}: {error}")
        with contextlib.suppress(StreamEnded):
            ask(invitation.driver, invitation.secret, farewell)
        raise


def _serve(number: int, invitation: Invitation, attempt: tuple[int, ...], address: str) -> None:
    compile_missing()  # before anybody counts its signs of life
    peers = Peers(number, invitation.nodes, invitation.secret, "/".join(map(str, attempt)))
    node = Node(number, peers, invitation.functions)
    orders = Orders(node)
    listener = Listener(address, invitation.secret, arrived=orders.arrived)
    try:
        if _come(invitation, Hello(attempt, number, os.getpid(), listener.address), orders):
            threading.Thread(target=orders.beat, daemon=True).start()
            _obey(node, orders)
    finally:
        orders.end()
        peers.close()
        listener.close()


def _come(invitation: Invitation, hello: Hello, orders: Orders) -> bool:
    """Say hello until the driver's stream is here; whether it is."""
    while True:
        try:
            answer = ask(invitation.driver, invitation.secret, hello)
        except StreamEnded:
            return False  # the driver is gone
        if not isinstance(answer, Welcome):
            _leave(answer)
            return False
        if orders.wait(ASK_AGAIN):
            return True


def _obey(node: Node, orders: Orders) -> None:
    while (order := orders.next()) is not None:
        if isinstance(order, Leave):
            _leave(order)
            return
        reply = node.obey(order)
        if order.answered:
            orders.reply(Outcome(order.number, reply))


def _leave(message: Message) -> None:
    if isinstance(message, Leave) and message.again:
        raise StartedAgain("node-lost", "another node is gone; all nodes are to be started again")
