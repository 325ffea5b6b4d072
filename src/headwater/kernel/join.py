"""Extending bindings by the rows that match them.

Bindings are an int64 matrix: one column per variable still needed, and last the highest rank among the
premises of the recursion that were joined so far (0: none). A *source* says where a value comes from: `s >= 0`
is column s of the bindings, `s < 0` is entry `-s - 1` of the constants (in keys) or column `-s - 1` of the
matching row (in outputs).

`accept` says by state which rows count. `rank_column` is -1 for a premise outside the recursion; inside it,
rows whose rank is above `rank_limit` do not count.

A join writes into a buffer it is given and stops when that is full; `cursor` is [binding, row of the chain or
position in the list, rows looked at so far], from which the next call goes on. So a join of any size runs in
pieces that stay in the processor's cache.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

import numpy as np

from headwater.kernel.compiled import compiled
from headwater.kernel.hashing import (
    FEWEST_COLUMNS_IN_LANES,
    FOURTH_LANE,
    LANES,
    ROW,
    SECOND_LANE,
    THIRD_LANE,
    gathered,
    home,
    mix,
    tag_of,
)
from headwater.kernel.prefetch import BLOCK, prefetch
from headwater.kernel.row_table import approach, mark_of, next_slot, number_bits
from headwater.kernel.special import LAST, LAST_PLAIN


@compiled()
def key_value(bindings, b, source, constants):
    """A key column's value for one binding."""
    if source >= 0:
        return bindings[b, source]
    return constants[-source - 1]


@compiled()
def hash_key(bindings, b, sources, constants):
    """The tag of one binding's key, as `hash_row` gives it."""
    h = np.uint64(0)
    done = np.int64(0)
    if sources.shape[0] >= FEWEST_COLUMNS_IN_LANES:
        second, third, fourth = SECOND_LANE, THIRD_LANE, FOURTH_LANE
        while done + LANES <= sources.shape[0]:
            h = mix(h, key_value(bindings, b, sources[done], constants))
            second = mix(second, key_value(bindings, b, sources[done + 1], constants))
            third = mix(third, key_value(bindings, b, sources[done + 2], constants))
            fourth = mix(fourth, key_value(bindings, b, sources[done + 3], constants))
            done += LANES
        h = gathered(h, second, third, fourth)
    for j in range(done, sources.shape[0]):
        h = mix(h, key_value(bindings, b, sources[j], constants))
    return tag_of(h)


@compiled()
def first_row(bindings, b, sources, constants, columns, slots, rows):
    """The first stored row whose key columns equal the binding's key, or -1."""
    mask = np.int64(slots.shape[0] - 1)
    tag = hash_key(bindings, b, sources, constants)
    p = home(tag, slots.shape[0])
    found = np.int64(-1)
    while True:
        entry = slots[p]
        if entry == 0:
            break
        if (entry >> 32) & ROW == tag:
            row = (entry & ROW) - 1
            same = True
            for j in range(sources.shape[0]):
                if rows[row, columns[j]] != key_value(bindings, b, sources[j], constants):
                    same = False
                    break
            if same:
                found = row
                break
        p = (p + 1) & mask
    return found


@compiled()
def matches(row, rows, state, accept, equalities, rank_column, rank_limit):
    """Whether a stored row counts here."""
    good = accept[state[row]] != 0
    if good and rank_column >= 0 and rows[row, rank_column] > rank_limit:
        good = False
    if good:
        for e in range(equalities.shape[0]):
            if rows[row, equalities[e, 0]] != rows[row, equalities[e, 1]]:
                good = False
                break
    return good


@compiled()
def write(out, m, bindings, b, rows, row, outputs, rank_column):
    """Write the extended binding, rank last."""
    last = bindings.shape[1] - 1
    for j in range(outputs.shape[0]):
        s = outputs[j]
        if s >= 0:
            out[m, j] = bindings[b, s]
        else:
            out[m, j] = rows[row, -s - 1]
    rank = bindings[b, last]
    if rank_column >= 0 and rows[row, rank_column] > rank:
        rank = rows[row, rank_column]
    out[m, outputs.shape[0]] = rank


@compiled(
    "int64(int64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1], int32[::1], stored[:, ::1],"
    " uint8[::1], uint8[::1], int64[:, ::1], int64, int64, int64[::1], int64[::1], int64[:, ::1])"
)
def join_chain(
    bindings, sources, constants, columns, slots, following, rows, state, accept,
    equalities, rank_column, rank_limit, outputs, cursor, out,
):  # fmt: skip
    """Each binding with the rows of its key's chain, until `out` is full or the bindings are done."""
    m = np.int64(0)
    seen = np.int64(0)
    b = cursor[0]
    row = cursor[1]
    while b < bindings.shape[0]:
        if row < 0:
            row = first_row(bindings, b, sources, constants, columns, slots, rows)
        while row >= 0:
            if matches(row, rows, state, accept, equalities, rank_column, rank_limit):
                if m == out.shape[0]:
                    break
                write(out, m, bindings, b, rows, row, outputs, rank_column)
                m += 1
            seen += 1
            row = np.int64(following[row])
        if row >= 0:
            break
        b += 1
    cursor[0] = b
    cursor[1] = row
    cursor[2] += seen
    return m


@compiled()
def approach_rows(bindings, start, count, sources, constants, slots, rows, state, scratch):
    """Look for the rows that a block of bindings spells out, as far as it goes without them (see `row_table`)."""
    size = slots.shape[0]
    for i in range(count):
        scratch[i] = hash_key(bindings, start + i, sources, constants)
        prefetch(slots, home(scratch[i], size))
    approach(count, rows, sources.shape[0], state, slots, scratch)


@compiled()
def row_from(bindings, b, sources, constants, columns, slots, rows, tag, position):
    """The row that a binding spells out, looked for from a position of the table on; or -1."""
    size = slots.shape[0]
    bits = number_bits(size)
    mark = mark_of(tag, size)
    p = position
    found = np.int64(-1)
    while True:
        entry = np.int64(slots[p])
        if entry == 0:
            break
        if entry ^ mark <= bits:
            row = (entry & bits) - 1
            same = True
            for j in range(sources.shape[0]):
                if rows[row, columns[j]] != key_value(bindings, b, sources[j], constants):
                    same = False
                    break
            if same:
                found = row
                break
        p = next_slot(p, size)
    return found


@compiled(
    "int64(int64[:, ::1], int64[::1], int64[::1], int64[::1], uint32[::1], stored[:, ::1],"
    " uint8[::1], uint8[::1], int64[:, ::1], int64, int64, int64[::1], int64[::1], int64[:, ::1], int64[::1])",
    losing=True,
)
def join_row(
    bindings, sources, constants, columns, slots, rows, state, accept,
    equalities, rank_column, rank_limit, outputs, cursor, out, scratch,
):  # fmt: skip
    """Each binding with the one row it spells out in full, where that row counts."""
    m = np.int64(0)
    b = cursor[0]
    begun = b
    known = b
    while b < bindings.shape[0] and m < out.shape[0]:
        if b == known:
            begun = b
            known = min(b + BLOCK, bindings.shape[0])
            approach_rows(bindings, begun, known - begun, sources, constants, slots, rows, state, scratch)
        row = row_from(
            bindings,
            b,
            sources,
            constants,
            columns,
            slots,
            rows,
            scratch[b - begun],
            scratch[BLOCK + b - begun],
        )
        if row >= 0 and matches(row, rows, state, accept, equalities, rank_column, rank_limit):
            write(out, m, bindings, b, rows, row, outputs, rank_column)
            m += 1
        b += 1
    cursor[2] += b - cursor[0]
    cursor[0] = b
    return m


@compiled(
    "int64(int64[:, ::1], int64[::1], int64[::1], int64[::1], uint32[::1], stored[:, ::1],"
    " uint8[::1], uint8[::1], int64[::1], int64[::1], int64[:, ::1], int64[::1])"
)
def anti_join(
    bindings, sources, constants, columns, slots, rows, state, avoid, outputs, cursor, out, scratch
):
    """The bindings for which the row they spell out in full is not one of those to avoid."""
    last = bindings.shape[1] - 1
    m = np.int64(0)
    b = cursor[0]
    begun = b
    known = b
    while b < bindings.shape[0] and m < out.shape[0]:
        if b == known:
            begun = b
            known = min(b + BLOCK, bindings.shape[0])
            approach_rows(bindings, begun, known - begun, sources, constants, slots, rows, state, scratch)
        row = row_from(
            bindings,
            b,
            sources,
            constants,
            columns,
            slots,
            rows,
            scratch[b - begun],
            scratch[BLOCK + b - begun],
        )
        if row < 0 or avoid[state[row]] == 0:
            for j in range(outputs.shape[0]):
                out[m, j] = bindings[b, outputs[j]]
            out[m, outputs.shape[0]] = bindings[b, last]
            m += 1
        b += 1
    cursor[2] += b - cursor[0]
    cursor[0] = b
    return m


@compiled(
    "int64(int64[:, ::1], int32[::1], stored[:, ::1], uint8[::1], uint8[::1], int64[:, ::1], int64[:, ::1],"
    " int64, int64, int64[::1], int64[::1], int64[:, ::1])"
)
def join_list(
    bindings, which, rows, state, accept, constants, equalities, rank_column, rank_limit, outputs, cursor, out
):
    """Each binding with each listed row that counts and has the constants (pairs of column and code)."""
    m = np.int64(0)
    seen = np.int64(0)
    b = cursor[0]
    i = cursor[1]
    while b < bindings.shape[0]:
        while i < which.shape[0]:
            row = np.int64(which[i])
            good = matches(row, rows, state, accept, equalities, rank_column, rank_limit)
            for e in range(constants.shape[0]):
                if rows[row, constants[e, 0]] != constants[e, 1]:
                    good = False
                    break
            if good:
                if m == out.shape[0]:
                    break
                write(out, m, bindings, b, rows, row, outputs, rank_column)
                m += 1
            seen += 1
            i += 1
        if i < which.shape[0]:
            break
        i = np.int64(0)
        b += 1
    cursor[0] = b
    cursor[1] = i
    cursor[2] += seen
    return m


@compiled(
    "int64(int32[::1], stored[:, ::1], int64[:, ::1], int64[:, ::1], int64, int64[::1], int64[::1], int64[:, ::1])"
)
def gather(which, rows, constants, equalities, rank_column, outputs, cursor, out):
    """First bindings: the listed rows that fit. An output is a column, or -1 for the row's own number."""
    m = np.int64(0)
    i = cursor[0]
    while i < which.shape[0] and m < out.shape[0]:
        row = np.int64(which[i])
        good = True
        for e in range(constants.shape[0]):
            if rows[row, constants[e, 0]] != constants[e, 1]:
                good = False
        for e in range(equalities.shape[0]):
            if rows[row, equalities[e, 0]] != rows[row, equalities[e, 1]]:
                good = False
        if good:
            for j in range(outputs.shape[0]):
                if outputs[j] >= 0:
                    out[m, j] = rows[row, outputs[j]]
                else:
                    out[m, j] = row
            out[m, outputs.shape[0]] = rows[row, rank_column] if rank_column >= 0 else 0
            m += 1
        i += 1
    cursor[2] += i - cursor[0]
    cursor[0] = i
    return m


@compiled("int64(int64[:, ::1], int64, int64, int64[::1], boolean, int64[::1], int64[:, ::1])")
def append_sum(bindings, left, right, constants, subtract, outputs, out):
    """Columns of each binding, then the sum or difference of two; tell the first row that needs another look, or -1.

    That is one with a special code, or a result that is not its own code (see `headwater.values.special`).
    """
    last = bindings.shape[1] - 1
    k = outputs.shape[0]
    overflow = np.int64(-1)
    for b in range(bindings.shape[0]):
        for j in range(k):
            out[b, j] = bindings[b, outputs[j]]
        x = key_value(bindings, b, left, constants)
        y = key_value(bindings, b, right, constants)
        if subtract:
            total = x - y
            wrong = ((x ^ y) & (x ^ total)) < 0
        else:
            total = x + y
            wrong = ((x ^ total) & (y ^ total)) < 0
        if x <= LAST or y <= LAST or total <= LAST or total > LAST_PLAIN:
            wrong = True
        if wrong and overflow < 0:
            overflow = np.int64(b)
        out[b, k] = total
        out[b, k + 1] = bindings[b, last]
    return overflow


@compiled("int64(int64[:, ::1], int64, int64, int64[::1], boolean, int64[::1], int64[:, ::1])")
def append_float_sum(bindings, left, right, constants, subtract, outputs, out):
    """As `append_sum`, where codes are the bits of floats; there is one zero and one NaN."""
    last = bindings.shape[1] - 1
    k = outputs.shape[0]
    special = np.int64(-1)
    numbers, given, sums = bindings.view(np.float64), constants.view(np.float64), out.view(np.float64)
    for b in range(bindings.shape[0]):
        for j in range(k):
            out[b, j] = bindings[b, outputs[j]]
        x = key_value(numbers, b, left, given)
        y = key_value(numbers, b, right, given)
        total = x - y if subtract else x + y
        if total == 0.0:
            total = 0.0
        elif total != total:
            total = np.nan
        sums[b, k] = total
        out[b, k + 1] = bindings[b, last]
        if special < 0 and (
            key_value(bindings, b, left, constants) <= LAST
            or key_value(bindings, b, right, constants) <= LAST
            or out[b, k] <= LAST
        ):
            special = np.int64(b)
    return special


@compiled("int64(int64[:, ::1], boolean[::1], int64[::1], int64[:, ::1])")
def keep(bindings, good, outputs, out):
    """Columns of the bindings that are good, and their ranks last; a single answer holds for all."""
    last = bindings.shape[1] - 1
    same = good.shape[0] == 1
    m = np.int64(0)
    for b in range(bindings.shape[0]):
        if good[0] if same else good[b]:
            for j in range(outputs.shape[0]):
                out[m, j] = bindings[b, outputs[j]]
            out[m, outputs.shape[0]] = bindings[b, last]
            m += 1
    return m


@compiled("void(int64[:, ::1], int64[::1], int64[::1], int64[:, ::1])")
def project(bindings, sources, constants, out):
    """Columns or constants of each binding, and its rank last."""
    last = bindings.shape[1] - 1
    for b in range(bindings.shape[0]):
        for j in range(sources.shape[0]):
            s = sources[j]
            out[b, j] = bindings[b, s] if s >= 0 else constants[-s - 1]
        out[b, sources.shape[0]] = bindings[b, last]


@compiled("int64(int64, stored[:, ::1], uint8[::1], uint8[::1], int64, int64, int32[::1])")
def scan(top, rows, state, accept, rank_column, rank_limit, out):
    """Write the numbers of all rows that count: looks at the whole relation."""
    m = np.int64(0)
    for row in range(top):
        if accept[state[row]] != 0 and (rank_column < 0 or rows[row, rank_column] <= rank_limit):
            out[m] = row
            m += 1
    return m
