"""A version while it is open: what has joined it is kept together, or undone together.

Whatever a version changes in place joins it before it is changed. At the end all of them commit, in the order in
which they joined, or all roll back, in the opposite order. A version is undone if its block raises, or if it was only
to be tried (`abandon`). If it is on the disk by then (`decided`), it stands all the same, and the error goes on.

What does not hold: neither way may fail. What needs memory is made ready before the version is decided; if a
participant fails all the same, or neither way is ever taken, memory is neither what was nor what is to be, and the
guard lets nobody in any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Protocol

from headwater.version.guard import Guard
from headwater.version.row_change import RowChange
from headwater.version.statistics import VersionStatistics


class Participant(Protocol):
    """Something that a version changes in place."""

    def commit(self, version: Version) -> None:
        """Keep what the version did; takes no memory to speak of."""
        ...

    def rollback(self) -> None:
        """Undo what the version did; takes no memory to speak of."""
        ...


def undecided() -> bool:
    """For a version that nobody writes down."""
    return False


class Version:
    """The version `number` at the time `now`; as a context manager, kept or undone at the end of its block."""

    def __init__(
        self,
        number: int,
        now: float,
        *,
        guard: Guard | None = None,
        decided: Callable[[], bool] = undecided,
    ):
        self.number = number
        self.now = now
        self.statistics = VersionStatistics(number)
        self.changes: Mapping[str, RowChange] = {}
        """What it did to each relation that differs, once that is known."""
        self._guard = guard if guard is not None else Guard()
        self._decided = decided
        self._joined: dict[int, Participant] = {}
        """By identity, in the order in which they joined."""
        self._abandoned = False
        self._started = time.perf_counter()

    def join(self, *participants: Participant) -> None:
        """Take these along, those that have not joined yet."""
        self._guard.open = True
        for participant in participants:
            self._joined.setdefault(id(participant), participant)

    def abandon(self) -> None:
        """It was only tried: undo it at the end."""
        self._abandoned = True

    def keep(self) -> None:
        """Let all participants commit."""
        try:
            for participant in self._joined.values():
                participant.commit(self)
        except BaseException as error:
            self._guard.break_off(error)
            raise
        self._joined = {}
        self._guard.open = False
        self.statistics.seconds = time.perf_counter() - self._started

    def undo(self) -> None:
        """Let all participants roll back."""
        try:
            while self._joined:
                self._joined.popitem()[1].rollback()
        except BaseException as error:
            self._guard.break_off(error)
            raise
        self._guard.open = False
        self.statistics.seconds = time.perf_counter() - self._started

    def __enter__(self) -> Version:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._decided() or (error is None and not self._abandoned):
            self.keep()
        else:
            self.undo()
