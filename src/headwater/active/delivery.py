"""Telling watches what they are owed, after the versions: in order, once a version, none in the way of another.

Actions run in the thread that made the version, when the version is committed and the database is free again. So an
action may ask and change the database as its caller may, and use what belongs to the thread, such as a connection.
A version that an action makes is told when the action is over, by the same loop: nothing is called inside
itself. Whoever comes while the loop runs, from inside an action or from another thread, leaves it to the loop.

An action that raises is tried again after a pause, then its watch is parked; its caller never sees the error. Nobody
waits for a pause: what is due is tried when the next version is made, or when somebody asks for it (`deliver`).
Ctrl-C and `sys.exit` end the loop and go on to the caller; the event is still owed.

A chain of events whose actions cause each other has a bound, at which the watch that would go on is parked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from headwater.active.event import OwedEvent
from headwater.active.watch import WatchLine

Acknowledge = Callable[[WatchLine, int], None]
"""Note that a watch needs nothing up to a version any more; it need not be safe before it is settled."""


@dataclass
class Delivery:
    """The loop. `lines` are all watches, `over` tells whether the database is closed."""

    lines: Callable[[], Collection[WatchLine]]
    acknowledge: Acknowledge
    settle: Callable[[], None]
    """Make safe what was acknowledged: after all watches were told of a version."""
    over: Callable[[], bool]
    max_cascade: int
    clock: Callable[[], float] = time.monotonic
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _thread: int | None = None
    _cause: tuple[str, ...] = ()
    _telling: OwedEvent | None = None

    @property
    def cause(self) -> tuple[str, ...]:
        """The watches whose actions lead to a version that this thread makes now."""
        return self._cause if self._thread == threading.get_ident() else ()

    def untold(self, line: WatchLine) -> int:
        """How many events of a watch its action has not seen, and does not see now."""
        return len(line.owed) - (line.first is not None and line.first is self._telling)

    def deliver(self) -> int:
        """Tell everything that is due; return how many events are done with."""
        count = 0
        while self._next() is not None and self._turn.acquire(blocking=False):
            try:
                count += self._tell_all()
            finally:
                self.settle()
                self._turn.release()
        return count

    def _tell_all(self) -> int:
        count, version = 0, 0
        while (line := self._next()) is not None:
            if line.first is not None and line.first.version != version:
                self.settle()
                version = line.first.version
            count += self._tell(line)
        return count

    def wait(self, seconds: float) -> int:
        """Tell everything and wait for pauses, until only parked and waiting watches are owed something, or the time
        is over."""
        until = self.clock() + seconds
        count = self.deliver()
        while (pause := self._pause(until)) is not None:
            time.sleep(pause)
            count += self.deliver()
        return count

    def _pause(self, until: float) -> float | None:
        """How long until something is due; `None` if nothing will be in time."""
        now = self.clock()
        due = [line.due for line in self.lines() if line.ready(float("inf"))]
        if not due or min(due) > until or self.over() or self.cause:
            return None
        return max(0.0, min(due) - now)

    def _next(self) -> WatchLine | None:
        """Whose turn it is: the earliest version's, then whoever has watched for longest."""
        lines = self.lines()
        if not lines or self.over():
            return None
        now = self.clock()
        ready = [line for line in lines if line.ready(now)]
        return min(ready, key=lambda line: line.first.version if line.first else 0, default=None)

    def _tell(self, line: WatchLine) -> int:
        """Let a watch's action have its first event; whether that is done with."""
        owed, action = line.first, line.action
        if owed is None or action is None:  # another thread was faster
            return 0
        if owed.failure is not None:
            line.park(owed.failure)
            return 0
        if len(owed.cause) > self.max_cascade:
            line.park(_cascade(line, owed, self.max_cascade))
            return 0
        self._thread, self._cause, self._telling = threading.get_ident(), (*owed.cause, line.name), owed
        try:
            action.perform(owed.told(line.name, line.attempts + 1))
        except Exception as error:
            line.failed(error, self.clock())
            return 0
        finally:
            self._thread, self._cause, self._telling = None, (), None
        if line.first is owed and not self.over():
            self.acknowledge(line, owed.version)
        return 1


def _cascade(line: WatchLine, owed: OwedEvent, most: int) -> str:
    """That actions caused each other too often, with those that come again."""
    chain = [*owed.cause, line.name]
    last = len(chain) - 2 - chain[-2::-1].index(line.name) if line.name in chain[:-1] else 0
    return (
        f"error[cascade]: {' -> '.join(chain[last:])}: actions have caused each other {most} times in a row"
        " (let them come to rest, or connect with a larger max_cascade)"
    )
