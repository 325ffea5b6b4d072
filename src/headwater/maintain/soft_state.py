"""Lifetimes and bounded sizes of base relations (NDlog's soft state).

Rows are kept in the order in which they were last inserted. A row expires its lifetime after that; inserting
it again refreshes it; when there are more rows than the size allows, the oldest go. Costs follow what is
inserted, refreshed and expired. All changes of a version can be taken back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from headwater.plan.steps import Ints


class SoftState:
    """The insertion times of one relation's rows (as the bytes of their codes)."""

    def __init__(self, arity: int, lifetime: float | None, size: int | None):
        self.arity = arity
        self.lifetime = lifetime
        self.size = size
        self._stamps: dict[bytes, tuple[int, float]] = {}
        self._order: deque[tuple[int, bytes]] = deque()
        self._sequence = 0
        self._undo: list[tuple[bytes, tuple[int, float] | None]] = []
        self._popped: list[tuple[int, bytes]] = []

    def __len__(self) -> int:
        return len(self._stamps)

    def insert(self, rows: Ints, now: float) -> Ints:
        """Stamp rows; return the rows that have to go for want of room (they may be among those inserted)."""
        for row in _keys(rows):
            self._set(row, (self._sequence, now))
            self._order.append((self._sequence, row))
            self._sequence += 1
        evicted: list[bytes] = []
        while self.size is not None and len(self._stamps) > self.size:
            evicted.append(self._pop_oldest())
        return self._matrix(evicted)

    def delete(self, rows: Ints) -> None:
        """Forget rows that are deleted."""
        for row in _keys(rows):
            self._set(row, None)

    def expire(self, now: float) -> Ints:
        """Forget and return the rows whose lifetime is over at `now`."""
        expired: list[bytes] = []
        while self.lifetime is not None and self._oldest() is not None:
            oldest = self._oldest()
            assert oldest is not None
            if self._stamps[oldest][1] + self.lifetime > now:
                break
            expired.append(self._pop_oldest())
        return self._matrix(expired)

    def _oldest(self) -> bytes | None:
        while self._order:
            sequence, row = self._order[0]
            stamp = self._stamps.get(row)
            if stamp is not None and stamp[0] == sequence:
                return row
            self._popped.append(self._order.popleft())
        return None

    def _pop_oldest(self) -> bytes:
        row = self._oldest()
        assert row is not None
        self._popped.append(self._order.popleft())
        self._set(row, None)
        return row

    def _set(self, row: bytes, stamp: tuple[int, float] | None) -> None:
        self._undo.append((row, self._stamps.get(row)))
        if stamp is None:
            self._stamps.pop(row, None)
        else:
            self._stamps[row] = stamp

    def commit(self) -> None:
        """Keep what was done since the last commit."""
        self._undo.clear()
        self._popped.clear()
        if len(self._order) > 2 * len(self._stamps) + 64:
            self._order = deque(sorted((stamp[0], row) for row, stamp in self._stamps.items()))

    def rollback(self) -> None:
        """Take back what was done since the last commit."""
        for row, stamp in reversed(self._undo):
            if stamp is None:
                self._stamps.pop(row, None)
            else:
                self._stamps[row] = stamp
        self._order.extendleft(reversed(self._popped))
        self.commit()

    # ------------------------------------------------------------------ in and out

    def _matrix(self, rows: list[bytes]) -> Ints:
        if not rows:
            return np.empty((0, self.arity), np.int64)
        return np.frombuffer(b"".join(rows), np.int64).reshape(len(rows), self.arity).copy()

    def dump(self) -> tuple[Ints, list[float]]:
        """All rows, oldest first, and when each was last inserted."""
        ordered = sorted(self._stamps.items(), key=lambda entry: entry[1][0])
        return self._matrix([row for row, _ in ordered]), [stamp[1] for _, stamp in ordered]

    def load(self, rows: Ints, times: Iterable[float]) -> None:
        """Take what `dump` gave."""
        for row, time in zip(_keys(rows), times, strict=True):
            self._stamps[row] = (self._sequence, time)
            self._order.append((self._sequence, row))
            self._sequence += 1


def _keys(rows: Ints) -> Iterable[bytes]:
    rows = np.ascontiguousarray(rows)
    if rows.shape[1] == 0:
        return (b"" for _ in range(rows.shape[0]))
    return (row.tobytes() for row in rows)
