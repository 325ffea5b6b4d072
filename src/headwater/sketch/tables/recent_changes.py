"""Changes that this process made itself and still has at hand: what they were need not be read back.

What holds: a change is taken for a table's version only if the record of the database says so. Each version has a
*mark*, a number at random that its writer left in the record with it; a change knows its own mark and that of the
version before it. If the newest version's mark is ours, and each change follows the one before it, these are the
changes between two versions, whoever else writes, rolls back or makes the record anew.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from dataclasses import dataclass

from headwater.sketch.tables.backend import TableDelta

MOST_ROWS_AT_HAND = 200_000
"""Of one table: older changes go first."""


@dataclass(frozen=True)
class RecentChange:
    """What led to a version."""

    before: int
    """The mark of the version before it."""
    mark: int
    delta: TableDelta
    """All columns of the table."""

    @property
    def version(self) -> int:
        """The one that it led to."""
        return self.delta.upto


class RecentChanges:
    """The last changes of each table."""

    def __init__(self) -> None:
        self._changes: dict[str, deque[RecentChange]] = {}
        self._rows: dict[str, int] = {}
        self._lock = threading.Lock()

    def remember(self, table: str, change: RecentChange) -> None:
        """Keep a change; one that does not follow the last one is all that is kept.

        What was read of the last one will be read of this one, by every sketch of the table: it is made now, once.
        """
        with self._lock:
            kept = self._changes.setdefault(table, deque())
            if kept:
                change.delta.prepare_like(kept[-1].delta)
            if kept and (kept[-1].version + 1, kept[-1].mark) != (change.version, change.before):
                kept.clear()
                self._rows[table] = 0
            kept.append(change)
            self._rows[table] = self._rows.get(table, 0) + change.delta.rows.num_rows
            while kept and self._rows[table] > MOST_ROWS_AT_HAND:
                self._rows[table] -= kept.popleft().delta.rows.num_rows

    def forget(self, table: str) -> None:
        """Keep nothing of a table."""
        with self._lock:
            self._changes.get(table, deque()).clear()
            self._rows[table] = 0

    def between(self, table: str, after: int, upto: int, mark: int) -> list[RecentChange] | None:
        """The changes after one version up to another that has this mark, if all of them are at hand."""
        with self._lock:
            kept = self._changes.get(table)
            newest = kept[-1] if kept else None
            if newest is not None and newest.mark == mark and newest.version == upto == after + 1:
                return [newest]
            found = [change for change in kept or () if after < change.version <= upto]
        if len(found) != upto - after or not found or found[-1].mark != mark:
            return None
        return found


def new_mark() -> int:
    """A mark that no other version has."""
    return secrets.randbits(62) | 1
