"""What can happen to a relation's rows, set at a time over plain arrays. See `relation` for what the bits mean.

`sizes` is [slots ever used, rows stored, entries of `free`, of the journal, of `created`, tuples that the last `add`
dealt with]; the caller has reserved room. A tuple's last column is the highest rank among the premises of this
derivation: it supports a row only if it is below the row's own rank, so that no support ever rests on a cycle.

Tuples are looked up a block at a time (see `row_table`), then each is compared and dealt with. Rows of two columns
are by far the most frequent: they are hashed and compared without counting columns.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

import numpy as np

from headwater.kernel.compiled import compiled
from headwater.kernel.hashing import (
    FEWEST_COLUMNS_IN_LANES,
    FOURTH_LANE,
    LANES,
    SECOND_LANE,
    THIRD_LANE,
    gathered,
    home,
    mix,
    tag_of,
)
from headwater.kernel.journal import noted, touch
from headwater.kernel.prefetch import BLOCK, prefetch
from headwater.kernel.row_table import approach, mark_of, next_slot, number_bits
from headwater.kernel.states import DYING, LEADING, LIVE, STORED, TOUCHED, VISIBLE

ALL_COUNTED = np.int64(-1)
"""The sign of a count that has all derivations there have been since the row became live: without any left, it is
derived no more. Where some were not counted, and in states from before there was such a sign, a count is above 0. A
dead row has this in the place of its count, or 0."""
LEAST_NARROW, MOST_NARROW = -(2**31), 2**31 - 1
"""What rows of 32-bit numbers can store."""
NOT_DYING = np.uint8(0xFF ^ DYING)
NOT_LIVE = np.uint8(0xFF ^ LIVE)
NOT_VISIBLE = np.uint8(0xFF ^ VISIBLE)
NOT_LEADING = np.uint8(0xFF ^ LEADING)
LIVE_AND_VISIBLE = np.uint8(LIVE | VISIBLE)
NEITHER = np.uint8(0xFF ^ (LIVE | VISIBLE))


@compiled()
def storable(number, rows):
    """Whether a number can be stored in rows as they are."""
    return rows.itemsize > 4 or LEAST_NARROW <= number <= MOST_NARROW


@compiled()
def hash_tuple(tuples, t, arity):
    """The tag of a tuple's first `arity` columns."""
    h = np.uint64(0)
    if arity == 2:
        return tag_of(mix(mix(h, tuples[t, 0]), tuples[t, 1]))
    done = np.int64(0)
    if arity >= FEWEST_COLUMNS_IN_LANES:
        second, third, fourth = SECOND_LANE, THIRD_LANE, FOURTH_LANE
        while done + LANES <= arity:
            h = mix(h, tuples[t, done])
            second = mix(second, tuples[t, done + 1])
            third = mix(third, tuples[t, done + 2])
            fourth = mix(fourth, tuples[t, done + 3])
            done += LANES
        h = gathered(h, second, third, fourth)
    for j in range(done, arity):
        h = mix(h, tuples[t, j])
    return tag_of(h)


@compiled()
def approach_tuples(tuples, start, count, arity, rows, state, slots, scratch):
    """Look for a block of tuples as far as it goes without their rows (see `row_table`)."""
    size = slots.shape[0]
    for i in range(count):
        tag = hash_tuple(tuples, start + i, arity)
        scratch[i] = tag
        prefetch(slots, home(tag, size))
    approach(count, rows, arity, state, slots, scratch)


@compiled()
def arrive(tuples, t, arity, rows, slots, tag, position):
    """The position in `slots` of the tuple's row, or of the empty slot where it would go, from `position` on."""
    size = slots.shape[0]
    bits = number_bits(size)
    mark = mark_of(tag, size)
    p = position
    while True:
        entry = np.int64(slots[p])
        if entry == 0:
            break
        if entry ^ mark <= bits:
            row = (entry & bits) - 1
            if arity == 2:
                if rows[row, 0] == tuples[t, 0] and rows[row, 1] == tuples[t, 1]:
                    break
            else:
                same = True
                for j in range(arity):
                    if rows[row, j] != tuples[t, j]:
                        same = False
                        break
                if same:
                    break
        p = next_slot(p, size)
    return p


@compiled(
    "int64(int64[:, ::1], int64, stored[:, ::1], uint8[::1], uint32[::1], int32[::1], int64[::1],"
    " int32[::1], int64[:, ::1], int32[::1], int64, int64, int64, boolean, int32[::1], int64[::1])"
)
def add(
    tuples, arity, rows, state, slots, free, sizes, journal_rows, journal, created,
    count_column, head_rank_column, rank, visible, fresh, scratch,
):  # fmt: skip
    """Add a support per tuple. Writes rows that became live to `fresh`, `visible` at once or not; those of them new
    to `created` too.

    Ends early where a tuple does not fit into rows as they are stored, or a new row has no room.
    """
    becomes = LIVE_AND_VISIBLE if visible else LIVE
    rank_column = arity
    top, stored, spare = sizes[0], sizes[1], sizes[2]
    entries, new = sizes[3], sizes[4]
    bits = number_bits(slots.shape[0])
    n = np.int64(0)
    for start in range(0, tuples.shape[0], BLOCK):
        count = min(BLOCK, tuples.shape[0] - start)
        approach_tuples(tuples, start, count, arity, rows, state, slots, scratch)
        for i in range(count):
            t = start + i
            tag = scratch[i]
            p = arrive(tuples, t, arity, rows, slots, tag, scratch[BLOCK + i])
            entry = np.int64(slots[p])
            if entry == 0:
                full = (
                    spare == 0 and (top == state.shape[0] or top == slots.shape[0] - 1)
                ) or new == created.shape[0]
                if full or (stored + 1) * 5 > slots.shape[0] * 4:
                    sizes[0], sizes[1], sizes[2] = top, stored, spare
                    sizes[3], sizes[4], sizes[5] = entries, new, t
                    return n
                row = np.int64(free[spare - 1]) if spare > 0 else top
                fits = True
                for j in range(arity):
                    if storable(tuples[t, j], rows):
                        rows[row, j] = tuples[t, j]
                    else:
                        fits = False
                if not fits:
                    sizes[0], sizes[1], sizes[2] = top, stored, spare
                    sizes[3], sizes[4], sizes[5] = entries, new, t
                    return n
                if spare > 0:
                    spare -= 1
                else:
                    top += 1
                stored += 1
                rows[row, rank_column] = rank
                rows[row, head_rank_column] = rank
                rows[row, count_column] = ALL_COUNTED
                slots[p] = mark_of(tag, slots.shape[0]) | (row + 1)
                state[row] = becomes | STORED | TOUCHED
                created[new] = row
                new += 1
                fresh[n] = row
                n += 1
            else:
                row = (entry & bits) - 1
                live = state[row] & LIVE != 0
                if live and tuples[t, arity] >= rows[row, head_rank_column]:
                    if rows[row, count_column] < 0:
                        rows[row, count_column] = -rows[
                            row, count_column
                        ]  # may stay so if the version is undone
                    continue
                entries = noted(
                    row,
                    rows,
                    state,
                    entries,
                    journal_rows,
                    journal,
                    rank_column,
                    count_column,
                    head_rank_column,
                )
                if live:
                    rows[row, count_column] += 1 if rows[row, count_column] > 0 else -1
                else:
                    state[row] = (state[row] & NOT_LEADING) | becomes
                    rows[row, rank_column] = rank
                    rows[row, head_rank_column] = rank
                    rows[row, count_column] = ALL_COUNTED
                    fresh[n] = row
                    n += 1
    sizes[0], sizes[1], sizes[2] = top, stored, spare
    sizes[3], sizes[4], sizes[5] = entries, new, tuples.shape[0]
    return n


@compiled(
    "UniTuple(int64, 3)(int64[:, ::1], int64, stored[:, ::1], uint8[::1], uint32[::1], int64[::1],"
    " int32[::1], int64[:, ::1], int64, int64, int64, int32[::1], int32[::1], int64[::1])",
    losing=True,
)
def subtract(
    tuples, arity, rows, state, slots, sizes, journal_rows, journal,
    rank_column, count_column, head_rank_column, falling, dead, scratch,
):  # fmt: skip
    """Take a support per tuple. Writes rows that died to `dead`, those of them still visible to `falling`; returns
    how many these are, and how many rows that died may have derivations which were not counted."""
    n = np.int64(0)
    m = np.int64(0)
    doubtful = np.int64(0)
    entries = sizes[3]
    bits = number_bits(slots.shape[0])
    for start in range(0, tuples.shape[0], BLOCK):
        count = min(BLOCK, tuples.shape[0] - start)
        approach_tuples(tuples, start, count, arity, rows, state, slots, scratch)
        for i in range(count):
            t = start + i
            entry = np.int64(slots[arrive(tuples, t, arity, rows, slots, scratch[i], scratch[BLOCK + i])])
            if entry == 0:
                continue
            row = (entry & bits) - 1
            if state[row] & LIVE == 0 or tuples[t, arity] >= rows[row, head_rank_column]:
                continue
            entries = noted(
                row, rows, state, entries, journal_rows, journal, rank_column, count_column, head_rank_column
            )
            sure = rows[row, count_column] < 0
            rows[row, count_column] -= ALL_COUNTED if sure else 1
            if rows[row, count_column] == 0:
                if sure:
                    rows[row, count_column] = ALL_COUNTED
                else:
                    doubtful += 1
                dead[m] = row
                m += 1
                if state[row] & VISIBLE != 0:
                    falling[n] = row
                    n += 1
                state[row] &= NOT_LIVE
    sizes[3] = entries
    return n, m, doubtful


@compiled(
    "int64(int64[:, ::1], int64, stored[:, ::1], uint8[::1], uint32[::1], int64[::1], int32[::1], int64[:, ::1],"
    " int64, int64, int64, int64[::1])",
    losing=True,
)
def delete(
    tuples, arity, rows, state, slots, sizes, journal_rows, journal,
    rank_column, count_column, head_rank_column, scratch,
):  # fmt: skip
    """Make the rows of tuples dead, whatever their count, and invisible; how many were live."""
    n = np.int64(0)
    entries = sizes[3]
    bits = number_bits(slots.shape[0])
    for start in range(0, tuples.shape[0], BLOCK):
        count = min(BLOCK, tuples.shape[0] - start)
        approach_tuples(tuples, start, count, arity, rows, state, slots, scratch)
        for i in range(count):
            p = arrive(tuples, start + i, arity, rows, slots, scratch[i], scratch[BLOCK + i])
            row = (np.int64(slots[p]) & bits) - 1
            if row < 0 or state[row] & LIVE == 0:
                continue
            entries = noted(
                row, rows, state, entries, journal_rows, journal, rank_column, count_column, head_rank_column
            )
            rows[row, count_column] = 0
            state[row] &= NEITHER
            n += 1
    sizes[3] = entries
    return n


@compiled(
    "UniTuple(int64, 2)(int32[::1], stored[:, ::1], uint8[::1], int64[::1], int32[::1], int64[:, ::1],"
    " int64, int64, int64, int32[::1], int32[::1])",
    losing=True,
)
def kill(
    which,
    rows,
    state,
    sizes,
    journal_rows,
    journal,
    rank_column,
    count_column,
    head_rank_column,
    falling,
    dead,
):
    """Make live rows dead whatever their count (-1 is no row); results as for `subtract`."""
    n = np.int64(0)
    m = np.int64(0)
    for i in range(which.shape[0]):
        row = np.int64(which[i])
        if row < 0 or state[row] & LIVE == 0:
            continue
        touch(row, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column)
        rows[row, count_column] = 0
        dead[m] = row
        m += 1
        if state[row] & VISIBLE != 0:
            falling[n] = row
            n += 1
        state[row] &= NOT_LIVE
    return n, m


@compiled(
    "void(int32[::1], stored[:, ::1], uint8[::1], int64[::1], int32[::1], int64[:, ::1], int64, int64, int64)",
    losing=True,
)
def fall(which, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column):
    """Make visible rows invisible and `DYING` for the round that begins."""
    for i in range(which.shape[0]):
        row = np.int64(which[i])
        touch(row, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column)
        state[row] = (state[row] & NOT_VISIBLE) | DYING


@compiled(
    "int64(int64[::1], stored[:, ::1], uint8[::1], int64[::1], int32[::1], int64[:, ::1],"
    " int64, int64, int64, int64, int32[::1])",
    losing=True,
)
def revive(
    origins, rows, state, sizes, journal_rows, journal,
    rank_column, count_column, head_rank_column, rank, fresh,
):  # fmt: skip
    """Add a support per row number; rows that were dead enter with `rank` and are written to `fresh`."""
    n = np.int64(0)
    for i in range(origins.shape[0]):
        row = origins[i]
        touch(row, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column)
        if state[row] & LIVE == 0:
            state[row] = (state[row] & NOT_LEADING) | LIVE
            rows[row, rank_column] = rank
            rows[row, head_rank_column] = rank
            rows[row, count_column] = ALL_COUNTED
            fresh[n] = row
            n += 1
        else:
            rows[row, count_column] += 1 if rows[row, count_column] > 0 else -1
    return n


@compiled(
    "int64(int32[::1], stored[:, ::1], uint8[::1], int64[::1], int32[::1], int64[:, ::1],"
    " int64, int64, int64, int64, int32[::1])"
)
def show(
    which, rows, state, sizes, journal_rows, journal,
    rank_column, count_column, head_rank_column, rank, shown,
):  # fmt: skip
    """Make live, invisible rows visible from `rank` on; write them to `shown`."""
    n = np.int64(0)
    for i in range(which.shape[0]):
        row = np.int64(which[i])
        if state[row] & (LIVE | VISIBLE) == LIVE:
            touch(row, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column)
            state[row] = (state[row] & NOT_LEADING) | VISIBLE
            if rows[row, rank_column] != rank:  # what another core has been reading is dear to write
                rows[row, rank_column] = rank
            shown[n] = row
            n += 1
    return n


@compiled(
    "void(int32[::1], stored[:, ::1], uint8[::1], int64[::1], int32[::1], int64[:, ::1], int64, int64, int64)"
)
def lead(which, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column):
    """Mark rows as the best of their groups."""
    for i in range(which.shape[0]):
        row = np.int64(which[i])
        touch(row, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column)
        state[row] |= LEADING


@compiled("void(int32[::1], uint8[::1], uint8)", losing=True)
def clear_bits(which, state, others):
    """Clear all bits but some others, of rows that are in the journal already or for which nothing need be undone."""
    for i in range(which.shape[0]):
        state[which[i]] &= others


@compiled(
    "void(int64[:, ::1], int64, stored[:, ::1], uint8[::1], uint32[::1], int32[::1], int64[::1])", losing=True
)
def find(tuples, arity, rows, state, slots, out, scratch):
    """The row of each tuple, or -1."""
    bits = number_bits(slots.shape[0])
    for start in range(0, tuples.shape[0], BLOCK):
        count = min(BLOCK, tuples.shape[0] - start)
        approach_tuples(tuples, start, count, arity, rows, state, slots, scratch)
        for i in range(count):
            t = start + i
            p = arrive(tuples, t, arity, rows, slots, scratch[i], scratch[BLOCK + i])
            out[t] = np.int32((np.int64(slots[p]) & bits) - 1)
