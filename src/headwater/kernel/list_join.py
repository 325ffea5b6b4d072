"""Extending bindings by the rows of their keys' lists (see `join` for bindings and sources, `lists` for lists).

What is extended is a matrix of bindings or, at the beginning of a plan, rows of a relation as they are stored: then
`which` says which rows, and nothing need be written out before the join. In the same way the last join of a plan
writes what the plan is to give: an output from `CONSTANT` on is a constant.

Keys are looked up a block at a time (see `prefetch`), and the rows of a chunk are asked for before they are looked
at. `cursor` is [binding, how many rows of its list are left up to the end of a block, rows looked at so far, that
block or -r - 2 for the only row r, rows of the block that are done], from which the next call goes on; lists may have
become longer meanwhile, and what came in is not looked at.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

import numpy as np

from headwater.kernel.compiled import compiled
from headwater.kernel.hashing import ROW, home
from headwater.kernel.join import hash_key, key_value, matches
from headwater.kernel.lists import HEAD, IN_HEAD, LIST, filled
from headwater.kernel.prefetch import BLOCK, prefetch

CONSTANT = 1 << 20
"""Outputs from here on are constants."""
NO_ROW = np.int64(-1)
MOST_NUMBERS_NEAR = 1 << 16
"""How many numbers a relation may have whose rows are in the processor's cache in any case."""


@compiled()
def value(left, place, rows, row, source, constants):
    """An output's value."""
    if source < 0:
        return np.int64(rows[row, -source - 1])
    if source >= CONSTANT:
        return constants[source - CONSTANT]
    return np.int64(left[place, source])


@compiled()
def same_key(left, one, other, sources):
    """Whether two bindings have the same key."""
    for j in range(sources.shape[0]):
        if sources[j] >= 0 and left[one, sources[j]] != left[other, sources[j]]:
            return False
    return True


def extended(
    which, left, left_rank, sources, constants, columns, slots, pool, rows, state, accept,
    equalities, rank_column, rank_limit, outputs, output_constants, cursor, out, scratch,
):  # fmt: skip
    """Each binding with the rows of its key's list, until `out` is full or the bindings are done."""
    table = slots.shape[0]
    mask = np.int64(table - 1)
    bindings = np.int64(which.shape[0] if which.shape[0] > 0 else left.shape[0])
    width = outputs.shape[0]
    room = out.shape[0]
    far = rows.size > MOST_NUMBERS_NEAR
    m = np.int64(0)
    b, count, block, done = cursor[0], cursor[1], cursor[3], cursor[4]
    known = b
    begun = b
    last = NO_ROW
    last_count, last_block = np.int64(0), np.int64(0)
    full = False
    while b < bindings:
        if far and b >= known:
            begun = b
            known = min(b + BLOCK, bindings)
            for i in range(begun, known):
                place = np.int64(which[i]) if which.shape[0] > 0 else i
                tag = hash_key(left, place, sources, constants)
                scratch[i - begun] = tag
                prefetch(slots, home(tag, table))
            for i in range(known - begun):
                entry = slots[home(scratch[i], table)]
                if entry & LIST != 0:
                    prefetch(pool, (entry & (LIST - 1)) * HEAD)
                elif entry != 0:
                    prefetch(rows, ((entry & ROW) - 1) * rows.shape[1])
        place = np.int64(which[b]) if which.shape[0] > 0 else b
        single = NO_ROW
        if count > 0:  # this one had been begun
            if block < 0:
                single = -block - 2
        elif last >= 0 and same_key(left, last, place, sources):
            count, block = last_count, last_block
            if block < 0:
                single = -block - 2
        else:
            tag = scratch[b - begun] if far else hash_key(left, place, sources, constants)
            p = home(tag, table)
            while True:
                entry = slots[p]
                if entry == 0:
                    break
                if (entry >> 32) & ROW == tag:
                    row = (entry & ROW) - 1
                    if entry & LIST != 0:
                        row = np.int64(pool[(entry & (LIST - 1)) * HEAD + 3])
                    same = True
                    for j in range(sources.shape[0]):
                        if rows[row, columns[j]] != key_value(left, place, sources[j], constants):
                            same = False
                            break
                    if same:
                        if entry & LIST != 0:
                            head = (entry & (LIST - 1)) * HEAD
                            count, block = np.int64(pool[head + 1]), np.int64(pool[head])
                        else:
                            count, block, single = np.int64(1), -row - 2, row
                        break
                p = (p + 1) & mask
            last, last_count, last_block = place, count, block
        before = np.int64(left[place, left_rank]) if left_rank >= 0 else np.int64(0)
        while count > 0:
            begin, size = np.int64(0), np.int64(1)
            if single < 0:
                begin, size = block + (3 if count <= IN_HEAD else 1), filled(count)
                if far:
                    for i in range(begin, begin + size):
                        prefetch(rows, np.int64(pool[i]) * rows.shape[1])
                        prefetch(state, np.int64(pool[i]))
            for i in range(begin + done, begin + size):
                row = single if single >= 0 else np.int64(pool[i])
                if matches(row, rows, state, accept, equalities, rank_column, rank_limit):
                    if m == room:
                        full = True
                        done = i - begin
                        break
                    for j in range(width):
                        out[m, j] = value(left, place, rows, row, outputs[j], output_constants)
                    rank = before
                    if rank_column >= 0 and rows[row, rank_column] > rank:
                        rank = np.int64(rows[row, rank_column])
                    out[m, width] = rank
                    m += 1
                cursor[2] += 1
            if full:
                break
            count -= size
            done = np.int64(0)
            if count > 0:
                block = np.int64(pool[block])
        if full:
            break
        b += 1
    cursor[0], cursor[1], cursor[3], cursor[4] = b, count, block, done
    return m


_OTHERS = (
    " int64, int64[::1], int64[::1], int64[::1], int64[::1], int32[::1], stored[:, ::1], uint8[::1], uint8[::1],"
    " int64[:, ::1], int64, int64, int64[::1], int64[::1], int64[::1], int64[:, ::1], int64[::1])"
)
join_bindings = compiled("int64(int32[::1], int64[:, ::1]," + _OTHERS, losing=True)(extended)
"""Bindings with the rows that match them; `which` is empty."""
join_rows = compiled("int64(int32[::1], stored[:, ::1]," + _OTHERS, joining=True)(extended)
"""Listed rows of a relation with the rows of another, or of the same one, that match them. Both are stored in the
same width; `which` is not empty."""
