"""Public methods that change a database: one at a time, and never left in the middle by Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

from headwater.database.watch_keeper import WatchKeeper
from headwater.local.runner import Runner
from headwater.version.guard import changes

Method = TypeVar("Method", bound=Callable[..., Any])


class Changing(Protocol):
    """What `uninterrupted` decorates methods of."""

    @property
    def runner(self) -> Runner:
        """Where the relations are."""
        ...


def uninterrupted(method: Method) -> Method:
    """A method that changes the database; Ctrl-C stops it only where all can be taken back, or once it is done."""

    @changes
    @wraps(method)
    def run(self: Changing, *args: Any, **options: Any) -> Any:
        with self.runner.interrupts:
            return method(self, *args, **options)

    return run  # type: ignore[return-value]


class Told(Changing, Protocol):
    """What `told` decorates methods of."""

    _watching: WatchKeeper


def told(method: Method) -> Method:
    """An `uninterrupted` method that makes a version; once it is over, and others may come in, watches are told."""
    changed = uninterrupted(method)

    @wraps(method)
    def run(self: Told, *args: Any, **options: Any) -> Any:
        done = changed(self, *args, **options)
        self._watching.delivery.deliver()
        return done

    return run  # type: ignore[return-value]
