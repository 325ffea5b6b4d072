"""DuckDB asked directly: the address is SQLAlchemy's, but a question takes less than what SQLAlchemy adds to it.

Each thread has a connection of its own to the database that the engine has open, for as long as the backend is open.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Engine


class DirectConnection:
    """A connection that statements are given to as they are."""

    def __init__(self, raw: Any):
        self.raw = raw

    def do(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement to its end; the rows that it gives."""
        found = self.raw.execute(text, list(values)) if values else self.raw.execute(text)
        return list(found.fetchall()) if found.description else []


class _OfThread(threading.local):
    connection: DirectConnection | None = None
    opened = -1


class DirectConnections:
    """The connections of all threads."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._mine = _OfThread()
        self._lock = threading.Lock()
        self._all: list[Any] = []
        self._opened = 0
        self.open_transactions = 0

    @contextmanager
    def transaction(self) -> Iterator[DirectConnection]:
        """One transaction of this thread."""
        connection = self.connection()
        with self._lock:
            self.open_transactions += 1
        try:
            connection.raw.begin()
            try:
                yield connection
            except BaseException:
                connection.raw.rollback()
                raise
            connection.raw.commit()
        finally:
            with self._lock:
                self.open_transactions -= 1

    @property
    def count(self) -> int:
        """How many connections there are."""
        return len(self._all)

    def connection(self) -> DirectConnection:
        """This thread's; a statement without a transaction is one of its own."""
        mine = self._mine
        if mine.connection is None or mine.opened != self._opened:
            pooled = self._engine.raw_connection()
            try:
                driver: Any = pooled.driver_connection
                raw = driver.duplicate()
            finally:
                pooled.close()
            with self._lock:
                self._all.append(raw)
                mine.connection, mine.opened = DirectConnection(raw), self._opened
        return mine.connection

    def close(self) -> None:
        """Close all of them: threads that go on get others."""
        with self._lock:
            self._opened += 1
            for raw in self._all:
                raw.close()
            self._all.clear()
