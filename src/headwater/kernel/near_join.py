"""Extending many bindings by the rows of a small relation, which are laid side by side by key beforehand.

A join by lists (see `list_join`) hashes a key, compares it, follows a list and looks at the state of each row, for
every binding. Where a run begins from many more rows than the other relation has, it costs less to do most of that
once: the rows that count are copied in the order of their keys, and a code of the key leads to where its rows begin.
That is for keys of one column whose codes are close to one another, and for relations whose rows stay as they are
during the run: those of lower strata.

`cursor` is [binding, rows of its key that are done, rows looked at so far], from which the next call goes on.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.kernel.compiled import compiled
from headwater.kernel.list_join import MOST_NUMBERS_NEAR, value
from headwater.kernel.states import Accept

if TYPE_CHECKING:
    from headwater.kernel.relation import Relation


class NearRows(NamedTuple):
    """The rows of a relation that count, in the order of one of their columns; `offsets` says where those with a code
    begin, from the code `least` on, and where the last ones end."""

    least: int
    offsets: npt.NDArray[np.int32]
    values: npt.NDArray[np.int64]


def near_rows(
    relation: Relation, column: int, accept: Accept, equalities: npt.NDArray[np.int64]
) -> NearRows | None:
    """The rows of a small relation that count, by the codes of a column; None if these are too far apart."""
    top = int(relation.sizes[0])
    values = relation.rows[:top, : relation.arity][accept[relation.state[:top]] != 0].astype(np.int64)
    for one, other in equalities.tolist():
        values = values[values[:, one] == values[:, other]]
    if not values.shape[0]:
        return NearRows(0, np.zeros(1, np.int32), values)
    codes = values[:, column]
    least, highest = int(codes.min()), int(codes.max())
    if highest - least >= MOST_NUMBERS_NEAR:
        return None
    counts = np.bincount(codes - least)
    offsets = np.zeros(counts.shape[0] + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return NearRows(least, offsets, np.ascontiguousarray(values[np.argsort(codes, kind="stable")]))


@compiled(
    "int64(int32[::1], stored[:, ::1], int64, int64, int64, int32[::1], int64[:, ::1], int64[::1], int64[::1],"
    " int64[::1], int64[:, ::1])",
    joining=True,
)
def join_near(which, left, left_rank, source, least, offsets, values, outputs, constants, cursor, out):
    """Each binding, or each listed row, with the rows of its key, until `out` is full or the bindings are done."""
    bindings = np.int64(which.shape[0] if which.shape[0] > 0 else left.shape[0])
    codes = np.int64(offsets.shape[0] - 1)
    width = outputs.shape[0]
    room = np.int64(out.shape[0])
    m = np.int64(0)
    b, done = cursor[0], cursor[1]
    while b < bindings:
        place = np.int64(which[b]) if which.shape[0] > 0 else b
        code = np.int64(left[place, source]) - least
        if 0 <= code < codes:
            begin, end = np.int64(offsets[code]) + done, np.int64(offsets[code + 1])
            stop = min(end, begin + room - m)
            rank = np.int64(left[place, left_rank]) if left_rank >= 0 else np.int64(0)
            for i in range(begin, stop):
                for j in range(width):
                    out[m, j] = value(left, place, values, i, outputs[j], constants)
                out[m, width] = rank
                m += 1
            if stop < end:
                done += stop - begin
                break
            done = np.int64(0)
        b += 1
    cursor[0], cursor[1] = b, done
    cursor[2] += m
    return m
