"""The driver's side of the streams to all nodes: commands out, replies in.

A command goes to all nodes of the attempt that met; the replies are waited for together, and Ctrl-C meanwhile is
passed on to the nodes. A node whose process is gone is noticed at once, because its stream ends. One that is there
but does not do anything (a stopped process, a machine that hangs) is noticed because it gives no sign of life: nodes
give one every second, from a thread of their own, whatever they compute.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Sequence
from typing import TypeVar

from headwater.errors import HeadwaterError
from headwater.nodes.encoding import encode
from headwater.nodes.meeting import POLL, Attempt, Meeting, Member
from headwater.nodes.messages.between import Connect
from headwater.nodes.messages.coming import Interrupt, Order
from headwater.nodes.messages.message import Command, Reply
from headwater.nodes.messages.outcomes import Failure

log = logging.getLogger("headwater.nodes")

PATIENCE = 60.0
"""Seconds without a sign of life after which a node counts as lost, while somebody waits for it."""

Answer = TypeVar("Answer", bound=Reply)


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
        self._number = 0

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
        connect = Connect({number: member.address for number, member in attempt.members.items()})
        for reply in self.command([connect] * self.nodes):
            if isinstance(reply, Failure):
                self.give_up(f"nodes cannot reach each other: {reply.fault.message}")
                raise NodeLost("node-lost", reply.fault.message)
        log.debug("all nodes have met, of attempt %s", attempt.identity)

    def give_up(self, why: str) -> None:
        """Go on with none of the nodes that met: others are to be started."""
        if self._attempt is not None:
            self.meeting.end(self._attempt, why)

    # ------------------------------------------------------------------ commands

    def tell(self, commands: Sequence[Command[Answer]], *, commit: bool = False) -> None:
        """Have each node do something, and do not wait for it. With `commit`, they commit before."""
        self._send(commands, commit, answered=False)

    def command(
        self,
        commands: Sequence[Command[Answer]],
        *,
        commit: bool = False,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> list[Answer | Failure]:
        """Have each node do something, and return their replies. With `commit`, they commit before."""
        members = self._send(commands, commit, answered=True)
        self._silent = dict.fromkeys(range(self.nodes), 0)
        told = False
        replies: list[Answer | Failure] = []
        while len(replies) < self.nodes:
            reply = self._reply(members[len(replies)])
            if reply is not None:
                replies.append(reply)  # type: ignore[arg-type]
                continue
            self._look_for_life(members)
            if not told and interrupted():
                told = True
                for member in members:
                    member.post(Interrupt(self._number))
        return replies

    def _send(self, commands: Sequence[Command[Answer]], commit: bool, *, answered: bool) -> list[Member]:
        self._number += 1
        members = self._members()
        if all(command is commands[0] for command in commands):
            order = encode(Order(self._number, commands[0], commit, answered))  # type: ignore[arg-type]
            for member in members:
                member.post(order)
            return members
        for member, command in zip(members, commands, strict=True):
            member.post(Order(self._number, command, commit, answered))  # type: ignore[arg-type]
        return members

    def _members(self) -> list[Member]:
        attempt = self._attempt
        if attempt is None or attempt.over is not None:
            raise NodeLost("node-lost", "nodes have not met" if attempt is None else str(attempt.over))
        return [attempt.members[number] for number in range(self.nodes)]

    def _reply(self, member: Member) -> Reply | None:
        """What the node says to the present command; `None` if it has not said it yet."""
        while True:
            try:
                outcome = member.outcomes.get(timeout=POLL)
            except queue.Empty:
                return None
            if outcome is None:
                assert self._attempt is not None
                raise NodeLost("node-lost", self._attempt.over or f"node {member.number} is gone")
            if outcome.number == self._number:
                return outcome.reply

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
