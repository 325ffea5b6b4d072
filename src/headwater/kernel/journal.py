"""The journal of a version: what rows were before it, and what has become of them when it ends.

A row is in the journal once, from before it is first changed: `journal` has its rank, count, head rank and state,
`journal_rows` its number. Rows that the version made are in `created` instead; there is nothing to go back to.
`sizes` is as in `rowops`.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

import numpy as np

from headwater.kernel.compiled import compiled
from headwater.kernel.hashing import hash_row, home
from headwater.kernel.prefetch import BLOCK, prefetch
from headwater.kernel.row_table import forget
from headwater.kernel.states import TOUCHED
from headwater.kernel.vectors import GROUP


@compiled()
def noted(row, rows, state, entries, journal_rows, journal, rank_column, count_column, head_rank_column):
    """Put the row as it is now into the journal, unless it is there; the number of entries then."""
    if state[row] & TOUCHED == 0:
        journal_rows[entries] = row
        journal[entries, 0] = rows[row, rank_column]
        journal[entries, 1] = rows[row, count_column]
        journal[entries, 2] = rows[row, head_rank_column]
        journal[entries, 3] = state[row]
        state[row] |= TOUCHED
        entries += 1
    return entries


@compiled()
def touch(row, rows, state, sizes, journal_rows, journal, rank_column, count_column, head_rank_column):
    """Put the row as it is now into the journal, unless it is there."""
    sizes[3] = noted(
        row, rows, state, sizes[3], journal_rows, journal, rank_column, count_column, head_rank_column
    )


@compiled(
    "UniTuple(int64, 2)(int32[::1], int32[::1], int64[::1], uint8[::1], uint8, uint8, uint8, int32[::1], int32[::1])",
    ending="any",
)
def sift(journal_rows, created, sizes, state, bits, one, other, ones, others):
    """Write the rows of the version with some bits as in `one` to `ones`, and those with these as in `other` to
    `others`, if there is room for any; how many these are."""
    n = np.int64(0)
    m = np.int64(0)
    for i in range(sizes[3] + sizes[4]):
        row = journal_rows[i] if i < sizes[3] else created[i - sizes[3]]
        s = state[row] & bits
        if s == one:
            ones[n] = row
            n += 1
        elif s == other and others.shape[0] > 0:
            others[m] = row
            m += 1
    return n, m


@compiled("int64(int32[::1], int32[::1], int64[::1], uint8[::1], uint8[::1])", ending="any")
def seal(journal_rows, created, sizes, state, sealed):
    """End a version: each row gets the state that the next one finds (`SEALED`). The journal is empty then; how many
    entries it had."""
    entries = sizes[3] + sizes[4]
    for i in range(sizes[3]):
        state[journal_rows[i]] = sealed[state[journal_rows[i]]]
    for i in range(sizes[4]):
        state[created[i]] = sealed[state[created[i]]]
    sizes[3] = 0
    sizes[4] = 0
    return entries


@compiled(
    "void(int32[::1], int64[:, ::1], stored[:, ::1], uint8[::1], int64, int64, int64)", ending="earlier"
)
def restore(touched, journal, rows, state, rank_column, count_column, head_rank_column):
    """Undo a version: put rows back as the journal has them."""
    for i in range(touched.shape[0]):
        row = touched[i]
        state[row] = np.uint8(journal[i, 3])
        rows[row, rank_column] = journal[i, 0]
        rows[row, count_column] = journal[i, 1]
        rows[row, head_rank_column] = journal[i, 2]


@compiled(
    "void(int32[::1], int64[::1], stored[:, ::1], uint8[::1], uint32[::1], int32[::1], int64[::1], int64[::1], int64,"
    " int64)",
    ending="earlier",
)
def remove(dead, columns, rows, state, slots, free, sizes, scratch, count_column, lists):
    """Take rows out of the table over whole rows, a block at a time (see `prefetch`). Their places are free, unless
    the rows are in some `lists`, which have to let go of them first (see `lists`)."""
    width = rows.shape[1]
    for start in range(0, dead.shape[0], BLOCK):
        count = min(BLOCK, dead.shape[0] - start)
        for i in range(count):
            prefetch(rows, np.int64(dead[start + i]) * width)
        for i in range(count):
            tag = hash_row(rows, np.int64(dead[start + i]), columns)
            scratch[i] = tag
            p = home(tag, slots.shape[0])
            prefetch(slots, p)
            prefetch(slots, p - GROUP)
            prefetch(slots, p + GROUP)
        for i in range(count):
            row = np.int64(dead[start + i])
            forget(row, scratch[i], columns, rows, slots)
            state[row] = 0
            sizes[1] -= 1
            if lists > 0:
                rows[row, count_column] = lists
            else:
                free[sizes[2]] = row
                sizes[2] += 1


@compiled(
    "void(int32[::1], int64[::1], stored[:, ::1], uint8[::1], uint32[::1], int32[::1], int64[::1])",
    ending="earlier",
)
def uncreate(created, columns, rows, state, slots, free, sizes):
    """Undo the creation of rows, the last one first: a place goes back to where it came from, so `free` has room."""
    for i in range(created.shape[0] - 1, -1, -1):
        row = np.int64(created[i])
        forget(row, hash_row(rows, row, columns), columns, rows, slots)
        state[row] = 0
        sizes[1] -= 1
        if row == sizes[0] - 1:
            sizes[0] = row
        else:
            free[sizes[2]] = row
            sizes[2] += 1
