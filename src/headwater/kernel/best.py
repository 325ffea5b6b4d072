"""Choosing the best rows of groups, for relations of which only those count (`min` and `max`).

A row is wanted when it is live and has the best value of its group by at least one of the criteria. All rows
of a group are one chain of the index on the group's columns; rows that are shown move to its front.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

import numpy as np

from headwater.kernel.compiled import compiled
from headwater.kernel.hashing import ROW, hash_row, home
from headwater.kernel.special import FIRST, LAST
from headwater.kernel.states import LEADING, LIVE, VISIBLE, WANTED

INTEGER, FLOAT, ORDERED = 0, 1, 2
"""How codes compare: as integers, as the bits of floats, or by their place in `order`."""
POSITIVE = np.int64(0x7FFFFFFFFFFFFFFF)
WORST = POSITIVE
"""What nulls compare as; no value does."""
NOT_WANTED = np.uint8(0xFF ^ WANTED)


@compiled()
def comparable(code, kind, largest, order, special):
    """A code as an integer that is smaller the better the value is. Nulls are worse than every value."""
    value = code
    if code <= LAST:
        value = special[code - FIRST]
        if value == WORST:
            return WORST
    elif kind == FLOAT and code < 0:
        value = code ^ POSITIVE
    elif kind == ORDERED:
        value = order[code]
    if largest != 0:
        value = ~value
    return value


@compiled("void(int32[::1], stored[:, ::1], int64, int64, int64, int64[::1], int64[::1], int64[::1])")
def values_of(which, rows, column, kind, largest, order, special, out):
    """The comparable values of the given rows."""
    for i in range(which.shape[0]):
        out[i] = comparable(rows[which[i], column], kind, largest, order, special)


@compiled()
def chain_of(row, rows, columns, slots):
    """The first row of the chain that the row is in."""
    mask = np.int64(slots.shape[0] - 1)
    tag = hash_row(rows, row, columns)
    p = home(tag, slots.shape[0])
    first = np.int64(-1)
    while first < 0:
        entry = slots[p]
        if (entry >> 32) & ROW == tag:
            candidate = (entry & ROW) - 1
            same = True
            for j in range(columns.shape[0]):
                if rows[candidate, columns[j]] != rows[row, columns[j]]:
                    same = False
                    break
            if same:
                first = candidate
        p = (p + 1) & mask
    return first


@compiled()
def place_of(beating, first):
    """Where a group's entry is, or would be."""
    p = first & (beating.shape[0] - 1)
    while beating[p, 0] >= 0 and beating[p, 0] != first:
        p = (p + 1) & (beating.shape[0] - 1)
    return p


@compiled(
    "void(int32[::1], int64[::1], int64[::1], int32[::1], stored[:, ::1], uint8[::1], int64[:, ::1], int64[::1],"
    " int64[::1], int64[::1], int32[::1], int32[::1], int32[::1], int64[::1], int64[:, ::1])"
)
def choose(
    affected, columns, slots, following, rows, state, criteria, order, special, best, wanted, displaced, firsts,
    counts, beating,
):  # fmt: skip
    """For the groups of the affected rows: live rows that are best but not visible go to `wanted`, visible ones
    that are not best to `displaced`.

    `criteria` rows are (value column, kind, largest?). `special` has, for each special code from the first on, a
    number that compares as its value does, or `WORST` for a null. `firsts` is scratch, as long as `affected`.
    `counts` becomes [wanted, displaced, groups gone through, rows looked at]; where an output is too short its count
    still says how much room it needs.

    The first row of a group's chain, if visible or leading, is as good as any that was live then: a group is
    gone through as a whole only if that row is gone or beaten, or if there are several criteria. Where a group
    can have only one best row, `beating` is a table with room for all affected rows, filled with -1: a beaten
    row is then replaced by the best that beats it without going through the group. Else it is empty.
    """
    n_wanted = np.int64(0)
    n_displaced = np.int64(0)
    n_groups = np.int64(0)
    seen = np.int64(0)
    column, kind, largest = criteria[0, 0], criteria[0, 1], criteria[0, 2]
    for i in range(affected.shape[0]):
        row = np.int64(affected[i])
        first = chain_of(row, rows, columns, slots)
        firsts[i] = first
        seen += 1
        if state[first] & WANTED != 0:
            continue
        stands = state[first] & LIVE != 0 and state[first] & (VISIBLE | LEADING) != 0
        beaten = criteria.shape[0] > 1 or not stands
        if not beaten and state[row] & (LIVE | VISIBLE) == LIVE:
            best_value = comparable(rows[first, column], kind, largest, order, special)
            value = comparable(rows[row, column], kind, largest, order, special)
            beaten = value < best_value
            if beaten and beating.shape[0] > 0:
                beaten = False
                p = place_of(beating, first)
                rival = beating[p, 1]
                if rival < 0 or value < comparable(rows[rival, column], kind, largest, order, special):
                    beating[p, 0] = first
                    beating[p, 1] = row
        if beaten:
            state[first] |= WANTED
            n_groups += 1
    for i in range(affected.shape[0]):
        row = np.int64(affected[i])
        first = np.int64(firsts[i])
        if state[first] & WANTED != 0 or state[row] & (LIVE | VISIBLE | WANTED) != LIVE:
            continue
        if beating.shape[0] > 0:
            if row == first and beating[place_of(beating, first), 0] < 0:
                if n_wanted < wanted.shape[0]:
                    wanted[n_wanted] = row
                n_wanted += 1
            continue
        best_value = comparable(rows[first, column], kind, largest, order, special)
        if comparable(rows[row, column], kind, largest, order, special) == best_value:
            state[row] |= WANTED
            if n_wanted < wanted.shape[0]:
                wanted[n_wanted] = row
            n_wanted += 1
    for i in range(affected.shape[0]):
        first = np.int64(firsts[i])
        if affected[i] != first:
            state[affected[i]] &= NOT_WANTED
        if state[first] & WANTED == 0:
            continue
        state[first] &= NOT_WANTED
        any_live = False
        row = first
        while row >= 0:
            seen += 1
            if state[row] & LIVE != 0:
                for c in range(criteria.shape[0]):
                    value = comparable(
                        rows[row, criteria[c, 0]], criteria[c, 1], criteria[c, 2], order, special
                    )
                    if not any_live or value < best[c]:
                        best[c] = value
                any_live = True
            row = np.int64(following[row])
        row = first
        while row >= 0:
            if state[row] & LIVE != 0:
                good = False
                for c in range(criteria.shape[0]):
                    value = comparable(
                        rows[row, criteria[c, 0]], criteria[c, 1], criteria[c, 2], order, special
                    )
                    if value == best[c]:
                        good = True
                visible = state[row] & VISIBLE != 0
                if good and not visible:
                    if n_wanted < wanted.shape[0]:
                        wanted[n_wanted] = row
                    n_wanted += 1
                elif visible and not good:
                    if n_displaced < displaced.shape[0]:
                        displaced[n_displaced] = row
                    n_displaced += 1
            row = np.int64(following[row])
    for p in range(beating.shape[0]):
        if beating[p, 0] >= 0:
            if n_wanted < wanted.shape[0]:
                wanted[n_wanted] = beating[p, 1]
            n_wanted += 1
            if state[beating[p, 0]] & VISIBLE != 0:
                if n_displaced < displaced.shape[0]:
                    displaced[n_displaced] = beating[p, 0]
                n_displaced += 1
    counts[0] = n_wanted
    counts[1] = n_displaced
    counts[2] = n_groups
    counts[3] = seen
