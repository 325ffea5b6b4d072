"""A node in a thread of its own: whatever carries messages puts them into its inbox, and takes what it says.

The same for every real transport. Messages and work for the node are done one after another, in the order in which
they were put in. When nothing waits, the node is idle; what it said in the meantime is carried then, or when there is
much of it.

Quiet is found in *waves*: all nodes are asked how many messages they have sent and received, and each answers when it
has nothing to do. Two waves with the same numbers, as many sent as received, mean that nothing is under way: whoever
has sent something after it answered the first has other numbers in the second. (One wave is not enough: a message may
have been counted by its receiver, who answers last, and not by its sender, who answered first.)
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from headwater.errors import EvaluationError
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.runtime.messages import Message
from headwater.networks.runtime.node import NetworkNode

T = TypeVar("T")

Carry = Callable[[int, Sequence[Message]], None]
"""Carries messages to a node, in order."""

SECONDS_BETWEEN_WAVES = 0.05
"""Where nodes wait for a time to pass, and nothing else happens."""
MOST_MESSAGES_HELD = 512
"""How much a node may have said before it is carried, while messages wait for it."""


@dataclass(frozen=True)
class Counters:
    """What a node has sent and received so far; `timers` says that it waits for a time to pass, `held` that something
    which has happened does, `wants` what it waits with until all nodes are at rest."""

    sent: int
    received: int
    timers: bool = False
    wants: QuietStage = QuietStage.NOTHING
    held: bool = False


def at_rest(before: Sequence[Counters] | None, now: Sequence[Counters]) -> bool:
    """Whether two waves say that no node has anything to do before some time comes, and no message is under way."""
    if before is None or list(before) != list(now) or any(counters.held for counters in now):
        return False
    return sum(counters.sent for counters in now) == sum(counters.received for counters in now)


def settled(before: Sequence[Counters] | None, now: Sequence[Counters]) -> bool:
    """Whether two waves say that all is quiet: at rest, and there is no time to wait for.

    >>> one, other = [Counters(3, 2), Counters(0, 1)], [Counters(3, 2), Counters(1, 1)]
    >>> settled(one, one), settled(other, one), settled(other, other)
    (True, False, False)
    """
    return at_rest(before, now) and not any(counters.timers for counters in now)


def settle(
    wave: Callable[[], Sequence[Counters]],
    begin: Callable[[QuietStage], None],
    over: Callable[[], bool] = lambda: False,
) -> None:
    """Wait until all is quiet and no node wants anything, or it is `over`; at rest, the most urgent stage that some
    node wants begins on all of them."""
    before: Sequence[Counters] | None = None
    while not over():
        now = wave()
        if at_rest(before, now):
            stage = min(counters.wants for counters in now)
            if stage is not QuietStage.NOTHING:
                begin(stage)
                before = None
                continue
            if settled(before, now):
                return
        if any(counters.timers for counters in now):
            time.sleep(SECONDS_BETWEEN_WAVES)
        before = now


class NodeEnded(RuntimeError):
    """The loop has ended: nobody will answer."""


class NodeLoop:
    """Runs a node until `end`. All methods may be called by any thread.

    Whatever the node raises ends its work: it is raised again wherever something is asked of the node.
    """

    def __init__(self, node: NetworkNode, carry: Carry, name: str = "headwater-node"):
        self._node = node
        self._carry = carry
        self._inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._asking: list[Future[Counters]] = []
        self._wakes: list[float] = []
        self._failure: BaseException | None = None
        self._ended = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    # ------------------------------------------------------------------ from outside

    def deliver(self, sender: int, messages: Callable[[], Iterable[Message]]) -> None:
        """Messages have come, to be decoded when it is their turn."""

        def take() -> None:
            for message in messages():
                self._node.handle(sender, message)

        self._put(lambda: self._guarded(take))

    def do(self, work: Callable[[NetworkNode], T]) -> T:
        """Have something done with the node, after all that has come before; raise what it raises."""
        found: Future[T] = Future()

        def run() -> None:
            if self._failure is not None:
                found.set_exception(self._failure)
                return
            try:
                found.set_result(work(self._node))
            except BaseException as error:
                self._failure = error
                found.set_exception(error)

        self._put(run, found)
        return found.result()

    def counters(self) -> Counters:
        """What was sent and received, once nothing waits."""
        found: Future[Counters] = Future()
        self._put(lambda: self._asking.append(found), found)
        return found.result()

    def end(self, why: BaseException | None = None) -> None:
        """End it; whoever waits is told."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            self._failure = self._failure or why or NodeEnded("the node has ended")
        self._inbox.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _put(self, work: Callable[[], None], found: Future[Any] | None = None) -> None:
        with self._lock:
            if not self._ended:
                self._inbox.put(work)
                return
        if found is not None:
            found.set_exception(self._failure or NodeEnded("the node has ended"))

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        while True:
            work = self._wait()
            while work is not _NOTHING:
                if work is None:
                    self._last()
                    return
                work()
                if len(self._node.outbox) > MOST_MESSAGES_HELD:
                    self._guarded(self._flush)
                work = self._next()
            self._guarded(self._rest)
            self._answer()

    def _wait(self) -> Callable[[], None] | None:
        if not self._wakes:
            return self._inbox.get()
        try:
            return self._inbox.get(timeout=max(0.0, min(self._wakes) - time.monotonic()))
        except queue.Empty:
            return _NOTHING

    def _next(self) -> Callable[[], None] | None:
        try:
            return self._inbox.get_nowait()
        except queue.Empty:
            return _NOTHING

    def _rest(self) -> None:
        """Nothing waits."""
        node, now = self._node, time.monotonic()
        if any(wake <= now for wake in self._wakes):
            self._wakes = [wake for wake in self._wakes if wake > now]
            node.woken()
        if node.restless():
            node.idle()
        self._flush()

    def _flush(self) -> None:
        node = self._node
        self._wakes += [time.monotonic() + delay for delay in node.wakes]
        node.wakes = []
        outbox, node.outbox = node.outbox, []
        by_receiver: dict[int, list[Message]] = {}
        for receiver, message in outbox:
            by_receiver.setdefault(receiver, []).append(message)
        for receiver, messages in by_receiver.items():
            self._carry(receiver, messages)

    def _guarded(self, work: Callable[[], None]) -> None:
        if self._failure is None:
            try:
                work()
            except BaseException as error:
                self._failure = error

    def _answer(self) -> None:
        asking, self._asking = self._asking, []
        for found in asking:
            if self._failure is not None:
                found.set_exception(self._failure)
            else:
                node = self._node
                timers = bool(self._wakes)
                found.set_result(Counters(node.sent, node.received, timers, node.wants(), node.holds_back()))

    def _last(self) -> None:
        """Whoever still waits is told that it is over."""
        self._failure = self._failure or NodeEnded("the node has ended")
        while (work := self._next()) is not _NOTHING:
            if work is not None:
                work()
        self._answer()


def _nothing() -> None:
    raise AssertionError("no work")


_NOTHING: Callable[[], None] = _nothing
"""In the place of work, where there is none."""


def too_long(limit: int) -> EvaluationError:
    """The error for a recursion that does not end."""
    return EvaluationError(
        "no-fixpoint",
        f"a node has made more than {limit:,} derivations in one version",
        hint="does the recursion end? If it does, allow more with max_rounds",
    )
