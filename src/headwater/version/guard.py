"""Who may be inside a database: one thread at a time, and no call from inside a version.

What is in memory is changed in place, by compiled code that trusts what it finds. So every public call that changes
or reads it goes through the database's one guard. A call that comes while another thread is inside is refused at
once, or waits, as the user wants it. A call from inside a version (by a function that a rule calls, say) is always
refused: it would see a version that is half done. Reading inside reading is fine.

A version that could be neither kept nor undone leaves memory that nobody can trust: then all calls are refused.

`enter` and `leave` come in pairs, with a `try` between them: context managers cost more than the small calls that
they would guard.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

from headwater.errors import DatabaseError, StoreError

Method = TypeVar("Method", bound=Callable[..., Any])
THREADS = ("refuse", "wait")


class Guard:
    """Lets one call in at a time."""

    def __init__(self, threads: str = "refuse", *, durable: bool = False, guarded: str = "database"):
        """`guarded` is what users call what they are let into."""
        self._guarded = guarded
        self._waits = threads == "wait"
        self._durable = durable
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._call = ""
        self._changing = False
        self._broken: str | None = None
        self._closed = False
        self.open = False
        """Whether there is a version that is neither kept nor undone."""

    def enter(self, call: str, *, changing: bool = False) -> bool:
        """Let a call in that reads what is in memory, or changes it, if only for a while. Whether it has to `leave`:
        a call that reads inside another one leaves with that."""
        if self._thread == threading.get_ident():
            if changing or self._changing:
                raise self._inside(call)
            return False
        self._acquire(call)
        if self._closed or self._broken is not None:
            self._lock.release()
            self.check()
        self._thread, self._call, self._changing = threading.get_ident(), call, changing
        return True

    def enter_to_close(self) -> None:
        """Let the last call in, which comes whatever has happened."""
        if self._thread == threading.get_ident():
            raise self._inside("close")
        self._acquire("close")
        self._thread, self._call = threading.get_ident(), "close"
        self._closed = True

    def leave(self) -> None:
        """The call is over; a version that it began has come to its end, or nothing can be trusted any more."""
        if self._changing:
            self._changing = False
            if self.open:
                self._broken = self._broken or "its end was cut short"
        self._thread, self._call = None, ""
        self._lock.release()

    def _acquire(self, call: str) -> None:
        if not self._lock.acquire(blocking=self._waits):
            raise DatabaseError(
                "in-use",
                f"{call}: another thread is inside the {self._guarded} ({self._call or 'another call'})",
                hint="let one thread at a time use it"
                + (", or connect with threads='wait'" if self._guarded == "database" else ""),
            )

    def _inside(self, call: str) -> DatabaseError:
        return DatabaseError(
            "called-inside",
            f"{call} was called from inside {self._call}, which is not over",
            hint="what rules call, or a watch inside of a version, must not use the "
            f"{self._guarded}; call it afterwards",
        )

    @property
    def closed(self) -> bool:
        """Whether nobody is let in any more, and what is in memory stays as it was."""
        return self._closed and self._broken is None

    def check(self) -> None:
        """Refuse if the database is closed, or what is in memory cannot be trusted."""
        if self._closed:
            raise StoreError("closed", "this database is closed", hint="connect again")
        if self._broken is not None:
            raise DatabaseError(
                "not-undone",
                f"a version could be neither kept nor undone ({self._broken}): what is in memory is of no use",
                hint="close the database and connect again: all versions that were acknowledged are in its folder"
                if self._durable
                else "close the database and start over; with a path, versions would be on the disk",
            )

    def break_off(self, error: BaseException) -> None:
        """What had to succeed has failed: let nobody in any more."""
        self._broken = type(error).__name__


class Guarded(Protocol):
    """What `reads` and `changes` decorate methods of."""

    guard: Guard


def reads(method: Method) -> Method:
    """A public method that reads what is in memory."""
    call = method.__name__.strip("_")

    @wraps(method)
    def run(self: Guarded, *args: Any, **options: Any) -> Any:
        guard = self.guard
        if not guard.enter(call):
            return method(self, *args, **options)
        try:
            return method(self, *args, **options)
        finally:
            guard.leave()

    return run  # type: ignore[return-value]


def changes(method: Method) -> Method:
    """A public method that changes it."""
    call = method.__name__.strip("_")

    @wraps(method)
    def run(self: Guarded, *args: Any, **options: Any) -> Any:
        guard = self.guard
        guard.enter(call, changing=True)
        try:
            return method(self, *args, **options)
        finally:
            guard.leave()

    return run  # type: ignore[return-value]
