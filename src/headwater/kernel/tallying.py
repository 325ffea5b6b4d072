"""The groups that a small change is about: what comes and goes is counted, and what groups amount to is written out.

For counts and sums of ints, whose exact sums are two lanes (see `values/exact_sum`): a low one of 32 bits and what is
above it. A sum that is not its own code, or does not fit, is for those who know what to do about it: then nothing is
written at all. `tally` and `amount` do what `maintain/grouping` does column by column.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

import numpy as np

from headwater.kernel.compiled import compiled
from headwater.kernel.prefetch import BLOCK
from headwater.kernel.row_table import number_bits
from headwater.kernel.rowops import approach_tuples, arrive
from headwater.kernel.special import LAST, LAST_PLAIN
from headwater.kernel.states import LIVE

NEW_GROUP, NO_PLAIN_NUMBER = -1, -2
"""Why nothing was done: a binding is of a group that is not there; a number is not its own code."""
LANE = np.int64(0xFFFFFFFF)
HIGHEST = np.int64(2**31)
"""What the upper lane of a sum of 64 bits is below."""


@compiled(
    "int64(int64[:, ::1], int64, int64, int64, stored[:, ::1], uint8[::1], uint32[::1], int64[::1], int64[:, ::1],"
    " boolean[::1], int64[::1], int64[::1], int64[:, ::1], int64[::1])"
)
def tally(
    tuples, lost, arity, argument, rows, state, slots, counts, lanes, dirty, numbers, groups, before, scratch,
):  # fmt: skip
    """Take the first `lost` bindings out of their groups, and enter the others; the value to take in, if there is
    one, is in the column `argument` (else -1). Groups that were not dirty are written to `groups`, and what their
    counts and lanes were to `before`; how many these are."""
    bits = number_bits(slots.shape[0])
    for start in range(0, tuples.shape[0], BLOCK):
        count = min(BLOCK, tuples.shape[0] - start)
        approach_tuples(tuples, start, count, arity, rows, state, slots, scratch)
        for i in range(count):
            t = start + i
            p = arrive(tuples, t, arity, rows, slots, scratch[i], scratch[BLOCK + i])
            group = (np.int64(slots[p]) & bits) - 1
            if group < 0 or state[group] & LIVE == 0:
                return np.int64(NEW_GROUP)
            if argument >= 0 and tuples[t, argument] <= LAST:
                return np.int64(NO_PLAIN_NUMBER)
            numbers[t] = group
    n = np.int64(0)
    for t in range(tuples.shape[0]):
        group = numbers[t]
        if not dirty[group]:
            dirty[group] = True
            groups[n] = group
            before[n, 0] = counts[group]
            for lane in range(lanes.shape[1]):
                before[n, 1 + lane] = lanes[group, lane]
            n += 1
        sign = np.int64(-1) if t < lost else np.int64(1)
        counts[group] += sign
        if lanes.shape[1] > 0:
            low = lanes[group, 0] + sign * (tuples[t, argument] & LANE)
            lanes[group, 0] = low & LANE
            lanes[group, 1] += sign * (tuples[t, argument] >> 32) + (low >> 32)
    return n


@compiled()
def total(group, counts, lanes):
    """What a group that has bindings amounts to."""
    if lanes.shape[1] == 0:
        return counts[group]
    return ((lanes[group, 1] + (lanes[group, 0] >> 32)) << 32) | (lanes[group, 0] & LANE)


@compiled()
def write_row(out, place, arity, position, rows, group, amounts):
    """A row of the aggregate: the group's columns, and what it amounts to at a position; its rank is 0."""
    for j in range(arity):
        out[place, j if j < position else j + 1] = rows[group, j]
    out[place, position] = amounts
    out[place, arity + 1] = 0


@compiled(
    "UniTuple(int64, 3)(int64[::1], int64, int64, stored[:, ::1], int64[::1], int64[:, ::1], int64[::1],"
    " boolean[::1], boolean[::1], int64[::1], boolean[::1], int64[:, ::1], int64[:, ::1], int32[::1])"
)
def amount(
    groups, arity, position, rows, counts, lanes, values, present, dirty, before, was, gone, come, emptied,
):  # fmt: skip
    """What groups amount to now goes to `values` and `present`, what they amounted to `before` and whether they `was`
    there to those. Their rows that go, rows that come, and groups without bindings are written out; how many these
    are, or -1 if a sum is not its own code."""
    if lanes.shape[1] > 0:
        for i in range(groups.shape[0]):
            if counts[groups[i]] > 0:
                high = lanes[groups[i], 1] + (lanes[groups[i], 0] >> 32)
                whole = total(groups[i], counts, lanes)
                if high < -HIGHEST or high >= HIGHEST or whole <= LAST or whole > LAST_PLAIN:
                    return np.int64(-1), np.int64(0), np.int64(0)
    goes, comes, empties = np.int64(0), np.int64(0), np.int64(0)
    for i in range(groups.shape[0]):
        group = groups[i]
        filled = counts[group] > 0
        now = total(group, counts, lanes) if filled else values[group]
        before[i] = values[group]
        was[i] = present[group]
        if was[i] and (not filled or now != before[i]):
            write_row(gone, goes, arity, position, rows, group, before[i])
            goes += 1
        if filled and (not was[i] or now != before[i]):
            write_row(come, comes, arity, position, rows, group, now)
            comes += 1
        if not filled:
            emptied[empties] = group
            empties += 1
        values[group] = now
        present[group] = filled
        dirty[group] = False
    return goes, comes, empties
