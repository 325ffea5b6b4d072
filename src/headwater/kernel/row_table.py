"""The table over whole rows: open addressing with entries of 32 bits, as free functions over plain arrays.

A slot is 0 (empty) or a row's number plus one, and above it as much of the tag of its values (see `hashing`) as there
is place for. The table is longer than the largest of these numbers: of `size` = 2^k slots, the k low bits of an entry
are the number, the 32 - k others are its *mark*. A mark is cut out of the tag such that its `HOME_BITS` highest bits
are the lowest of the position where the entry belongs, its home, and the others those below them. So one look tells

- whether an entry may be the row that is looked for: most others differ in their mark;
- how far an entry is from its home, unless that may be `TOLD` slots or more, in a run of entries that is as long.
  Then, and in tables of more than `LONGEST_TOLD` slots, whoever must know hashes the row again.

Collisions go to the next slot; removal shifts entries back, so there are no tombstones and a table never degrades
under inserts and deletes. A larger table is filled from the rows: what is stored is in it.

Rows are looked for a block at a time (see `prefetch`): their tags are put into `scratch`, which has room for two
numbers for each of a block, the slots of the block are asked for, then the rows that they lead to (`approach`).
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.kernel.compiled import compiled
from headwater.kernel.hashing import hash_row, home
from headwater.kernel.prefetch import BLOCK, prefetch
from headwater.kernel.states import STORED
from headwater.kernel.vectors import GROUP, search_end

Slots = npt.NDArray[np.uint32]
SHORTEST = 32
"""How many slots a table has at the least."""
HOME_BITS = 5
TOLD = 1 << HOME_BITS
LONGEST_TOLD = 1 << (32 - HOME_BITS)
ENTRY = 0xFFFFFFFF
"""All bits of an entry."""
ENTRY_BYTES = 4


def table_size(rows: int, numbers: int, least: int = SHORTEST) -> int:
    """How many slots a table has that there is room for so many rows in, with numbers below `numbers`; no fewer than
    `least`."""
    size = least
    while rows * 5 > size * 3 or numbers >= size:
        size *= 2
    return size


def has_room(slots: Slots, rows: int, numbers: int) -> bool:
    """Whether a table can have so many rows, with numbers below `numbers`."""
    return bool(rows * 5 <= slots.shape[0] * 4 and numbers < slots.shape[0])


@compiled()
def mark_of(tag, size):
    """What an entry has of a tag, in a table of some size."""
    return ((tag >> HOME_BITS) * np.int64(size)) & ENTRY


@compiled()
def probe(position, mark, slots):
    """The position of the first slot from this one on that is empty or has this mark."""
    mask = np.int64(slots.shape[0] - 1)
    p = position
    while True:
        begin = p & -GROUP
        p = search_end(slots, p, mark, mask)
        if p < begin + GROUP:
            break
        p &= mask
    return p


@compiled()
def approach(count, rows, arity, state, slots, scratch):
    """Look for a block of rows whose tags are in `scratch`, as far as it goes without the rows, which are asked for
    meanwhile. Their slots have been asked for. `scratch` gets, behind the tags, the position of the first slot with
    that mark, or of the empty one before it (see `vectors`)."""
    size = slots.shape[0]
    mask = np.int64(size - 1)
    width = rows.shape[1]
    for i in range(count):
        p = probe(home(scratch[i], size), mark_of(scratch[i], size), slots)
        row = (
            np.int64(slots[p]) & mask
        ) - 1  # or -1, which nothing is before: asking costs less than a wrong guess
        prefetch(rows, row * width)
        if arity > 2:
            prefetch(rows, row * width + arity)
        prefetch(state, row)
        scratch[BLOCK + i] = p


@compiled("void(uint32[::1], stored[:, ::1], int64[::1], uint8[::1], int64, int64[::1])")
def fill_table(slots, rows, columns, state, top, scratch):
    """Enter all stored rows, which are distinct, into an empty table."""
    size = slots.shape[0]
    mask = np.int64(size - 1)
    for start in range(0, top, BLOCK):
        count = min(BLOCK, top - start)
        for i in range(count):
            tag = hash_row(rows, start + i, columns)
            scratch[i] = tag
            prefetch(slots, home(tag, size))
        for i in range(count):
            if state[start + i] & STORED != 0:
                tag = scratch[i]
                p = home(tag, size)
                while slots[p] != 0:
                    p = (p + 1) & mask
                slots[p] = mark_of(tag, size) | (start + i + 1)


@compiled()
def forget(row, tag, columns, rows, slots):
    """Take a row with a known tag out, and shift later entries of its run back, so that all stay reachable."""
    size = slots.shape[0]
    mask = np.int64(size - 1)
    gap = home(tag, size)
    while (np.int64(slots[gap]) & mask) - 1 != row:
        gap = (gap + 1) & mask
    begin = gap
    while slots[(begin - 1) & mask] != 0:
        begin = (begin - 1) & mask
    p = gap
    while True:
        p = (p + 1) & mask
        entry = np.int64(slots[p])
        if entry == 0:
            break
        far = (p - (entry >> (32 - HOME_BITS))) & (TOLD - 1)
        wanted = (p - gap) & mask
        if size > LONGEST_TOLD or (far < wanted and (p - begin) & mask >= far + TOLD):
            far = (p - home(hash_row(rows, (entry & mask) - 1, columns), size)) & mask
        if far >= wanted:
            slots[gap] = entry
            gap = p
    slots[gap] = 0
