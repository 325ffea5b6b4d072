"""A relation whose rows carry a count that changes are added to: key columns, and one signed number.

What holds: a row is there while its count is not 0; its number stays as long as it is there. Within a version the
count from before it is known for every row that was touched (`before`), so what appeared and what is gone can be
told, and all of it taken back. Until the version ends, rows that went to 0 keep their places. Whether a count may be
negative is the owner's business: `negative` finds rows that are.

Rows may be *chained* by their first column, which then is a small number (an owner, such as a group): all rows of an
owner are found without looking at others. Nothing here knows what keys mean.

>>> pairs = Accumulating("pairs", 2, chained=True)
>>> pairs.add(np.array([[0, 7], [0, 8], [0, 7]]), np.array([1, 1, 1])).tolist()
[0, 1, 0]
>>> pairs.commit()
>>> pairs.add(np.array([[0, 8], [0, 9]]), np.array([-1, 4])).tolist()
[1, 2]
>>> offsets, rows = pairs.of_owners(np.array([0]), before=True)
>>> sorted(pairs.rows[rows, 1].tolist())
[7, 8]
>>> offsets, rows = pairs.of_owners(np.array([0]))
>>> sorted(pairs.rows[rows, 1].tolist())
[7, 9]
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.kernel.compiled import WIDTHS, compiled, load_endings
from headwater.kernel.hashing import hash_row
from headwater.kernel.memory import Room, Unbounded, grown, zeros
from headwater.kernel.prefetch import BLOCK
from headwater.kernel.row_table import (
    ENTRY_BYTES,
    SHORTEST_TABLE,
    Slots,
    fill_table,
    forget,
    has_room,
    mark_of,
    number_bits,
    table_size,
)
from headwater.kernel.rowops import approach_tuples, arrive
from headwater.kernel.states import STORED, TOUCHED

Ints = npt.NDArray[np.int64]
FEWEST = 16
NOBODY = -1


class Accumulating:
    """Rows with counts, an index over their keys, and what counts were before the open version."""

    def __init__(self, name: str, arity: int, *, chained: bool = False, room: Room | None = None):
        self.name = name
        self.arity = arity
        self.chained = chained
        self.room = room or Unbounded()
        self.columns: Ints = np.arange(arity, dtype=np.int64)
        self._scratch: Ints = np.empty(2 * BLOCK, np.int64)
        self.clear()
        self.room.keep(self)

    def clear(self) -> None:
        """Drop all rows."""
        self.rows: Ints = np.zeros((FEWEST, self.arity + 1), np.int64)
        self._before: Ints = np.zeros(FEWEST, np.int64)
        self._marks: npt.NDArray[np.uint8] = np.zeros(FEWEST, np.uint8)
        self._slots: Slots = np.zeros(SHORTEST_TABLE, np.uint32)
        self._free: Ints = np.zeros(FEWEST, np.int64)
        self._touched: Ints = np.zeros(FEWEST, np.int64)
        self._next: Ints = np.full(FEWEST if self.chained else 0, NOBODY, np.int64)
        self._previous: Ints = np.full(FEWEST if self.chained else 0, NOBODY, np.int64)
        self._heads: Ints = np.full(FEWEST if self.chained else 0, NOBODY, np.int64)
        self._sizes: Ints = np.zeros(4, np.int64)

    def __len__(self) -> int:
        """How many rows there are; exact between versions."""
        return int(self._sizes[1])

    @property
    def top(self) -> int:
        """All numbers of rows are below this."""
        return int(self._sizes[0])

    @property
    def counts(self) -> Ints:
        """The count of each row by its number, 0 where there is none. A view."""
        return self.rows[:, self.arity]

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        arrays = (
            self.rows, self._before, self._marks, self._slots, self._free, self._touched,
            self._next, self._previous, self._heads,
        )  # fmt: skip
        return sum(array.nbytes for array in arrays)

    # ------------------------------------------------------------------ changes

    def add(self, keys: Ints, counts: Ints) -> Ints:
        """Add to the counts of rows, which are made where they are not there; the numbers of the rows."""
        keys, counts = _writable(keys), _writable(counts)
        self._reserve(keys.shape[0], int(keys[:, 0].max()) + 1 if self.chained and len(keys) else 0)
        places = np.empty(keys.shape[0], np.int64)
        add_counts(
            keys, counts, self.arity, self.rows, self._before, self._marks,
            self._slots, self._free, self._sizes, self._touched, self._next, self._previous, self._heads,
            places, self._scratch,
        )  # fmt: skip
        return places

    def find(self, keys: Ints) -> Ints:
        """The numbers of rows, and -1 for those that are not there."""
        keys = _writable(keys)
        places = np.empty(keys.shape[0], np.int64)
        find_keys(keys, self.arity, self.rows, self._marks, self._slots, places, self._scratch)
        return places

    @property
    def touched(self) -> Ints:
        """The numbers of the rows that the open version has added to, each once."""
        return self._touched[: self._sizes[3]].copy()

    def before(self, rows: Ints) -> Ints:
        """The counts of rows before the open version."""
        return np.where(self._marks[rows] & TOUCHED != 0, self._before[rows], self.rows[rows, self.arity])

    def negative(self) -> Ints:
        """The rows that the open version has brought below 0."""
        touched = self._touched[: self._sizes[3]]
        below: Ints = touched[self.rows[touched, self.arity] < 0]
        return below

    def live_rows(self) -> Ints:
        """The numbers of all rows that are there."""
        return np.flatnonzero(self.rows[: self.top, self.arity])

    def of_owners(self, owners: Ints, *, before: bool = False) -> tuple[Ints, Ints]:
        """The rows of each owner, one owner after the other, and where each begins (and the last one ends): those of
        now, or those from before the open version."""
        owners = _writable(owners)
        offsets = np.zeros(owners.shape[0] + 1, np.int64)
        count_owned(
            owners, self.rows, self.arity, self._before, self._marks, self._next, self._heads, before, offsets
        )
        np.cumsum(offsets, out=offsets)
        found = np.empty(int(offsets[-1]), np.int64)
        list_owned(
            owners, self.rows, self.arity, self._before, self._marks, self._next, self._heads, before, found
        )
        return offsets, found

    def commit(self) -> None:
        """End the version: rows whose count is 0 go."""
        end_counts(
            False, self.columns, self.rows, self._before, self._marks, self._slots, self._free, self._sizes,
            self._touched, self._next, self._previous, self._heads,
        )  # fmt: skip

    def rollback(self) -> None:
        """End the version as if it had not been."""
        end_counts(
            True, self.columns, self.rows, self._before, self._marks, self._slots, self._free, self._sizes,
            self._touched, self._next, self._previous, self._heads,
        )  # fmt: skip

    # ------------------------------------------------------------------ room

    def _reserve(self, extra: int, owners: int) -> None:
        top, stored, _, touched = self._sizes.tolist()
        if top + extra > self.rows.shape[0]:
            size = max(top + extra, self.rows.shape[0] * 2)
            self._ask((size - self.rows.shape[0]) * 8 * (self.arity + 5))
            load_endings(size, min(WIDTHS), "counts")
            self._before = grown(self._before, size)
            self._marks = grown(self._marks, size)
            self._free = grown(self._free, size)
            if self.chained:
                self._next, self._previous = grown(self._next, size), grown(self._previous, size)
            self.rows = grown(self.rows, size)
        if touched + extra > self._touched.shape[0]:
            self._touched = grown(self._touched, max(touched + extra, 2 * self._touched.shape[0]))
        if owners > self._heads.shape[0] and self.chained:
            start = self._heads.shape[0]
            self._heads = grown(self._heads, max(owners, 2 * start))
            self._heads[start:] = NOBODY
        if not has_room(self._slots, stored + extra, top + extra):
            size = table_size(stored + extra, top + extra, self._slots.shape[0])
            self._ask(size * ENTRY_BYTES)
            bigger: Slots = zeros((size,), np.uint32)
            fill_table(bigger, self.rows, self.columns, self._marks, top, self._scratch)
            self._slots = bigger

    def _ask(self, needed: int) -> None:
        if needed >= self.room.least:
            self.room.ask(needed, f"more rows of {self.name}")


def _writable(numbers: Ints) -> Ints:
    """What compiled functions take: Arrow's arrays, which nobody may write to, are copied."""
    return np.require(numbers, np.int64, ["C", "W"])


@compiled(
    "void(int64[:, ::1], int64[::1], int64, int64[:, ::1], int64[::1], uint8[::1], uint32[::1], int64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])"
)
def add_counts(
    keys, counts, arity, rows, before, marks, slots, free, sizes, touched, following, previous, heads,
    places, scratch,
):  # fmt: skip
    """Add to counts; `sizes` is [numbers ever used, rows, entries of `free`, of `touched`]."""
    bits = number_bits(slots.shape[0])
    for start in range(0, keys.shape[0], BLOCK):
        count = min(BLOCK, keys.shape[0] - start)
        approach_tuples(keys, start, count, arity, rows, marks, slots, scratch)
        for i in range(count):
            t = start + i
            tag = scratch[i]
            p = arrive(keys, t, arity, rows, slots, tag, scratch[BLOCK + i])
            entry = np.int64(slots[p])
            if entry == 0:
                if sizes[2] > 0:
                    sizes[2] -= 1
                    row = free[sizes[2]]
                else:
                    row = sizes[0]
                    sizes[0] += 1
                sizes[1] += 1
                for j in range(arity):
                    rows[row, j] = keys[t, j]
                rows[row, arity] = 0
                slots[p] = mark_of(tag, slots.shape[0]) | (row + 1)
                marks[row] = STORED
                if heads.shape[0] > 0:
                    owner = keys[t, 0]
                    first = heads[owner]
                    following[row] = first
                    previous[row] = NOBODY
                    if first >= 0:
                        previous[first] = row
                    heads[owner] = row
            else:
                row = (entry & bits) - 1
            if marks[row] & TOUCHED == 0:
                marks[row] |= TOUCHED
                before[row] = rows[row, arity]
                touched[sizes[3]] = row
                sizes[3] += 1
            rows[row, arity] += counts[t]
            places[t] = row


@compiled("void(int64[:, ::1], int64, int64[:, ::1], uint8[::1], uint32[::1], int64[::1], int64[::1])")
def find_keys(keys, arity, rows, marks, slots, places, scratch):
    """Look rows up."""
    bits = number_bits(slots.shape[0])
    for start in range(0, keys.shape[0], BLOCK):
        count = min(BLOCK, keys.shape[0] - start)
        approach_tuples(keys, start, count, arity, rows, marks, slots, scratch)
        for i in range(count):
            p = arrive(keys, start + i, arity, rows, slots, scratch[i], scratch[BLOCK + i])
            places[start + i] = (np.int64(slots[p]) & bits) - 1


@compiled()
def counted(row, rows, arity, before, marks, earlier):
    """The count of a row now, or before the open version."""
    if earlier and marks[row] & TOUCHED != 0:
        return before[row]
    return rows[row, arity]


@compiled(
    "void(int64[::1], int64[:, ::1], int64, int64[::1], uint8[::1], int64[::1], int64[::1], boolean, int64[::1])"
)
def count_owned(owners, rows, arity, before, marks, following, heads, earlier, counts):
    """Write how many rows each owner has behind the owner's place in `counts`."""
    for i in range(owners.shape[0]):
        n = np.int64(0)
        if owners[i] < heads.shape[0]:
            row = heads[owners[i]]
            while row >= 0:
                if counted(row, rows, arity, before, marks, earlier) > 0:
                    n += 1
                row = following[row]
        counts[i + 1] = n


@compiled(
    "void(int64[::1], int64[:, ::1], int64, int64[::1], uint8[::1], int64[::1], int64[::1], boolean, int64[::1])"
)
def list_owned(owners, rows, arity, before, marks, following, heads, earlier, found):
    """Write the rows of all owners to `found`."""
    n = np.int64(0)
    for i in range(owners.shape[0]):
        if owners[i] < heads.shape[0]:
            row = heads[owners[i]]
            while row >= 0:
                if counted(row, rows, arity, before, marks, earlier) > 0:
                    found[n] = row
                    n += 1
                row = following[row]


@compiled(
    "void(boolean, int64[::1], int64[:, ::1], int64[::1], uint8[::1], uint32[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1])",
    ending="counts",
)
def end_counts(undo, columns, rows, before, marks, slots, free, sizes, touched, following, previous, heads):
    """Forget what counts were before, or go back to it; rows without a count go."""
    arity = columns.shape[0]
    for i in range(sizes[3] - 1, -1, -1):
        row = touched[i]
        marks[row] = STORED
        if undo:
            rows[row, arity] = before[row]
        if rows[row, arity] == 0:
            forget(row, hash_row(rows, row, columns), columns, rows, slots)
            marks[row] = 0
            if heads.shape[0] > 0:
                later = following[row]
                earlier = previous[row]
                if later >= 0:
                    previous[later] = earlier
                if earlier >= 0:
                    following[earlier] = later
                else:
                    heads[rows[row, 0]] = later
            sizes[1] -= 1
            free[sizes[2]] = row
            sizes[2] += 1
    sizes[3] = 0
