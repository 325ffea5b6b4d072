"""Transactions of a database: those of one question, moments that several questions share, and who stands in the way.

What the database refuses is our error (`backend-failed`). Where it refuses because somebody else was faster
(`conflict`), or because another process has the file open or holds a table (`database-in-use`), the same is tried
again for a while: nothing of it was done.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from headwater.errors import SketchError
from headwater.foreign.engine import said_by
from headwater.sketch.tables.direct import DirectConnection, DirectConnections
from headwater.sketch.tables.sql_records import RecordedVersion
from headwater.store.patience import PATIENCE, patiently

if TYPE_CHECKING:
    from sqlalchemy import Engine

Done = TypeVar("Done")
_OVERTAKEN = ("40001", "40P01")
"""What PostgreSQL says to who was overtaken, or has waited for each other."""
_LOCKED = "55P03"
"""What it says to who has waited for a lock for too long."""
_INTERRUPTED = re.compile("^Query interrupted|: KeyboardInterrupt: *$")
"""What DuckDB says at Ctrl-C; values may be of the same words."""
_LONGEST_WAIT = 2**31 - 1
"""Milliseconds, in PostgreSQL."""


@dataclass
class OpenTransaction:
    """A transaction that goes on, and what it has seen of the records of tables."""

    connection: Any
    recorded: dict[str, RecordedVersion] = field(default_factory=dict)


class _OpenMoment(threading.local):
    """The moment that a thread has opened."""

    moment: OpenTransaction | None = None


class SqlTransactions:
    """The transactions of one database."""

    def __init__(self, engine: Engine, patience: float = PATIENCE):
        self.engine = engine
        self.patience = patience
        self._is_duckdb = engine.dialect.name == "duckdb"
        self._direct = DirectConnections(engine)
        self._open = _OpenMoment()

    def close(self) -> None:
        """Close the connections: DuckDB lets no other process have a file that one has open."""
        self._direct.close()
        self.engine.dispose()

    @property
    def moment(self) -> OpenTransaction | None:
        """The moment that this thread is in."""
        return self._open.moment

    @contextmanager
    def in_a_moment(self) -> Iterator[None]:
        """One transaction for all that this thread asks for meanwhile: DuckDB and PostgreSQL keep for it what it
        has seen."""
        if self._open.moment is not None:
            yield
            return
        with self.transaction() as connection:
            self._open.moment = OpenTransaction(connection)
            try:
                yield
            finally:
                self._open.moment = None

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """One transaction that sees one state of the database: that of the moment, if there is one."""
        with self.refusals():
            if self._open.moment is not None:
                yield self._open.moment.connection
            elif self._is_duckdb:
                with self._direct.transaction() as direct:
                    yield direct
            else:
                with self.engine.connect() as connection:
                    connection = connection.execution_options(isolation_level="REPEATABLE READ")
                    with connection.begin():
                        try:
                            yield connection
                        except (
                            KeyboardInterrupt
                        ):  # in the middle of something: what was begun is over with it
                            connection.invalidate()
                            raise

    def direct(self) -> DirectConnection:
        """DuckDB, for a statement that is a transaction of its own."""
        return self._direct.connection()

    def is_alone(self) -> bool:
        """Whether nobody else has a connection to DuckDB's file now, and no transaction of ours is open."""
        pool: Any = self.engine.pool
        if self._direct.open_transactions or pool.checkedout():
            return False
        with self.refusals():
            ((connections,),) = self.direct().do("SELECT * FROM duckdb_connection_count()")
        return bool(connections == self._direct.count + pool.checkedin())

    def wait_patiently(self, connection: Any) -> None:
        """Have a transaction of PostgreSQL wait for locks of others only as long as for anything else."""
        if not self._is_duckdb:
            wait = max(1, min(int(self.patience * 1000), _LONGEST_WAIT))
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {wait}")

    def until_done(self, action: Callable[[], Done]) -> Done:
        """Do something that is a transaction of its own, again if others were in the way; in a moment, once."""
        if self._open.moment is not None:
            return action()
        return patiently(action, _is_in_the_way, self.patience)

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """What the database refuses is our error. Ctrl-C is Ctrl-C, in whose stead drivers may say something else."""
        dealt_with = sys.exc_info()[1]  # by whoever asks, before anything was done here
        try:
            yield
        except Exception as error:
            if self._is_of_interrupt(error, dealt_with):
                raise KeyboardInterrupt from error
            if isinstance(error, self._errors):
                raise self._refusal(error) from error
            raise

    def _is_of_interrupt(self, error: Exception, earlier: BaseException | None) -> bool:
        """Whether it came while Ctrl-C was being raised, not earlier, or is what DuckDB makes of that."""
        if self._is_duckdb and _INTERRUPTED.search(str(error)):
            return True
        cause: BaseException | None = error
        while cause is not None and cause is not earlier:
            if isinstance(cause, KeyboardInterrupt):
                return True
            cause = cause.__context__
        return False

    def _refusal(self, error: Exception) -> SketchError:
        said = said_by(error)
        if self._is_duckdb and "Could not set lock on file" in said:
            return SketchError(
                "database-in-use", said, hint="another process has the database open: end it, or wait"
            )
        state = getattr(getattr(error, "orig", None), "sqlstate", None)
        if state == _LOCKED:
            return SketchError(
                "database-in-use",
                said,
                hint="a transaction holds the table: end it, or wait longer: patience=...",
            )
        overtaken = (
            "onflict" in said and ("Transaction" in said or "write-write" in said)
            if self._is_duckdb
            else state in _OVERTAKEN
        )
        if overtaken:
            return SketchError("conflict", said, hint="others changed the same at that moment: try again")
        return SketchError("backend-failed", said)

    @cached_property
    def _errors(self) -> tuple[type[Exception], ...]:
        """What a database refuses with: DuckDB is asked directly, too."""
        from sqlalchemy.exc import SQLAlchemyError

        if not self._is_duckdb:
            return (SQLAlchemyError,)
        import duckdb

        return SQLAlchemyError, duckdb.Error


def _is_in_the_way(error: Exception) -> bool:
    return isinstance(error, SketchError) and error.code in ("conflict", "database-in-use")
