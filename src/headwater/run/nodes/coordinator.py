"""The driver's side of the streams to all nodes: who is there, commands out, replies in.

Nodes connect to the driver and say which one they are and of which attempt. Nodes of an older attempt are turned
away, so that a process that was given up cannot come back in between. A command goes to all nodes; the replies
are waited for together, and Ctrl-C meanwhile is passed on to the nodes.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from headwater.errors import HeadwaterError, SparkError
from headwater.run.nodes.channel import Listener, Stream, signal
from headwater.store.record import Record

POLL = 0.1


class NodeLost(HeadwaterError):
    """A node is gone; what it held has to be put together again."""


@dataclass
class Member:
    """A node that has said hello."""

    number: int
    attempt: tuple[int, ...]
    address: str
    process: int
    stream: Stream
    replies: queue.SimpleQueue[Record | None]
    alive: bool = True


class Coordinator:
    """All nodes of a run, as the driver sees them."""

    def __init__(self, nodes: int, host: str = "127.0.0.1"):
        self.nodes = nodes
        self.secret = secrets.token_hex(16)
        self.epoch = 0
        self.bytes_sent = 0
        self._members: dict[int, Member] = {}
        self._meeting: dict[int, Member] = {}
        """Those who met: commands go to them and to no others. A node that came later holds nothing yet."""
        self._changed = threading.Condition()
        self._command = 0
        self._listener = Listener(host, self.secret, self._arrived)
        self.address = self._listener.address

    # ------------------------------------------------------------------ who is there

    def _arrived(self, says: list[str], stream: Stream) -> None:
        """A node's stream: serves it until it ends. (Runs in a thread of its own.)"""
        hello = stream.receive()
        if hello is None or hello.kind != "hello":
            return
        meta: Any = hello.meta
        number, attempt = int(meta["number"]), tuple(meta["attempt"])
        member = Member(number, attempt, meta["address"], int(meta["process"]), stream, queue.SimpleQueue())
        with self._changed:
            known = self._members.get(number)
            if known is not None and known.attempt > attempt:
                return
            if known is not None:
                known.alive = False
                known.replies.put(None)
            self._members[number] = member
            self._changed.notify_all()
        if known is not None:  # of an older attempt: if it is still there, it is to go
            with contextlib.suppress(OSError):
                known.stream.send(Record(0, "exit"))
        for record in stream:
            member.replies.put(record)
        with self._changed:
            member.alive = False
            member.replies.put(None)
            self._changed.notify_all()

    def _ready(self) -> bool:
        members = self._members.values()
        jobs = {member.attempt[0] for member in members}
        return len(members) == self.nodes and len(jobs) == 1 and all(member.alive for member in members)

    def gather(self, timeout: float, alive: Callable[[], str | None] = lambda: None) -> None:
        """Wait until all nodes of one attempt are there, and make them meet; `alive` says why there is no hope."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while not self._ready():
                reason = alive()
                if reason is None and time.monotonic() < deadline:
                    self._changed.wait(POLL)
                    continue
                there = sum(member.alive for member in self._members.values())
                raise SparkError(
                    "no-nodes",
                    reason or f"{there} of {self.nodes} nodes came up within {timeout:.0f} s",
                    hint="a barrier stage needs as many free cores as there are nodes, and executors need a Python"
                    " with Headwater in it (PYSPARK_PYTHON)",
                )
            self.epoch += 1
            self._meeting = dict(self._members)
            addresses = {str(number): member.address for number, member in self._members.items()}
        self.command("connect", {"epoch": self.epoch, "addresses": addresses})

    @property
    def processes(self) -> list[int]:
        """The process ids of the nodes, each on its own machine."""
        with self._changed:
            return [member.process for _, member in sorted(self._members.items())]

    # ------------------------------------------------------------------ commands

    def command(
        self,
        kind: str,
        meta: Mapping[str, Any],
        tables: Sequence[Mapping[str, pa.Table]] | None = None,
        *,
        silent: bool = False,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> list[Record]:
        """Have all nodes do something, and return their replies; with `silent`, do not wait for any."""
        self._command += 1
        head = {**meta, "command": self._command}
        if silent:
            head["silent"] = True
        for number in range(self.nodes):
            own = tables[number] if tables is not None else {}
            self._send(number, Record(0, kind, head, own))
        if silent:
            return []
        told = False
        replies: list[Record] = []
        for number in range(self.nodes):
            while True:
                try:
                    reply = self._reply(number)
                    break
                except queue.Empty:
                    if not told and interrupted():
                        told = True
                        self._interrupt()
            replies.append(reply)
        return replies

    def _send(self, number: int, record: Record) -> None:
        member = self._meeting[number]
        if not member.alive:
            raise NodeLost("node-lost", f"node {number} is gone")
        try:
            self.bytes_sent += member.stream.send(record)
        except OSError as error:
            raise NodeLost("node-lost", f"node {number} is gone") from error

    def _reply(self, number: int) -> Record:
        member = self._meeting[number]
        while True:
            reply = member.replies.get(timeout=POLL)
            if reply is None:
                member.replies.put(None)
                raise NodeLost("node-lost", f"node {number} is gone")
            meta: Any = reply.meta
            if meta["command"] == self._command:
                return reply

    def _interrupt(self) -> None:
        for member in self._meeting.values():
            with contextlib.suppress(pa.ArrowException, flight.FlightError, OSError):
                signal(member.address, self.secret, "interrupt")

    def dismiss(self, *, newcomers: bool = True) -> None:
        """Send nodes home; they do not count as being there any more. Those who came since the last meeting, of an
        attempt that has just begun, may stay."""
        with self._changed:
            members = list((self._members if newcomers else self._meeting).values())
            members = [member for member in members if member.alive]
            for member in members:
                member.alive = False
        for member in members:
            with contextlib.suppress(OSError):
                member.stream.send(Record(0, "exit"))

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()
