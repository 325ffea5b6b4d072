"""Who is there: nodes come to the driver, and the driver opens a stream to each.

Nodes are started together, in *attempts*. An attempt is whole or nothing: it counts once all its nodes have come,
and is over as soon as one of them is gone, does not answer, or a later attempt has begun. All its nodes are then
told to leave, and those that come late are turned away, so that whoever started them sees that they ended before
their time and starts all of them again. An attempt of which some nodes had been sent home, and others not, would
never be whole and never be over.

A node says hello and holds nothing open; the driver connects. So the driver can leave at any time, whatever nodes do.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable

from headwater.errors import SparkError
from headwater.nodes.flight_streams import Connection, Listener, StreamEnded
from headwater.nodes.messages.coming import Farewell, Hello, Interrupt, Leave, Order, Outcome, Welcome
from headwater.nodes.messages.message import Message

log = logging.getLogger("headwater.nodes")

POLL = 0.1

Identity = tuple[int, ...]
"""Of an attempt; later ones are greater."""


class Member:
    """A node that has come: what is to be sent to it, and what it has sent."""

    def __init__(self, number: int, address: str, process: int):
        self.number = number
        self.address = address
        self.process = process
        self.outcomes: queue.SimpleQueue[Outcome | None] = queue.SimpleQueue()
        """What came of its orders, and `None` once it is gone."""
        self.heard = True
        """Whether it has given a sign of life since somebody last looked."""
        self.bytes_sent = 0
        self._outbox: queue.SimpleQueue[Message | bytes | None] = queue.SimpleQueue()
        self._connection: Connection | None = None
        self._cancelled = False
        self._threads: list[threading.Thread] = []

    def connect(self, secret: str, gone: Callable[[], None]) -> None:
        """Open the stream and take in what comes, in threads of their own, until it ends; then call `gone`."""

        def take_in() -> None:
            with contextlib.suppress(StreamEnded):
                self._connection = Connection(self.address, secret, ["driver"])
                if self._cancelled:
                    self._connection.cancel()
                sender = threading.Thread(target=self._send_out, args=(self._connection,), daemon=True)
                sender.start()
                for message in self._connection.stream:
                    self.heard = True
                    if isinstance(message, Outcome):
                        self.outcomes.put(message)
            self.outcomes.put(None)
            self._outbox.put(None)
            gone()
            if self._connection is not None:
                sender.join()
                self._connection.close()

        self._threads.append(threading.Thread(target=take_in, daemon=True))
        self._threads[0].start()

    def _send_out(self, connection: Connection) -> None:
        with contextlib.suppress(StreamEnded):
            while (message := self._outbox.get()) is not None:
                self.bytes_sent += connection.stream.send(message)
        connection.finish()

    def post(self, message: Order | Interrupt | Leave | bytes) -> None:
        """Have a message sent, encoded or not, after those before it. A node that does not read holds up nobody."""
        self._outbox.put(message)

    def leave(self, *, again: bool) -> None:
        """Tell it to leave; nothing is sent after that."""
        self.outcomes.put(None)
        self.post(Leave(again))
        self._outbox.put(None)

    def cancel(self) -> None:
        """End the stream now."""
        self._cancelled = True
        if self._connection is not None:
            self._connection.cancel()

    def join(self, patience: float) -> bool:
        """Wait until the stream has ended; whether it has."""
        self._threads[0].join(patience)
        return not self._threads[0].is_alive()


class Attempt:
    """Nodes that were started together; `over` says why they are no more."""

    def __init__(self, identity: Identity):
        self.identity = identity
        self.members: dict[int, Member] = {}
        self.over: str | None = None


class Meeting:
    """Where nodes come to. Only the latest attempt counts."""

    def __init__(self, nodes: int, host: str):
        self.nodes = nodes
        self.secret = secrets.token_hex(16)
        self._changed = threading.Condition()
        self._latest: Attempt | None = None
        self._closed = False
        self._listener = Listener(host, self.secret, told=self._told)
        self.address = self._listener.address

    def _told(self, message: Message) -> Message:
        if isinstance(message, Hello):
            return self._hello(message)
        assert isinstance(message, Farewell)
        with self._changed:
            attempt = self._latest_of(message.attempt)
        if attempt is not None:
            self.end(attempt, f"node {message.number} ended: {message.why}")
        return Leave(again=True)

    def _latest_of(self, identity: Identity) -> Attempt | None:
        """The latest attempt, if it is this one or this is a later one."""
        if self._latest is None or identity > self._latest.identity:
            self._latest = Attempt(identity)
        return self._latest if self._latest.identity == identity else None

    def _hello(self, hello: Hello) -> Welcome | Leave:
        """A node has come, or asks again because the driver's stream has not reached it."""
        number = hello.number
        with self._changed:
            if self._closed:
                return Leave(again=False)
            older, attempt = self._latest, self._latest_of(hello.attempt)
            if attempt is None or attempt.over is not None:
                return Leave(again=True)
            known = attempt.members.get(number)
            if known is not None:
                return Welcome() if known.address == hello.address else Leave(again=True)
            member = attempt.members[number] = Member(number, hello.address, hello.process)
        if older is not None and older is not attempt:
            self.end(older, "nodes were started again")
        log.debug("node %d has come, of attempt %s", number, hello.attempt)
        member.connect(self.secret, lambda: self.end(attempt, f"node {number} is gone"))
        with self._changed:
            self._changed.notify_all()
        return Welcome()

    def wait(
        self,
        timeout: float,
        hopeless: Callable[[], str | None] = lambda: None,
        check: Callable[[], None] = lambda: None,
    ) -> Attempt:
        """Wait until all nodes of an attempt are there. `hopeless` says why they will not come; `check` may raise."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while (attempt := self._whole()) is None:
                reason = hopeless()
                if reason is None and time.monotonic() < deadline:
                    check()
                    self._changed.wait(POLL)
                    continue
                there = len(self._latest.members) if self._latest is not None and not self._latest.over else 0
                raise SparkError(
                    "no-nodes",
                    reason or f"{there} of {self.nodes} nodes came up within {timeout:.0f} s",
                    hint="a barrier stage needs as many free cores as there are nodes, and executors need a Python"
                    " with Headwater in it (PYSPARK_PYTHON)",
                )
        return attempt

    def _whole(self) -> Attempt | None:
        latest = self._latest
        if latest is None or latest.over is not None or len(latest.members) < self.nodes:
            return None
        return latest

    def end(self, attempt: Attempt, why: str) -> None:
        """The attempt is over: all its nodes are to leave, and to be started again. Only the first reason counts."""
        with self._changed:
            if attempt.over is not None:
                return
            attempt.over = why
            members = list(attempt.members.values())
            self._changed.notify_all()
        for member in members:
            member.leave(again=True)

    @property
    def processes(self) -> list[int]:
        """The process ids of the latest nodes, each on its own machine."""
        with self._changed:
            members = {} if self._latest is None else self._latest.members
            return [member.process for _, member in sorted(members.items())]

    def dismiss(self) -> None:
        """All nodes are to go home, those that have not come yet, too."""
        with self._changed:
            self._closed = True
            latest = self._latest
            if latest is None or latest.over is not None:
                return
            latest.over = "the nodes were sent home"
        for member in latest.members.values():
            member.leave(again=False)

    def close(self, patience: float = 5.0) -> None:
        """Wait until nodes are gone, and stop listening; a stream whose other end says nothing is cut."""
        self.dismiss()
        members = [] if self._latest is None else list(self._latest.members.values())
        deadline = time.monotonic() + patience
        for member in members:
            if not member.join(max(0.0, deadline - time.monotonic())):
                member.cancel()
        for member in members:
            member.join(patience)
        self._listener.close()
