"""DuckDB asked directly: the address is SQLAlchemy's, but a question takes less than what SQLAlchemy adds to it.

Each thread has a connection of its own to the database that the engine has open, for as long as the backend is open.
DuckDB closes it together with the one of SQLAlchemy that it was made of, which SQLAlchemy closes at Ctrl-C; then
another one is made. After Ctrl-C in a transaction nobody knows what of it was done, so its connection is closed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Engine


class DirectConnection:
    """A connection that statements are given to as they are."""

    def __init__(self, raw: Any, made_of: Any = None):
        self.raw = raw
        self.made_of = made_of
        """The connection of SQLAlchemy that it is closed with."""
        self.is_closed = False

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
        from sqlalchemy import event

        self._engine = engine
        self._mine = _OfThread()
        self._lock = threading.RLock()  # Ctrl-C makes SQLAlchemy close connections anywhere
        self._all: list[DirectConnection] = []
        self._opened = 0
        self.open_transactions = 0
        event.listen(engine, "close", self._closed_with)

    @contextmanager
    def transaction(self) -> Iterator[DirectConnection]:
        """One transaction of this thread."""
        import duckdb

        connection = self.connection()
        with self._lock:
            self.open_transactions += 1
        is_over = False
        try:
            try:
                connection.raw.begin()
            except duckdb.Error:  # Ctrl-C has left it closed, or in the middle of something
                self._let_go(connection)
                connection = self.connection()
                connection.raw.begin()
            yield connection
            connection.raw.commit()
            is_over = True
        except Exception:
            with suppress(Exception):  # there may be none
                connection.raw.rollback()
                is_over = True
            raise
        finally:
            if not is_over:
                self._let_go(connection)
            with self._lock:
                self.open_transactions -= 1

    @property
    def count(self) -> int:
        """How many connections there are."""
        return len(self._all)

    def connection(self) -> DirectConnection:
        """This thread's; a statement without a transaction is one of its own."""
        mine = self._mine
        if mine.connection is None or mine.connection.is_closed or mine.opened != self._opened:
            pooled = self._engine.raw_connection()
            try:
                driver: Any = pooled.driver_connection
                made = DirectConnection(driver.duplicate(), pooled.dbapi_connection)
            finally:
                pooled.close()
            with self._lock:
                self._all.append(made)
                mine.connection, mine.opened = made, self._opened
        return mine.connection

    def _let_go(self, connection: DirectConnection) -> None:
        """Close a connection of which nobody knows what was begun and done."""
        connection.is_closed = True
        with self._lock:
            self._all = [each for each in self._all if each is not connection]
        connection.raw.close()

    def _closed_with(self, pooled: Any, record: Any) -> None:
        """SQLAlchemy is closing a connection."""
        with self._lock:
            for each in self._all:
                each.is_closed = each.is_closed or each.made_of is pooled
            self._all = [each for each in self._all if not each.is_closed]

    def close(self) -> None:
        """Close all of them: threads that go on get others."""
        with self._lock:
            self._opened += 1
            for each in self._all:
                each.raw.close()
            self._all.clear()
