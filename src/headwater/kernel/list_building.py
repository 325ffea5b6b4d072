"""All lists of an index made at once, from rows that are there: what row by row comes to, in less time.

Where the key is one column, and its codes are close to one another (places in a dictionary, small integers), nothing
need be looked for: the rows of each code are counted, every list gets all its blocks side by side, and each row is
written where it belongs, in the order in which rows were given. Other keys are entered row by row (see `lists`). What
comes out is the same: the same keys, and for each the same rows in the same order.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from headwater.kernel import hashing
from headwater.kernel.compiled import compiled
from headwater.kernel.hashing import home, mix, tag_of
from headwater.kernel.lists import (
    HEAD,
    IN_CHUNK,
    IN_HEAD,
    LIST,
    LONGEST,
    SHORTER,
    Lists,
    last_kind,
    slots_for,
)
from headwater.kernel.memory import empty
from headwater.kernel.prefetch import BLOCK, prefetch

if TYPE_CHECKING:
    from headwater.kernel.relation import Relation

FEWEST_ROWS_COUNTED = 1 << 11
"""From how many rows on it is worth counting them first."""
ROWS_A_CODE = 4
"""How many rows there must be for each code between the lowest and the highest."""
ROWS_LOOKED_AT = 1 << 10
"""How many rows are looked at to know about where codes are."""
LOWEST_CODE, HIGHEST_CODE = np.iinfo(np.int64).min, np.iinfo(np.int64).max
SHORTER_LENGTH = HEAD + sum(rows + 1 for rows in SHORTER)
"""How long the head and the shorter chunks of a list are, all together."""
BEGINNINGS = sum(
    1 << (HEAD + sum(rows + 1 for rows in SHORTER[:chunk])) // HEAD for chunk in range(len(SHORTER))
)
"""Where these chunks begin behind the beginning of the list, in heads, as bits."""
MOST_KEYS_NEAR = 1 << 15
"""How many keys there may be whose places are in the processor's cache in any case."""


def lists_of(relation: Relation, columns: tuple[int, ...], which: npt.NDArray[np.int32]) -> Lists:
    """An index on some columns with these rows of a relation, in this order."""
    made = Lists(columns)
    if (
        len(columns) > 1
        or which.shape[0] < FEWEST_ROWS_COUNTED
        or not _made_by_counting(made, relation, which)
    ):
        made.insert(relation, which)
    return made


def _made_by_counting(made: Lists, relation: Relation, which: npt.NDArray[np.int32]) -> bool:
    """Have the rows in an empty index on one column, if its codes are close to one another; whether they are."""
    column, most = int(made.columns[0]), which.shape[0] // ROWS_A_CODE
    some = relation.rows[which[:: which.shape[0] // ROWS_LOOKED_AT], column]
    lowest, spread = int(some.min()), int(some.max()) - int(some.min()) + 1
    if spread > most:
        return False
    length = min(2 * spread + ROWS_LOOKED_AT, most)
    least = min(max(lowest - (length - spread) // 2, LOWEST_CODE), HIGHEST_CODE - length + 1)
    relation.ask(8 * length, f"counting rows of {relation.name}")
    counts: npt.NDArray[np.int32] = np.zeros(length, np.int32)
    if not count_codes(which, relation.rows, column, least, counts, made.sizes):
        made.sizes[0], made.sizes[1] = 0, HEAD
        return False
    room = int(made.sizes[1]) + 2 * LONGEST
    relation.ask(
        4 * room + 8 * slots_for(made.keys), f"an index of {relation.stored:,} rows of {relation.name}"
    )
    made.slots, made.pool = hashing.empty_slots(slots_for(made.keys)), empty((room,), np.int32)
    places: npt.NDArray[np.int32] = np.empty(length, np.int32)
    lay_out(
        which, relation.rows, column, least, counts, places, made.slots, made.pool, made.keys > MOST_KEYS_NEAR
    )
    return True


@compiled()
def blocks_length(count):
    """How long the blocks are, all together, of a list that has so many rows, at least two."""
    length = np.int64(HEAD)
    left = count - IN_HEAD
    while left > 0 and length < SHORTER_LENGTH:
        size = np.int64(HEAD) << last_kind(count - left + 1)
        length += size
        left -= size - 1
    if left > 0:
        length += (left + IN_CHUNK - 1) // IN_CHUNK * LONGEST
    return length


@compiled(
    "boolean(int32[::1], stored[:, ::1], int64, int64, int32[::1], int64[::1])",
    ending="earlier",
    joining=True,
)
def count_codes(which, rows, column, least, counts, sizes):
    """Count the rows of each code from `least` on, as far as `counts` goes; write how many codes there are to
    `sizes`, and how long a pool of all their lists is. False if there is a code that `counts` has no place for."""
    length = np.int64(counts.shape[0])
    for i in range(which.shape[0]):
        place = np.int64(rows[which[i], column]) - least
        if place < 0 or place >= length:
            return False
        counts[place] += 1
    keys = np.int64(0)
    used = np.int64(HEAD)  # no block is at 0
    for place in range(length):
        if counts[place] > 0:
            keys += 1
            if counts[place] > 1:
                used += blocks_length(np.int64(counts[place]))
    sizes[0], sizes[1] = keys, used
    return True


@compiled(
    "void(int32[::1], stored[:, ::1], int64, int64, int32[::1], int32[::1], int64[::1], int32[::1], boolean)",
    ending="earlier",
    joining=True,
)
def lay_out(which, rows, column, least, counts, places, slots, pool, far):
    """Make all lists. `places` gets where the next row of each code goes: a place in the pool or, for the only row of
    a code, -p - 1 for its slot p. What is `far` from the processor is asked for before."""
    mask = np.int64(slots.shape[0] - 1)
    used = np.int64(HEAD)
    for code in range(counts.shape[0]):
        count = np.int64(counts[code])
        if count == 0:
            continue
        tag = tag_of(mix(np.uint64(0), code + least))
        p = home(tag, slots.shape[0])
        while slots[p] != 0:
            p = (p + 1) & mask
        if count == 1:
            slots[p] = (tag << 32) | 1
            places[code] = np.int32(-p - 1)
            continue
        head = used
        slots[p] = (tag << 32) | LIST | (head // HEAD)
        pool[head + 1] = np.int32(count)
        pool[head + 2] = 0
        places[code] = np.int32(head + 3)
        counts[code] = np.int32(head)
        used += HEAD
        block = head
        left = count - IN_HEAD
        while left > 0:
            pool[used] = np.int32(block)
            block = used
            size = np.int64(HEAD) << last_kind(count - left + 1)
            used += size
            left -= size - 1
        pool[head] = np.int32(block)
    for start in range(0, which.shape[0], BLOCK):
        stop = min(start + BLOCK, which.shape[0])
        if far:
            for i in range(start, stop):
                prefetch(places, np.int64(rows[which[i], column]) - least)
            for i in range(start, stop):
                prefetch(pool, np.int64(places[np.int64(rows[which[i], column]) - least]))
        for i in range(start, stop):
            row = np.int64(which[i])
            code = np.int64(rows[row, column]) - least
            place = np.int64(places[code])
            if place < 0:
                slots[-place - 1] += row
                continue
            pool[place] = np.int32(row)
            place += 1
            if place & (HEAD - 1) == 0 and begins_block(place - counts[code]):
                place += 1
            places[code] = np.int32(place)


@compiled()
def begins_block(offset):
    """Whether a block begins so far behind the beginning of a list whose blocks lie side by side; it is a multiple of
    `HEAD`."""
    if offset >= SHORTER_LENGTH:
        return (offset - SHORTER_LENGTH) % LONGEST == 0
    return (BEGINNINGS >> (offset // HEAD)) & 1 != 0
