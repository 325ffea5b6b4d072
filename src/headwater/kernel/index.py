"""A secondary index of chains, where the order of the rows of a key matters (see `best`; elsewhere, see `lists`).

Rows with the same key form a doubly linked chain through `next` and `previous`; a hash table finds a chain's
first row. Entering and removing a row cost the same whatever the length of its chain. The number of distinct
keys is always known: it is what join orders are chosen by.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from headwater.kernel import hashing
from headwater.kernel.compiled import compiled
from headwater.kernel.hashing import ROW, close_gap, hash_row, home
from headwater.kernel.memory import empty, grown, shrunk, vacate

if TYPE_CHECKING:
    from headwater.kernel.relation import Relation


class Index:
    """Chains of rows by key."""

    row_bytes = 8
    """What room for one more row takes."""

    def __init__(self, columns: tuple[int, ...]):
        self.columns: npt.NDArray[np.int64] = np.array(columns, np.int64)
        self.slots: npt.NDArray[np.int64] = np.zeros(32, np.int64)
        self.next: npt.NDArray[np.int32] = np.full(16, -1, np.int32)
        self.previous: npt.NDArray[np.int32] = np.full(16, -1, np.int32)
        self.sizes: npt.NDArray[np.int64] = np.zeros(1, np.int64)

    @property
    def keys(self) -> int:
        """How many distinct keys there are."""
        return int(self.sizes[0])

    @property
    def nbytes(self) -> int:
        return self.slots.nbytes + self.next.nbytes + self.previous.nbytes

    def successor(self, rows: int) -> Index:
        """An empty index on the same columns, with room for so many rows."""
        made = Index.__new__(Index)
        made.columns = self.columns
        made.slots = hashing.empty_slots(2 * min(rows, self.keys) + 1)
        made.next, made.previous = empty((rows,), np.int32), empty((rows,), np.int32)
        made.sizes = np.zeros(1, np.int64)
        return made

    def reserve(self, rows: int) -> None:
        """Make room for row numbers below `rows`."""
        if rows > self.next.shape[0]:
            self.previous = grown(self.previous, rows, empty)
            self.next = grown(self.next, rows, empty)  # last: its length says what there is room for

    def trim(self, rows: int) -> None:
        """Give back room for row numbers from `rows` on, and for keys that are gone."""
        self.next = shrunk(self.next, rows)
        self.previous = shrunk(self.previous, rows)
        self.slots = hashing.fitted(self.slots, 2 * self.keys + 1)

    def vacate(self, rows: int) -> None:
        """Give back the memory that room for row numbers from `rows` on takes."""
        vacate(self.next, rows)
        vacate(self.previous, rows)

    def insert(self, relation: Relation, rows: npt.NDArray[np.int32]) -> None:
        done = 0
        while done < rows.shape[0]:
            done = int(
                enter(
                    rows, done, relation.rows, self.columns, self.slots, self.next, self.previous, self.sizes
                )
            )
            if done < rows.shape[0]:
                size = self.slots.shape[0] * 4
                relation.ask(8 * size, f"an index of {relation.name} with {self.keys:,} keys and more")
                bigger = np.zeros(size, np.int64)
                hashing.move_slots(self.slots, bigger)
                self.slots = bigger

    def remove(self, relation: Relation, rows: npt.NDArray[np.int32]) -> None:
        """Take rows out; the relation still has their codes."""
        leave(rows, relation.rows, self.columns, self.slots, self.next, self.previous, self.sizes)

    def retract(self, relation: Relation, rows: npt.NDArray[np.int32]) -> None:
        """Take out rows of a version that is undone."""
        self.remove(relation, rows)

    def to_front(self, relation: Relation, rows: npt.NDArray[np.int32]) -> None:
        """Make each row the first of its chain."""
        lead(rows, relation.rows, self.columns, self.slots, self.next, self.previous)


@compiled(
    "int64(int32[::1], int64, stored[:, ::1], int64[::1], int64[::1], int32[::1], int32[::1], int64[::1])",
    ending="chains",
)
def enter(which, start, rows, columns, slots, following, previous, sizes):
    """Enter rows from position `start` on; stop early, and say where, when the table is too full."""
    mask = np.int64(slots.shape[0] - 1)
    limit = slots.shape[0] // 2
    for i in range(start, which.shape[0]):
        if sizes[0] >= limit:
            return np.int64(i)
        row = np.int64(which[i])
        tag = hash_row(rows, row, columns)
        p = home(tag, slots.shape[0])
        while True:
            entry = slots[p]
            if entry == 0:
                slots[p] = (tag << 32) | (row + 1)
                following[row] = -1
                previous[row] = -1
                sizes[0] += 1
                break
            if (entry >> 32) & ROW == tag:
                first = (entry & ROW) - 1
                same = True
                for j in range(columns.shape[0]):
                    if rows[first, columns[j]] != rows[row, columns[j]]:
                        same = False
                        break
                if same:
                    second = following[first]
                    following[row] = second
                    previous[row] = first
                    following[first] = row
                    if second >= 0:
                        previous[second] = row
                    break
            p = (p + 1) & mask
    return np.int64(which.shape[0])


@compiled(
    "void(int32[::1], stored[:, ::1], int64[::1], int64[::1], int32[::1], int32[::1], int64[::1])",
    ending="chains",
)
def leave(which, rows, columns, slots, following, previous, sizes):
    """Take rows out of their chains; an empty chain leaves the table."""
    mask = np.int64(slots.shape[0] - 1)
    for i in range(which.shape[0]):
        row = np.int64(which[i])
        later = np.int64(following[row])
        earlier = np.int64(previous[row])
        if later >= 0:
            previous[later] = earlier
        if earlier >= 0:
            following[earlier] = later
            continue
        p = home(hash_row(rows, row, columns), slots.shape[0])
        while (slots[p] & ROW) - 1 != row:
            p = (p + 1) & mask
        if later >= 0:
            slots[p] = (slots[p] & ~ROW) | (later + 1)
        else:
            close_gap(slots, p)
            sizes[0] -= 1


@compiled("void(int32[::1], stored[:, ::1], int64[::1], int64[::1], int32[::1], int32[::1])")
def lead(which, rows, columns, slots, following, previous):
    """Move rows to the front of their chains."""
    mask = np.int64(slots.shape[0] - 1)
    for i in range(which.shape[0]):
        row = np.int64(which[i])
        earlier = np.int64(previous[row])
        if earlier < 0:
            continue
        later = np.int64(following[row])
        following[earlier] = later
        if later >= 0:
            previous[later] = earlier
        first = earlier
        tag = hash_row(rows, row, columns)
        p = home(tag, slots.shape[0])
        while True:
            if (slots[p] >> 32) & ROW == tag:
                first = (slots[p] & ROW) - 1
                same = True
                for j in range(columns.shape[0]):
                    if rows[first, columns[j]] != rows[row, columns[j]]:
                        same = False
                        break
                if same:
                    break
            p = (p + 1) & mask
        following[row] = first
        previous[row] = -1
        previous[first] = row
        slots[p] = (slots[p] & ~ROW) | (row + 1)
