"""The driver's side of the streams to all nodes: commands out, replies in.

A command goes to all nodes of the attempt that met; the replies are waited for together, and Ctrl-C meanwhile is
passed on to the nodes. A node whose process is gone is noticed at once, because its stream ends. One that is there
but does not do anything (a stopped process, a machine that hangs) is noticed because it gives no sign of life: nodes
give one every second, from a thread of their own, whatever they compute.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from headwater.errors import HeadwaterError
from headwater.run.nodes.meeting import POLL, Attempt, Meeting, Member
from headwater.store.record import Record

log = logging.getLogger("headwater.nodes")

PATIENCE = 60.0
"""Seconds without a sign of life after which a node counts as lost, while somebody waits for it."""


class NodeLost(HeadwaterError):
    """A node is gone; what it held has to be put together again."""


class Coordinator:
    """Commands to the nodes that met."""

    def __init__(self, nodes: int, host: str = "127.0.0.1", patience: float = PATIENCE):
        self.nodes = nodes
        self.patience = patience
        self.meeting = Meeting(nodes, host)
        self._attempt: Attempt | None = None
        self._silent: dict[int, int] = {}
        self._command = 0

    def gather(
        self, timeout: float, hopeless: Callable[[], str | None], check: Callable[[], None] = lambda: None
    ) -> None:
        """Wait until all nodes of an attempt are there."""
        self._attempt = self.meeting.wait(timeout, hopeless, check)
        log.debug("all nodes have come, of attempt %s", self._attempt.identity)

    def introduce(self) -> None:
        """Have the nodes connect to each other."""
        attempt = self._attempt
        assert attempt is not None
        addresses = {str(number): member.address for number, member in attempt.members.items()}
        for reply in self.command("connect", {"addresses": addresses}):
            if reply.kind == "error":
                error: Any = reply.meta["error"]
                self.give_up(f"nodes cannot reach each other: {error['message']}")
                raise NodeLost("node-lost", str(error["message"]))
        log.debug("all nodes have met, of attempt %s", attempt.identity)

    def give_up(self, why: str) -> None:
        """Go on with none of the nodes that met: others are to be started."""
        if self._attempt is not None:
            self.meeting.end(self._attempt, why)

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
        members = self._members()
        head = {**meta, "command": self._command}
        if silent:
            head["silent"] = True
        for number, member in enumerate(members):
            member.post(Record(0, kind, head, tables[number] if tables is not None else {}))
        if silent:
            return []
        self._silent = dict.fromkeys(range(self.nodes), 0)
        told = False
        replies: list[Record] = []
        while len(replies) < self.nodes:
            reply = self._reply(members[len(replies)])
            if reply is not None:
                replies.append(reply)
                continue
            self._look_for_life(members)
            if not told and interrupted():
                told = True
                for member in members:
                    member.post(Record(0, "interrupt", {"command": self._command}))
        return replies

    def _members(self) -> list[Member]:
        attempt = self._attempt
        if attempt is None or attempt.over is not None:
            raise NodeLost("node-lost", "nodes have not met" if attempt is None else str(attempt.over))
        return [attempt.members[number] for number in range(self.nodes)]

    def _reply(self, member: Member) -> Record | None:
        """What the node says to the present command; `None` if it has not said it yet."""
        while True:
            try:
                reply = member.replies.get(timeout=POLL)
            except queue.Empty:
                return None
            if reply is None:
                assert self._attempt is not None
                raise NodeLost("node-lost", self._attempt.over or f"node {member.number} is gone")
            meta: Any = reply.meta
            if meta["command"] == self._command:
                return reply

    def _look_for_life(self, members: Sequence[Member]) -> None:
        """Counts looks, not seconds: while this process is stopped, nobody is to blame."""
        for member in members:
            self._silent[member.number] = 0 if member.heard else self._silent[member.number] + 1
            member.heard = False
            if self._silent[member.number] * POLL > self.patience:
                why = f"node {member.number} has given no sign of life for {self.patience:.0f} s"
                self.give_up(why)
                member.cancel()
                raise NodeLost("node-stuck", why)

    @property
    def bytes_sent(self) -> int:
        """Bytes of commands to the nodes that met."""
        return 0 if self._attempt is None else sum(m.bytes_sent for m in self._attempt.members.values())
