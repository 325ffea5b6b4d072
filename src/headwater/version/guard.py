"""Who may be inside a database: one thread at a time, and no call from inside a version.

What is in memory is changed in place, by compiled code that trusts what it finds. So every public call that changes
or reads it goes through the database's one guard. A call that comes while another thread is inside is refused at
once, or waits, as the user wants it. A call from inside a version (by a function that a rule calls, say) is always
refused: it would see a version that is half done. Reading inside reading is fine.

A version that could be neither kept nor undone leaves memory that nobody can trust: then all calls are refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Protocol, TypeVar

from headwater.errors import DatabaseError

Method = TypeVar("Method", bound=Callable[..., Any])
THREADS = ("refuse", "wait")


class Guard:
    """Lets one call in at a time."""

    def __init__(self, threads: str = "refuse", *, durable: bool = False):
        self._waits = threads == "wait"
        self._durable = durable
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._call = ""
        self._changing = False
        self._broken: str | None = None
        self.open = False
        """Whether there is a version that is neither kept nor undone."""

    @contextmanager
    def reading(self, call: str) -> Iterator[None]:
        """For a call that reads what is in memory."""
        if self._thread == threading.get_ident():
            if self._changing:
                raise self._inside(call)
            yield
            return
        with self._alone(call):
            yield

    @contextmanager
    def changing(self, call: str) -> Iterator[None]:
        """For a call that changes it, if only for a while."""
        if self._thread == threading.get_ident():
            raise self._inside(call)
        with self._alone(call):
            self._changing = True
            try:
                yield
            finally:
                self._changing = False
                if self.open:
                    self._broken = self._broken or "its end was cut short"

    @contextmanager
    def closing(self) -> Iterator[None]:
        """For the end, which comes whatever has happened."""
        if self._thread == threading.get_ident():
            raise self._inside("close")
        with self._alone("close", whatever=True):
            yield

    @contextmanager
    def _alone(self, call: str, *, whatever: bool = False) -> Iterator[None]:
        if not self._lock.acquire(blocking=self._waits):
            raise DatabaseError(
                "in-use",
                f"{call}: another thread is inside the database ({self._call or 'another call'})",
                hint="let one thread at a time use it, or connect with threads='wait'",
            )
        try:
            if not whatever:
                self.check()
            self._thread, self._call = threading.get_ident(), call
            yield
        finally:
            self._thread, self._call = None, ""
            self._lock.release()

    def _inside(self, call: str) -> DatabaseError:
        return DatabaseError(
            "called-inside",
            f"{call} was called from inside {self._call}, which is not over",
            hint="functions that rules call must not use the database; call it afterwards",
        )

    def check(self) -> None:
        """Refuse if what is in memory cannot be trusted."""
        if self._broken is not None:
            raise DatabaseError(
                "not-undone",
                f"a version could be neither kept nor undone ({self._broken}): what is in memory is of no use",
                hint="close the database and connect again: all versions that were acknowledged are in its folder"
                if self._durable
                else "close the database and start over; with a path, versions would be on the disk",
            )

    @contextmanager
    def or_break_off(self) -> Iterator[None]:
        """What has to succeed: if it does not, nobody is let in any more."""
        try:
            yield
        except BaseException as error:
            self._broken = type(error).__name__
            raise


class Guarded(Protocol):
    """What `reads` and `changes` decorate methods of."""

    guard: Guard


def reads(method: Method) -> Method:
    """A public method that reads what is in memory."""
    call = method.__name__.strip("_")

    @wraps(method)
    def run(self: Guarded, *args: Any, **options: Any) -> Any:
        with self.guard.reading(call):
            return method(self, *args, **options)

    return run  # type: ignore[return-value]


def changes(method: Method) -> Method:
    """A public method that changes it."""
    call = method.__name__.strip("_")

    @wraps(method)
    def run(self: Guarded, *args: Any, **options: Any) -> Any:
        with self.guard.changing(call):
            return method(self, *args, **options)

    return run  # type: ignore[return-value]
