"""What DuckDB's record says of tables, known without asking for as long as the database's file stays as it is.

Every change that is committed is written to the file's log (`shop.db.wal`) before anybody can see it, or to the file
itself. So if neither has changed since before the record was read, nothing has been committed since, and the record
says what it said: that costs two questions to the file system and no statement. Two cases are excluded:

- a change that was written by then, and could not be seen yet. Whoever commits has a connection: what was read counts
  only if nobody had one but us, and none of ours was in a transaction.
- times of files are coarse: a file that was written a moment ago may be written again, as long as before, at what
  counts as the same time. The log only grows, the file itself must not have been written for a while.

This saves work where a sketch is brought up to date. Whoever answers a query by it asks the record again, in the
transaction that reads.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Mapping
from typing import NamedTuple

from headwater.sketch.tables.sql_records import RecordedVersion

COARSEST_TIME = 100_000_000
"""Nanoseconds: two times of a file that differ by more are told apart by every file system."""


class FileMark(NamedTuple):
    """What tells the states of a database's file apart."""

    size: int
    written: int
    log_size: int
    log_written: int


class KnownVersions:
    """What is recorded of tables, each with the mark of the file from before it was read."""

    def __init__(self, path: str | None):
        self._path = path
        self._known: dict[str, tuple[FileMark, RecordedVersion]] = {}
        self._wanted: set[str] = set()
        self._lock = threading.Lock()

    def mark(self) -> FileMark | None:
        """The file as it is; `None` if it is in memory, is not there, or was written too short a time ago."""
        found = self._look()
        if found is None or time.time_ns() - found.written < COARSEST_TIME:
            return None
        return found

    def learn(self, mark: FileMark, recorded: Mapping[str, RecordedVersion]) -> None:
        """What was read of tables after the file had this mark."""
        with self._lock:
            self._known |= {table: (mark, now) for table, now in recorded.items()}

    def of(self, tables: Collection[str]) -> dict[str, RecordedVersion] | None:
        """What is recorded of tables, if it is known of all of them."""
        found, marks = {}, set()
        with self._lock:
            for table in tables:
                known = self._known.get(table)
                if known is None:
                    self._wanted.update(tables)
                    return None
                then, found[table] = known
                marks.add(then)
        return found if marks == {self._look()} else None

    def is_wanted(self, table: str) -> bool:
        """Whether somebody has asked for it."""
        return table in self._wanted

    def _look(self) -> FileMark | None:
        if self._path is None:
            return None
        try:
            file = os.stat(self._path)
        except OSError:
            return None
        try:
            log = os.stat(f"{self._path}.wal")
        except OSError:
            return FileMark(file.st_size, file.st_mtime_ns, -1, 0)
        return FileMark(file.st_size, file.st_mtime_ns, log.st_size, log.st_mtime_ns)
