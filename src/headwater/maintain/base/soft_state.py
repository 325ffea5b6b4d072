"""Lifetimes and bounded sizes of base relations (NDlog's soft state).

Rows are kept in the order in which they were last inserted. A row expires its lifetime after that; inserting
it again refreshes it; when there are more rows than the size allows, the oldest go. Costs follow what is
inserted, refreshed and expired. All changes of a version can be taken back.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from headwater.plan.steps import Ints

Stamp = tuple[int, float]
"""When a row was last inserted: the number of the insertion, and the time."""
_KEPT: Stamp = (0, 0.0)


class SoftState:
    """The insertion times of one relation's rows (as the bytes of their codes).

    While a version is open, a row that goes keeps its entry (as `None`), and rows that were passed over keep their
    places in the order: so taking the version back needs no memory.
    """

    def __init__(self, arity: int, lifetime: float | None, size: int | None):
        self.arity = arity
        self.lifetime = lifetime
        self.size = size
        self._stamps: dict[bytes, Stamp | None] = {}
        self._count = 0
        self._order: list[tuple[int, bytes]] = []
        """By sequence number; entries before `_first`, and those with a number that is not the row's, are past."""
        self._first = 0
        self._sequence = 0
        self._undo: list[tuple[bytes, Stamp | None]] = []
        self._before = (0, 0, 0)
        """How many rows, which entry was first and how many entries there were when the version began."""

    def __len__(self) -> int:
        return self._count

    def insert(self, rows: Ints, now: float) -> Ints:
        """Stamp rows; return the rows that have to go for want of room (they may be among those inserted)."""
        for row in _keys(rows):
            self._set(row, (self._sequence, now))
            self._order.append((self._sequence, row))
            self._sequence += 1
        evicted: list[bytes] = []
        while self.size is not None and self._count > self.size:
            evicted.append(self._pop_oldest())
        return self._matrix(evicted)

    def delete(self, rows: Ints) -> None:
        """Forget rows that are deleted."""
        for row in _keys(rows):
            self._set(row, None)

    def expire(self, now: float) -> Ints:
        """Forget and return the rows whose lifetime is over at `now`."""
        expired: list[bytes] = []
        while self.lifetime is not None and (oldest := self._oldest()) is not None:
            if oldest[1][1] + self.lifetime > now:
                break
            expired.append(self._pop_oldest())
        return self._matrix(expired)

    def _oldest(self) -> tuple[bytes, Stamp] | None:
        while self._first < len(self._order):
            sequence, row = self._order[self._first]
            stamp = self._stamps.get(row)
            if stamp is not None and stamp[0] == sequence:
                return row, stamp
            self._first += 1
        return None

    def _pop_oldest(self) -> bytes:
        oldest = self._oldest()
        assert oldest is not None
        self._set(oldest[0], None)
        self._first += 1
        return oldest[0]

    def _set(self, row: bytes, stamp: Stamp | None) -> None:
        old = self._stamps.get(row)
        if old is None and stamp is None:
            return
        self._undo.append((row, old))
        self._stamps[row] = stamp
        self._count += (stamp is not None) - (old is not None)

    def commit(self) -> None:
        """Keep what was done since the last commit."""
        for row, _ in self._undo:
            if self._stamps.get(row, _KEPT) is None:
                del self._stamps[row]
        self._undo.clear()
        if len(self._order) > 2 * self._count + 64:
            self._tidy()
        self._before = self._count, self._first, len(self._order)

    def _tidy(self) -> None:
        """Drop entries of the order that are past; without memory for that, they stay for now."""
        try:
            self._order = sorted((stamp[0], row) for row, stamp in self._stamps.items() if stamp is not None)
            self._first = 0
        except MemoryError:
            return

    def rollback(self) -> None:
        """Take back what was done since the last commit; needs no memory."""
        for row, stamp in reversed(self._undo):
            if row in self._stamps:
                self._stamps[row] = stamp
        for row, _ in self._undo:
            if self._stamps.get(row, _KEPT) is None:
                del self._stamps[row]
        self._undo.clear()
        self._count, self._first, entries = self._before
        while len(self._order) > entries:
            self._order.pop()

    # ------------------------------------------------------------------ in and out

    def _matrix(self, rows: list[bytes]) -> Ints:
        if not rows:
            return np.empty((0, self.arity), np.int64)
        return np.frombuffer(b"".join(rows), np.int64).reshape(len(rows), self.arity).copy()

    def dump(self) -> tuple[Ints, list[float]]:
        """All rows, oldest first, and when each was last inserted."""
        ordered = sorted((stamp, row) for row, stamp in self._stamps.items() if stamp is not None)
        return self._matrix([row for _, row in ordered]), [stamp[1] for stamp, _ in ordered]

    def load(self, rows: Ints, times: Iterable[float]) -> None:
        """Take what `dump` gave."""
        for row, time in zip(_keys(rows), times, strict=True):
            self._stamps[row] = (self._sequence, time)
            self._order.append((self._sequence, row))
            self._sequence += 1
        self._count = len(self._stamps)
        self._before = self._count, 0, len(self._order)


def _keys(rows: Ints) -> Iterable[bytes]:
    rows = np.ascontiguousarray(rows)
    if rows.shape[1] == 0:
        return (b"" for _ in range(rows.shape[0]))
    return (row.tobytes() for row in rows)
