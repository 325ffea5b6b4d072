"""A secondary index: from the values of some columns to a list of the rows that have them.

A hash table (see `hashing`) finds a key's only row or, once there are several, its list. A list is a block of the
pool of `HEAD` numbers, [tail, count, dead, its first rows ...], and after it as many chunks as it needs, each
[the chunk before, rows ...], the first ones smaller than the others. Lists are walked from the tail back, block by
block: the rows of a chunk lie side by side, so that all of them can be asked for before the first is looked at (see
`prefetch`). How full a chunk is follows from the count. The number of distinct keys is always known: it is what join
orders are chosen by.

Rows are entered at the end, and taken back from there when a version is undone: in the order, from the last one on,
in which it made them. Rows that go otherwise are only counted (`dead`), and swept out once they are half of a list,
so that it costs the same to remove a row whatever the length of its list. Until all lists have let go of such a row
its place is not used again, and its codes stay: its count says how many lists it is in (see `version_end`).
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
from headwater.kernel.prefetch import BLOCK, prefetch
from headwater.kernel.states import STORED

if TYPE_CHECKING:
    from headwater.kernel.relation import Relation

LIST = np.int64(1 << 31)
"""The bit by which an entry of the table tells a list from a row."""
HEAD = 8
"""How long the block is that a list begins with; all blocks begin at multiples of it."""
IN_HEAD, IN_CHUNK = 5, 63
"""How many rows are in the head of a list, and in all chunks but the first ones, which have `SHORTER` ones."""
SHORTER = (7, 15, 15, 31, 31)
FIRST_FULL, SECOND_FULL, THIRD_FULL, FOURTH_FULL, FIFTH_FULL = (
    IN_HEAD + sum(SHORTER[: chunks + 1]) for chunks in range(len(SHORTER))
)
"""How many rows a list has whose first chunk, or first two, three, four or five, are full."""
LONGEST = 64
"""How long a block is at most: as with all, `HEAD` times a power of two, which is what kind of block it is."""
MOST_SLOTS_QUADRUPLED = 1 << 11
"""Tables that are full are made four times as long up to here, then twice."""
COUNT, SWEEP, TAKE_BACK = 0, 1, 2
"""What `leave` does about rows, one after another."""


class Lists:
    """Lists of rows by key.

    `sizes` is [keys, how much of the pool is in use, and for each kind of block the first free one or 0].
    """

    row_bytes = 5
    """What room for one more row takes, about."""

    def __init__(self, columns: tuple[int, ...]):
        self.columns: npt.NDArray[np.int64] = np.array(columns, np.int64)
        self.slots: npt.NDArray[np.int64] = np.zeros(32, np.int64)
        self.pool: npt.NDArray[np.int32] = np.empty(2 * LONGEST, np.int32)
        self.sizes: npt.NDArray[np.int64] = np.zeros(6, np.int64)
        self.sizes[1] = HEAD  # no block is at 0

    @property
    def keys(self) -> int:
        """How many distinct keys there are."""
        return int(self.sizes[0])

    @property
    def nbytes(self) -> int:
        return self.slots.nbytes + self.pool.nbytes

    def successor(self, rows: int) -> Lists:
        """An empty index on the same columns, with room for about so many rows."""
        made = Lists(tuple(self.columns.tolist()))
        made.slots = hashing.empty_slots(slots_for(min(rows, self.keys)))
        made.pool = empty((rows + 2 * LONGEST,), np.int32)
        return made

    def reserve(self, rows: int) -> None:
        """Room is made when rows are entered."""

    def trim(self, rows: int) -> None:
        """Give back room that is not used."""
        self.pool = shrunk(self.pool, int(self.sizes[1]) + 2 * LONGEST)
        self.slots = hashing.fitted(self.slots, slots_for(self.keys))

    def vacate(self, rows: int) -> None:
        """Give back memory that room takes which is not used."""
        vacate(self.pool, int(self.sizes[1]))

    def insert(self, relation: Relation, rows: npt.NDArray[np.int32]) -> None:
        done = 0
        while True:
            done = int(
                enter(
                    rows,
                    done,
                    relation.rows,
                    self.columns,
                    self.slots,
                    self.pool,
                    self.sizes,
                    relation.index_scratch,
                )
            )
            if done == rows.shape[0]:
                return
            if self.keys >= self.slots.shape[0] // 4 * 3:
                size = self.slots.shape[0] * (4 if self.slots.shape[0] < MOST_SLOTS_QUADRUPLED else 2)
                relation.ask(8 * size, f"an index of {relation.name} with {self.keys:,} keys and more")
                bigger = np.zeros(size, np.int64)
                hashing.move_slots(self.slots, bigger)
                self.slots = bigger
            else:
                there = self.pool.shape[0]
                size = min(2 * there, there * 17 // 16 + LONGEST * LONGEST)
                relation.ask(4 * (size - there), f"an index of {relation.stored:,} rows of {relation.name}")
                self.pool = grown(self.pool, size, empty)

    def remove(self, relation: Relation, rows: npt.NDArray[np.int32]) -> None:
        """Rows are stored no more. The relation still has their codes, and in the place of its count each has the
        number of lists it is in; places of rows that are in none any more become free."""
        self._leave(COUNT, SWEEP, relation, rows)

    def retract(self, relation: Relation, rows: npt.NDArray[np.int32]) -> None:
        """Take out rows that were entered last, and in this order; they are still stored."""
        self._leave(TAKE_BACK, TAKE_BACK, relation, rows)

    def _leave(self, first: int, last: int, relation: Relation, rows: npt.NDArray[np.int32]) -> None:
        leave(
            first, last, rows, relation.rows, relation.state, self.columns, self.slots, self.pool, self.sizes,
            relation.free, relation.sizes, relation.count_column,
        )  # fmt: skip


def slots_for(keys: int) -> int:
    """How many slots a table needs at the least that is to have so many keys and more."""
    return keys * 4 // 3 + 4


@compiled()
def filled(count):
    """How many of the rows of a list that has so many are in its last block."""
    if count > FIFTH_FULL:
        return (count - FIFTH_FULL - 1) % IN_CHUNK + 1
    if count > THIRD_FULL:
        return count - (FOURTH_FULL if count > FOURTH_FULL else THIRD_FULL)
    if count > FIRST_FULL:
        return count - (SECOND_FULL if count > SECOND_FULL else FIRST_FULL)
    return count - (IN_HEAD if count > IN_HEAD else 0)


@compiled()
def last_kind(count):
    """What kind of block the last one of a list is that has so many rows."""
    return np.int64(count > FIRST_FULL) + np.int64(count > THIRD_FULL) + np.int64(count > FIFTH_FULL)


@compiled()
def allocate(kind, pool, sizes):
    """A block of the pool, which has room for it."""
    block = sizes[2 + kind]
    if block != 0:
        sizes[2 + kind] = np.int64(pool[block])
    else:
        block = sizes[1]
        sizes[1] += np.int64(HEAD) << kind
    return block


@compiled()
def release(block, kind, pool, sizes):
    """Give a block back."""
    if block + (np.int64(HEAD) << kind) == sizes[1]:
        sizes[1] = block
    else:
        pool[block] = np.int32(sizes[2 + kind])
        sizes[2 + kind] = block


@compiled()
def slot_of(row, tag, start, rows, columns, slots, pool):
    """The position in the table of the row's key, or of the empty slot where it would go, from `start` on."""
    mask = np.int64(slots.shape[0] - 1)
    p = start
    while True:
        entry = slots[p]
        if entry == 0:
            break
        if (entry >> 32) & ROW == tag:
            # Any row of the list tells its key, one that is stored no more as well.
            other = (
                np.int64(pool[(entry & (LIST - 1)) * HEAD + 3]) if entry & LIST != 0 else (entry & ROW) - 1
            )
            same = True
            for j in range(columns.shape[0]):
                if rows[other, columns[j]] != rows[row, columns[j]]:
                    same = False
                    break
            if same:
                break
        p = (p + 1) & mask
    return p


@compiled(
    "int64(int32[::1], int64, stored[:, ::1], int64[::1], int64[::1], int32[::1], int64[::1], int64[::1])",
    ending="earlier",
    joining=True,
)
def enter(which, start, rows, columns, slots, pool, sizes, scratch):
    """Enter rows from position `start` on; stop early, and say where, when the table or the pool is too full."""
    size = slots.shape[0]
    limit = size // 4 * 3
    most = pool.shape[0] - HEAD - LONGEST
    for begin in range(start, which.shape[0], BLOCK):
        count = min(BLOCK, which.shape[0] - begin)
        for i in range(count):
            tag = hash_row(rows, np.int64(which[begin + i]), columns)
            scratch[i] = tag
            prefetch(slots, home(tag, size))
        for i in range(count):
            entry = slots[home(scratch[i], size)]
            if entry & LIST != 0:
                prefetch(pool, (entry & (LIST - 1)) * HEAD)
            elif entry != 0:
                prefetch(rows, ((entry & ROW) - 1) * rows.shape[1])
        for i in range(count):
            if sizes[0] >= limit or sizes[1] > most:
                return np.int64(begin + i)
            row = np.int64(which[begin + i])
            tag = scratch[i]
            p = slot_of(row, tag, home(tag, size), rows, columns, slots, pool)
            entry = slots[p]
            if entry == 0:
                slots[p] = (tag << 32) | (row + 1)
                sizes[0] += 1
                continue
            head = (entry & (LIST - 1)) * HEAD
            n = np.int64(1)
            if entry & LIST != 0:
                n = np.int64(pool[head + 1])
            block = np.int64(0)
            if entry & LIST == 0 or filled(n + 1) == 1:  # there was one row only, or the last block is full
                block = allocate(np.int64(0) if entry & LIST == 0 else last_kind(n + 1), pool, sizes)
            if entry & LIST == 0:
                head = block
                pool[head] = np.int32(head)
                pool[head + 2] = 0
                pool[head + 3] = np.int32((entry & ROW) - 1)
                slots[p] = (tag << 32) | LIST | (head // HEAD)
            elif block != 0:
                pool[block] = pool[head]
                pool[head] = np.int32(block)
            pool[head + 1] = np.int32(n + 1)
            pool[np.int64(pool[head]) + (2 if n < IN_HEAD else 0) + filled(n + 1)] = np.int32(row)
    return np.int64(which.shape[0])


@compiled(
    "void(int64, int64, int32[::1], stored[:, ::1], uint8[::1], int64[::1], int64[::1], int32[::1], int64[::1],"
    " int32[::1], int64[::1], int64)",
    ending="earlier",
)
def leave(
    first_how, last_how, which, rows, state, columns, slots, pool, sizes, free, relation_sizes, count_column,
):  # fmt: skip
    """Rows that leave their lists, the last one first: what is done about all of them, then what is done next.

    `COUNT`: they are stored no more; count them. `SWEEP`, after that: take such rows out of lists that have as many
    of them as others, and let go of them. `TAKE_BACK`: they are the last ones of their lists.
    """
    for how in range(first_how, last_how + 1):
        for i in range(which.shape[0] - 1, -1, -1):
            tag = hash_row(rows, np.int64(which[i]), columns)
            p = slot_of(np.int64(which[i]), tag, home(tag, slots.shape[0]), rows, columns, slots, pool)
            entry = slots[p]
            if entry == 0:
                continue  # a list that was swept, and is gone
            head = (entry & (LIST - 1)) * HEAD
            left = np.int64(0)
            block = np.int64(0)
            if entry & LIST == 0:
                if how == SWEEP:
                    continue
                if how == COUNT:
                    row = (entry & ROW) - 1
                    rows[row, count_column] -= 1
                    if rows[row, count_column] == 0:
                        free[relation_sizes[2]] = row
                        relation_sizes[2] += 1
            elif how == COUNT:
                pool[head + 2] += 1
                continue
            else:
                left = np.int64(pool[head + 1])
                block = np.int64(pool[head])
                if how == SWEEP and 2 * pool[head + 2] < left:
                    continue
            # From the end: what follows `left` is stored, and fills the gaps. Taking back looks at the last row only,
            # and goes on where all others are dead.
            first = True
            while left > 0:
                size = filled(left)
                begin = block + (3 if left <= IN_HEAD else 1)
                block = np.int64(pool[block])
                for place in range(begin + size - 1, begin - 1, -1):
                    row = np.int64(pool[place])
                    left -= 1
                    if (how == TAKE_BACK and first) or state[row] & STORED == 0:
                        if how == SWEEP or not first:
                            rows[row, count_column] -= 1
                            if rows[row, count_column] == 0:
                                free[relation_sizes[2]] = row
                                relation_sizes[2] += 1
                        n = np.int64(pool[head + 1])
                        tail = np.int64(pool[head])
                        last = tail + (2 if n <= IN_HEAD else 0) + filled(n)
                        pool[place] = pool[last]
                        pool[head + 1] = np.int32(n - 1)
                        if n > IN_HEAD and filled(n) == 1:
                            pool[head] = pool[tail]
                            release(tail, last_kind(n), pool, sizes)
                    first = False
                    if how == TAKE_BACK and pool[head + 1] > pool[head + 2]:
                        left = np.int64(0)
                        break
            if entry & LIST != 0:
                if how == SWEEP:
                    pool[head + 2] = 0
                if pool[head + 1] > 0:
                    continue
                release(head, np.int64(0), pool, sizes)
            close_gap(slots, p)
            sizes[0] -= 1
