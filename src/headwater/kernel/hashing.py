"""Hashes of rows and keys, and open-addressing tables from the keys of indexes to their rows, over plain arrays.

A table is a power-of-two array of int64 slots. A slot is 0 (empty) or `tag << 32 | row + 1`, where the tag is 32 bits
of the hash, so that most probes are decided without touching the row, and an entry's home position is known
without hashing it again. The home grows with the tag: entries are about in the order of their tags, in a table of any
size, so that moving them to a larger one reads and writes memory from front to back. Collisions go to the next slot;
removal shifts entries back, so there are no tombstones and a table never degrades under inserts and deletes.

A key is some columns of a row: `columns` says which. Keys are hashed column by column; each step waits for the one
before, so those of many columns are hashed in four lanes, which a processor runs side by side.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.kernel.compiled import compiled
from headwater.kernel.memory import zeros

ROW = np.int64(0xFFFFFFFF)
MIX_1 = np.uint64(0x9E3779B97F4A7C15)
MIX_2 = np.uint64(0xD6E8FEB86659FD93)
TAG = np.uint64(0xFFFFFFFF)
FEWEST_COLUMNS_IN_LANES = 8
LANES = 4
SECOND_LANE, THIRD_LANE, FOURTH_LANE = np.uint64(1 << 61), np.uint64(2 << 61), np.uint64(3 << 61)
"""What lanes begin with: the same values in others are another key."""


@compiled()
def mix(hash_so_far, value):
    """One step of the hash: fold the next column in."""
    h = (hash_so_far ^ np.uint64(value)) * MIX_1
    h = (h ^ (h >> np.uint64(32))) * MIX_2
    return h ^ (h >> np.uint64(29))


@compiled()
def gathered(first, second, third, fourth):
    """What four lanes come to."""
    return mix(first ^ (second * MIX_2), third ^ (fourth * MIX_1))


@compiled()
def tag_of(hash_value):
    """The part of a hash that a slot keeps."""
    return np.int64(hash_value & TAG)


@compiled()
def home(tag, size):
    """Where the entry of a tag belongs in a table of some size."""
    return (tag * np.int64(size)) >> 32


@compiled()
def hash_row(rows, row, columns):
    """The tag of a stored row's key."""
    h = np.uint64(0)
    done = np.int64(0)
    if columns.shape[0] >= FEWEST_COLUMNS_IN_LANES:
        second, third, fourth = SECOND_LANE, THIRD_LANE, FOURTH_LANE
        while done + LANES <= columns.shape[0]:
            h = mix(h, rows[row, columns[done]])
            second = mix(second, rows[row, columns[done + 1]])
            third = mix(third, rows[row, columns[done + 2]])
            fourth = mix(fourth, rows[row, columns[done + 3]])
            done += LANES
        h = gathered(h, second, third, fourth)
    for j in range(done, columns.shape[0]):
        h = mix(h, rows[row, columns[j]])
    return tag_of(h)


@compiled("void(int64[::1], int64[::1])")
def move_slots(old, new):
    """Move all entries of a table into a larger empty one."""
    mask = np.int64(new.shape[0] - 1)
    for s in range(old.shape[0]):
        entry = old[s]
        if entry != 0:
            p = home((entry >> 32) & ROW, new.shape[0])
            while new[p] != 0:
                p = (p + 1) & mask
            new[p] = entry


def fitted(slots: npt.NDArray[np.int64], entries: int) -> npt.NDArray[np.int64]:
    """The same table with room for so many entries and little more, if that is much less."""
    smaller = empty_slots(entries)
    if smaller.shape[0] * 4 > slots.shape[0]:
        return slots
    move_slots(slots, smaller)
    return smaller


def empty_slots(entries: int) -> npt.NDArray[np.int64]:
    """A table with room for so many entries and little more."""
    size = 32
    while size < entries:
        size *= 2
    return zeros((size,), np.int64)


@compiled()
def close_gap(slots, position):
    """Empty a slot and shift later entries of its run back, so that every entry stays reachable."""
    mask = np.int64(slots.shape[0] - 1)
    gap = position
    p = gap
    while True:
        p = (p + 1) & mask
        entry = slots[p]
        if entry == 0:
            break
        first = home((entry >> 32) & ROW, slots.shape[0])
        if ((p - first) & mask) >= ((p - gap) & mask):
            slots[gap] = entry
            gap = p
    slots[gap] = 0
