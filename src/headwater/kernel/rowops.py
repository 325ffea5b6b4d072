"""What can happen to a relation's rows, set at a time over plain arrays. See `relation` for what the bits mean.

`sizes` is [slots ever used, rows stored, entries of `free`, of the journal, of `created`]; the caller has
reserved room. A tuple's last column is the highest rank among the premises of this derivation: it supports a row only
if it is below the row's own rank, so that no support ever rests on a cycle.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

import numpy as np

from headwater.kernel.compiled import compiled
from headwater.kernel.hashing import ROW, close_gap, hash_row, mix, tag_of
from headwater.kernel.states import DYING, LEADING, LIVE, STORED, TOUCHED, VISIBLE, WAS

NOT_DYING = np.uint8(0xFF ^ DYING)
NOT_TOUCHED = np.uint8(0xFF ^ TOUCHED)
NOT_LIVE = np.uint8(0xFF ^ LIVE)
NOT_VISIBLE = np.uint8(0xFF ^ VISIBLE)
NOT_WAS = np.uint8(0xFF ^ WAS)
NOT_LEADING = np.uint8(0xFF ^ LEADING)


@compiled()
def touch(row, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column):
    """Put the row as it is now into the journal, unless it is there."""
    if state[row] & TOUCHED == 0:
        j = sizes[3]
        sizes[3] = j + 1
        journal_rows[j] = row
        journal[j, 0] = rows[row, rank_column]
        journal[j, 1] = rows[row, count_column]
        journal[j, 2] = rows[row, head_rank_column]
        journal[j, 3] = state[row]
        state[row] |= TOUCHED


@compiled()
def locate(tuples, t, arity, rows, slots, tag):
    """The position in `slots` of the tuple's row, or of the empty slot where it would go."""
    mask = np.int64(slots.shape[0] - 1)
    p = tag & mask
    while True:
        entry = slots[p]
        if entry == 0:
            break
        if (entry >> 32) & ROW == tag:
            row = (entry & ROW) - 1
            if arity == 2:  # by far the most frequent width: no loop
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
        p = (p + 1) & mask
    return p


@compiled()
def hash_tuple(tuples, t, arity):
    """The tag of a tuple's first `arity` columns."""
    h = np.uint64(0)
    if arity == 2:
        return tag_of(mix(mix(h, tuples[t, 0]), tuples[t, 1]))
    for j in range(arity):
        h = mix(h, tuples[t, j])
    return tag_of(h)


@compiled(
    "int64(int64[:, ::1], int64, int64[:, ::1], uint8[::1], int64[::1], int32[::1], int64[::1],"
    " int32[::1], int64[:, ::1], int32[::1], int64, int64, int64, int32[::1])"
)
def add(
    tuples, arity, rows, state, slots, free, sizes, journal_rows, journal, created,
    count_column, head_rank_column, rank, fresh,
):  # fmt: skip
    """Add a support per tuple. Writes rows that became live to `fresh`; those of them new to `created` too."""
    n = np.int64(0)
    rank_column = arity
    for t in range(tuples.shape[0]):
        tag = hash_tuple(tuples, t, arity)
        p = locate(tuples, t, arity, rows, slots, tag)
        entry = slots[p]
        if entry == 0:
            if sizes[2] > 0:
                sizes[2] -= 1
                row = np.int64(free[sizes[2]])
            else:
                row = sizes[0]
                sizes[0] += 1
            sizes[1] += 1
            for j in range(arity):
                rows[row, j] = tuples[t, j]
            rows[row, rank_column] = rank
            rows[row, head_rank_column] = rank
            rows[row, count_column] = 1
            slots[p] = (tag << 32) | (row + 1)
            state[row] = LIVE | STORED | TOUCHED
            created[sizes[4]] = row
            sizes[4] += 1
            fresh[n] = row
            n += 1
        else:
            row = (entry & ROW) - 1
            if state[row] & LIVE == 0:
                touch(
                    row,
                    rows,
                    state,
                    sizes,
                    journal_rows,
                    journal,
                    rank_column,
                    count_column,
                    head_rank_column,
                )
                state[row] = (state[row] & NOT_LEADING) | LIVE
                rows[row, rank_column] = rank
                rows[row, head_rank_column] = rank
                rows[row, count_column] = 1
                fresh[n] = row
                n += 1
            elif tuples[t, arity] < rows[row, head_rank_column]:
                touch(
                    row,
                    rows,
                    state,
                    sizes,
                    journal_rows,
                    journal,
                    rank_column,
                    count_column,
                    head_rank_column,
                )
                rows[row, count_column] += 1
    return n


@compiled(
    "UniTuple(int64, 2)(int64[:, ::1], int64, int64[:, ::1], uint8[::1], int64[::1], int64[::1],"
    " int32[::1], int64[:, ::1], int64, int64, int64, int32[::1], int32[::1])"
)
def subtract(
    tuples, arity, rows, state, slots, sizes, journal_rows, journal,
    rank_column, count_column, head_rank_column, falling, dead,
):  # fmt: skip
    """Take a support per tuple. Writes rows that died to `dead`, those of them still visible to `falling`."""
    n = np.int64(0)
    m = np.int64(0)
    for t in range(tuples.shape[0]):
        tag = hash_tuple(tuples, t, arity)
        entry = slots[locate(tuples, t, arity, rows, slots, tag)]
        if entry == 0:
            continue
        row = (entry & ROW) - 1
        if state[row] & LIVE == 0 or tuples[t, arity] >= rows[row, head_rank_column]:
            continue
        touch(row, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column)
        rows[row, count_column] -= 1
        if rows[row, count_column] == 0:
            dead[m] = row
            m += 1
            if state[row] & VISIBLE != 0:
                falling[n] = row
                n += 1
            state[row] &= NOT_LIVE
    return n, m


@compiled(
    "UniTuple(int64, 2)(int32[::1], int64[:, ::1], uint8[::1], int64[::1], int32[::1], int64[:, ::1],"
    " int64, int64, int64, int32[::1], int32[::1])"
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
    "void(int32[::1], int64[:, ::1], uint8[::1], int64[::1], int32[::1], int64[:, ::1], int64, int64, int64)"
)
def fall(which, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column):
    """Make visible rows invisible and `DYING` for the round that begins."""
    for i in range(which.shape[0]):
        row = np.int64(which[i])
        touch(row, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column)
        state[row] = (state[row] & NOT_VISIBLE) | DYING


@compiled(
    "int64(int64[::1], int64[:, ::1], uint8[::1], int64[::1], int32[::1], int64[:, ::1],"
    " int64, int64, int64, int64, int32[::1])"
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
            rows[row, count_column] = 1
            fresh[n] = row
            n += 1
        else:
            rows[row, count_column] += 1
    return n


@compiled(
    "int64(int32[::1], int64[:, ::1], uint8[::1], int64[::1], int32[::1], int64[:, ::1],"
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
            rows[row, rank_column] = rank
            shown[n] = row
            n += 1
    return n


@compiled(
    "void(int32[::1], int64[:, ::1], uint8[::1], int64[::1], int32[::1], int64[:, ::1], int64, int64, int64)"
)
def lead(which, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column):
    """Mark rows as the best of their groups."""
    for i in range(which.shape[0]):
        row = np.int64(which[i])
        touch(row, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column)
        state[row] |= LEADING


@compiled("void(int32[::1], uint8[::1])")
def settle(which, state):
    """Clear `DYING`."""
    for i in range(which.shape[0]):
        state[which[i]] &= NOT_DYING


@compiled("void(int64[:, ::1], int64, int64[:, ::1], int64[::1], int32[::1])")
def find(tuples, arity, rows, slots, out):
    """The row of each tuple, or -1."""
    for t in range(tuples.shape[0]):
        tag = hash_tuple(tuples, t, arity)
        out[t] = np.int32((slots[locate(tuples, t, arity, rows, slots, tag)] & ROW) - 1)


@compiled("void(int32[::1], uint8[::1])")
def seal(touched, state):
    """End a version: what is visible now is what was there when the next one begins."""
    for i in range(touched.shape[0]):
        row = touched[i]
        s = state[row] & NOT_TOUCHED & NOT_DYING & NOT_WAS & NOT_LEADING
        if s & VISIBLE != 0:
            s |= WAS
        state[row] = s


@compiled("void(int64, uint8[::1])")
def seal_all(top, state):
    """What `seal` does, to all rows."""
    for row in range(top):
        s = state[row] & NOT_TOUCHED & NOT_DYING & NOT_WAS & NOT_LEADING
        if s & VISIBLE != 0:
            s |= WAS
        state[row] = s


@compiled("void(int32[::1], int64[:, ::1], int64[:, ::1], uint8[::1], int64, int64, int64)")
def restore(touched, journal, rows, state, rank_column, count_column, head_rank_column):
    """Undo a version: put rows back as the journal has them."""
    for i in range(touched.shape[0]):
        row = touched[i]
        state[row] = np.uint8(journal[i, 3])
        rows[row, rank_column] = journal[i, 0]
        rows[row, count_column] = journal[i, 1]
        rows[row, head_rank_column] = journal[i, 2]


@compiled("void(int32[::1], int64[::1], int64[:, ::1], uint8[::1], int64[::1], int32[::1], int64[::1])")
def remove(dead, columns, rows, state, slots, free, sizes):
    """Take rows out of the index over whole rows and give their slots back."""
    mask = np.int64(slots.shape[0] - 1)
    for i in range(dead.shape[0]):
        row = np.int64(dead[i])
        p = hash_row(rows, row, columns) & mask
        while (slots[p] & ROW) - 1 != row:
            p = (p + 1) & mask
        close_gap(slots, p)
        state[row] = 0
        free[sizes[2]] = row
        sizes[2] += 1
        sizes[1] -= 1


@compiled("void(int32[::1], int64[::1], int64[:, ::1], uint8[::1], int64[::1], int32[::1], int64[::1])")
def uncreate(created, columns, rows, state, slots, free, sizes):
    """Undo the creation of rows, the last one first: a slot goes back to where it came from, so `free` has room."""
    mask = np.int64(slots.shape[0] - 1)
    for i in range(created.shape[0] - 1, -1, -1):
        row = np.int64(created[i])
        p = hash_row(rows, row, columns) & mask
        while (slots[p] & ROW) - 1 != row:
            p = (p + 1) & mask
        close_gap(slots, p)
        state[row] = 0
        sizes[1] -= 1
        if row == sizes[0] - 1:
            sizes[0] = row
        else:
            free[sizes[2]] = row
            sizes[2] += 1


@compiled("void(int64, uint8[::1])")
def kill_all(top, state):
    """Make every stored row dead and invisible; all count as touched."""
    for row in range(top):
        s = state[row]
        if s & STORED != 0:
            state[row] = (s & WAS) | STORED | TOUCHED
