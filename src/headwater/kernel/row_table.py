"""The table over whole rows: open addressing with entries of 32 bits, as free functions over plain arrays.

A slot is 0 (empty) or a row's number plus one, and above it as much of the tag of its values (see `hashing`) as there
is place for. The table is longer than the largest of these numbers. With 2^k slots, or fewer but more than half as
many, the k low bits of an entry are the number, the 32 - k others are its *mark*. The tag times the length of the
table has the position where the entry belongs, its home, in its upper 32 bits. The mark's `HOME_BITS` highest bits
are the lowest of these, and the others those below them. So one look tells

- whether an entry may be the row that is looked for: most others differ in their mark;
- how far an entry is from its home, unless that may be `TOLD` slots or more, in a run of entries that is as long.
  Then, and in tables of more than `LONGEST_TOLD` slots, whoever must know hashes the row again.

Collisions go to the next slot; removal shifts entries back, so there are no tombstones and a table never degrades
under inserts and deletes. A larger table is filled from the rows: what is stored is in it. Tables are doubled while
rows come in; one of a relation that has been loaded may have any length that `TOLD` divides (`fitting_size`).

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
from headwater.kernel.vectors import GROUP, HOME_BITS, empty_before, last_movable, search_end

Slots = npt.NDArray[np.uint32]
SHORTEST_TABLE = 32
"""How many slots a table has at the least."""
TOLD = 1 << HOME_BITS
LONGEST_TOLD = 1 << (32 - HOME_BITS)
ENTRY = 0xFFFFFFFF
"""All bits of an entry."""
ENTRY_BYTES = 4


def table_size(rows: int, numbers: int, least: int = SHORTEST_TABLE) -> int:
    """How many slots a table has that there is room for so many rows in, with numbers below `numbers`; no fewer than
    `least`."""
    size = least
    while rows * 5 > size * 3 or numbers >= size:
        size *= 2
    return size


def has_room(slots: Slots, rows: int, numbers: int) -> bool:
    """Whether a table can have so many rows, with numbers below `numbers`."""
    return bool(rows * 5 <= slots.shape[0] * 4 and numbers < slots.shape[0])


def fitting_size(rows: int, numbers: int) -> int:
    """How many slots a table needs that is to have so many rows, with numbers below `numbers`, and a few more."""
    return max(SHORTEST_TABLE, -(-max(rows * 4, numbers * 3 + 3) // (3 * TOLD)) * TOLD)


@compiled()
def number_bits(size):
    """The bits of an entry that are a row's number, in a table of some size."""
    bits = np.int64(size - 1)
    bits |= bits >> 1
    bits |= bits >> 2
    bits |= bits >> 4
    bits |= bits >> 8
    return bits | (bits >> 16)


@compiled()
def mark_of(tag, size):
    """What an entry has of a tag, in a table of some size."""
    return ((tag * np.int64(size)) >> HOME_BITS) & (ENTRY ^ number_bits(size))


@compiled()
def next_slot(position, size):
    """The position after this one."""
    p = position + 1
    return p if p < size else np.int64(0)


@compiled()
def way(start, stop, size):
    """How many slots it is from one position on to another."""
    return stop - start if stop >= start else stop - start + size


@compiled()
def probe(position, mark, slots):
    """The position of the first slot from this one on that is empty or has this mark."""
    size = slots.shape[0]
    bits = number_bits(size)
    p = position
    while True:
        begin = p & -GROUP
        p = search_end(slots, p, mark, bits)
        if p < begin + GROUP:
            break
        if p == size:
            p = np.int64(0)
    return p


@compiled()
def approach(count, rows, arity, state, slots, scratch):
    """Look for a block of rows whose tags are in `scratch`, as far as it goes without the rows, which are asked for
    meanwhile. Their slots have been asked for. `scratch` gets, behind the tags, the position of the first slot with
    that mark, or of the empty one before it (see `vectors`)."""
    size = slots.shape[0]
    bits = number_bits(size)
    width = rows.shape[1]
    for i in range(count):
        p = probe(home(scratch[i], size), mark_of(scratch[i], size), slots)
        row = (
            np.int64(slots[p]) & bits
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
                    p = next_slot(p, size)
                slots[p] = mark_of(tag, size) | (start + i + 1)


@compiled()
def forget(row, tag, columns, rows, slots):
    """Take a row with a known tag out, and shift later entries of its run back, so that all stay reachable.

    Of the entries that may move into the gap the last one is taken: those before it stay reachable with the gap
    closed, and the new gap is nearer to the end of the run. What entries tell of how far they are from home is the
    truth up to `TOLD` slots after an empty one. There entries are looked at in groups (see `vectors`).
    """
    size = slots.shape[0]
    bits = number_bits(size)
    mark = mark_of(tag, size)
    gap = probe(home(tag, size), mark, slots)
    while (np.int64(slots[gap]) & bits) - 1 != row:
        gap = probe(next_slot(gap, size), mark, slots)
    if GROUP <= gap < size - TOLD - GROUP and size <= LONGEST_TOLD:
        back = empty_before(slots, gap)
        while back <= TOLD - GROUP:
            further = last_movable(slots, gap)
            if further == 0:
                slots[gap] = 0
                return
            if further > GROUP:
                break
            slots[gap] = slots[gap + further]
            gap += further
            back += further
    close_run(gap, columns, rows, slots)


@compiled()
def close_run(gap, columns, rows, slots):
    """Close a gap in a run of any length: what `forget` cannot do by what entries tell."""
    size = slots.shape[0]
    bits = number_bits(size)
    before = np.int64(0)  # how many entries of the run are before the gap, as far as it matters
    p = gap
    while before < TOLD:
        p = p - 1 if p > 0 else np.int64(size - 1)
        if slots[p] == 0:
            break
        before += 1
    begin = gap
    while True:
        last = gap
        p = gap
        while True:
            p = next_slot(p, size)
            entry = np.int64(slots[p])
            if entry == 0:
                break
            far = told_way(p, entry)
            if far >= way(gap, p, size):  # it may be farther still
                last = p
            elif before + way(begin, p, size) >= far + TOLD:
                prefetch(rows, ((entry & bits) - 1) * rows.shape[1])
        if last == gap or size > LONGEST_TOLD:
            break
        slots[gap] = slots[last]
        gap = last
    p = gap
    while True:
        p = next_slot(p, size)
        entry = np.int64(slots[p])
        if entry == 0:
            break
        far = told_way(p, entry)
        wanted = way(gap, p, size)
        if size > LONGEST_TOLD or (far < wanted and before + way(begin, p, size) >= far + TOLD):
            far = way(home(hash_row(rows, (entry & bits) - 1, columns), size), p, size)
        if far >= wanted:
            slots[gap] = entry
            gap = p
    slots[gap] = 0


@compiled()
def told_way(position, entry):
    """How far an entry is from its home by what it tells, which leaves out multiples of `TOLD`."""
    return (position - (entry >> (32 - HOME_BITS))) & (TOLD - 1)
