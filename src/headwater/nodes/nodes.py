"""Running nodes: asking all of them, and getting them back when they are lost."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, TypeVar

from headwater.calls import public_class
from headwater.errors import EvaluationError, HeadwaterError, SparkError
from headwater.maintain.interrupts import Interrupts
from headwater.nodes.coordinator import PATIENCE, Coordinator, NodeLost
from headwater.nodes.ending import Ending
from headwater.nodes.faults import INTERRUPTED, error_of
from headwater.nodes.hosting import Hosting, Invitation, Supervisor
from headwater.nodes.messages.message import Command, Reply
from headwater.nodes.messages.outcomes import Failure

log = logging.getLogger("headwater.nodes")

Answer = TypeVar("Answer", bound=Reply)

START_TIMEOUT = 120.0
"""Seconds within which nodes must come up, at first and after a loss."""
TRIES = 4
"""How often in a row nodes may be lost before giving up."""


class User(Protocol):
    """Whose state is on the nodes."""

    def restore(self) -> str:
        """Put the state of nodes that hold nothing together again, and say how."""
        ...


@public_class
class Nodes:
    """Running nodes, for one database after another. Databases that use them may call the functions given here."""

    def __init__(
        self,
        hosting: Hosting,
        nodes: int,
        functions: Mapping[str, Any] | None = None,
        host: str = "127.0.0.1",
        patience: float = PATIENCE,
    ):
        self.size = nodes
        self.hosting = hosting
        self.functions = dict(functions or {})
        self.interrupts = Interrupts()
        self.losses = 0
        self._user: weakref.ref[User] | None = None
        self._commit_first = False
        self._given_up: HeadwaterError | None = None
        self.coordinator = Coordinator(nodes, host, patience)
        meeting = self.coordinator.meeting
        self._supervisor = Supervisor(
            hosting, Invitation(nodes, meeting.address, meeting.secret, self.functions)
        )
        self._ending = Ending(self.coordinator, self._supervisor)
        weakref.finalize(self, self._ending.end_soon).atexit = False
        try:
            self._supervisor.start()
            self._meet(first=True)
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------------ whose they are

    @property
    def user(self) -> User | None:
        """Whose state they hold; nobody's, once that database is closed or forgotten."""
        return None if self._user is None else self._user()

    def serve(self, user: User | None) -> None:
        """Hold somebody's state from now on, or nobody's."""
        self._user = None if user is None else weakref.ref(user)

    # ------------------------------------------------------------------ asking

    def ask(self, command: Command[Answer]) -> list[Answer]:
        """Have all nodes do the same."""
        return self.ask_each([command] * self.size)

    def ask_each(self, commands: Sequence[Command[Answer]]) -> list[Answer]:
        """Have each node do something; raise what they say is wrong, and `NodeLost` if one is gone."""
        replies = self.coordinator.command(
            commands, commit=self._commit_first, interrupted=self.interrupts.pending
        )
        self._commit_first = (
            False  # only now: what all nodes have not heard is said again, and does nothing twice
        )
        failures = [reply for reply in replies if isinstance(reply, Failure)]
        for failure in failures:
            if not failure.peer:
                if failure.fault.kind == INTERRUPTED:
                    self.interrupts.forget()
                error = error_of(failure.fault)
                if isinstance(error, RuntimeError):
                    log.error("on a node: %s", failure.trace)
                raise error
        if failures:
            why = failures[0].fault.message
            self.coordinator.give_up(why)
            raise NodeLost("node-lost", why)
        return [reply for reply in replies if not isinstance(reply, Failure)]

    def surely(self, work: Callable[[], list[Answer]]) -> list[Answer]:
        """Do it; if nodes are lost meanwhile, get them back and do it once more."""
        for _ in range(TRIES):
            try:
                return work()
            except NodeLost as lost:
                self.recover(lost)
        raise EvaluationError(
            "node-lost",
            f"nodes were lost {TRIES} times in a row",
            hint="see the executors' logs; often they have too little memory: use more nodes, or bigger ones",
        )

    def commit_soon(self) -> None:
        """Have all nodes commit before whatever they are asked to do next: that saves a message each."""
        self._commit_first = True

    def tell(self, command: Command[Answer]) -> None:
        """Have all nodes do something that cannot fail but with the node; do not wait for it."""
        try:
            self.coordinator.tell([command] * self.size, commit=self._commit_first)
            self._commit_first = False
        except NodeLost as lost:
            if self._given_up is None:
                self.recover(lost)

    # ------------------------------------------------------------------ after a loss

    def recover(self, lost: NodeLost) -> None:
        """Wait for nodes to come back, and have their state put together again.

        Once that has failed, nothing more can be had from these nodes.
        """
        if self._given_up is not None:
            raise self._given_up
        started = time.monotonic()
        self.losses += 1
        self._commit_first = False  # `restore` does that as well
        log.warning("%s; waiting for all nodes to be started again", lost.message)
        if lost.code == "node-stuck":
            self._supervisor.restart()
        try:
            what = self._meet()
        except HeadwaterError as error:
            self._given_up = error
            raise
        log.warning("nodes are back after %.1f s: %s", time.monotonic() - started, what)

    def _meet(self, *, first: bool = False) -> str:
        """Have all nodes meet, and their state put together. Those that are lost on the way are waited for again."""
        restarted = first
        for _ in range(TRIES):
            try:
                self.coordinator.gather(START_TIMEOUT, self._supervisor.broken, self.interrupts.check)
                self._supervisor.came()
                self.coordinator.introduce()
                user = self.user
                return "they hold nothing" if user is None else user.restore()
            except NodeLost as lost:
                log.warning("%s while nodes were meeting", lost.message)
                if lost.code == "node-stuck":
                    self._supervisor.restart()
            except SparkError as missing:
                if restarted or missing.code != "no-nodes" or self._supervisor.broken() is not None:
                    raise
                restarted = True
                log.warning("not all nodes have come; all are started again")
                self._supervisor.restart()
            except BaseException:
                self.coordinator.give_up("its state could not be put together")
                raise
        raise EvaluationError(
            "node-lost",
            f"nodes were lost {TRIES} times in a row while they were meeting",
            hint="see the executors' logs; can the executors reach each other, and have they memory enough?",
        )

    def __enter__(self) -> Nodes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Send the nodes home, and wait until they are gone."""
        self._ending.end()
