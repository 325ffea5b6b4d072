"""Rows that are known to be new, each once: they are stored without being looked for.

Where a version only takes away, what rules derive after it is part of what they derived before. If no row had a
second derivation then, none comes twice now: whoever derives such a view into an empty relation need not find out.
The table over whole rows is made when somebody first looks for one.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from headwater.kernel import room
from headwater.kernel.compiled import compiled
from headwater.kernel.rowops import ALL_COUNTED, storable
from headwater.kernel.states import LIVE, STORED, TOUCHED

if TYPE_CHECKING:
    from headwater.kernel.relation import Relation


@compiled(
    "int64(int64[:, ::1], int64, int64, stored[:, ::1], uint8[::1], int64[::1], int32[::1], int64, int64, int64,"
    " int32[::1])"
)
def append(tuples, first, arity, rows, state, sizes, created, count_column, head_rank_column, rank, fresh):
    """Store the tuples from `first` on as new rows with one support each; returns the first that does not fit into
    rows as they are stored, or how many there are. There is room for all."""
    top, stored, new = sizes[0], sizes[1], sizes[4]
    done = first
    for t in range(first, tuples.shape[0]):
        fits = True
        for j in range(arity):
            if storable(tuples[t, j], rows):
                rows[top, j] = tuples[t, j]
            else:
                fits = False
        if not fits:
            break
        rows[top, arity] = rank
        rows[top, head_rank_column] = rank
        rows[top, count_column] = ALL_COUNTED
        state[top] = LIVE | STORED | TOUCHED
        created[new] = top
        fresh[t] = top
        top += 1
        stored += 1
        new += 1
        done += 1
    sizes[0], sizes[1], sizes[4] = top, stored, new
    return done


def _append(
    relation: Relation, tuples: npt.NDArray[np.int64], first: int, rank: int, fresh: npt.NDArray[np.int32]
) -> int:
    done: int = append(
        tuples, first, relation.arity, relation.rows, relation.state, relation.sizes, relation.created,
        relation.count_column, relation.head_rank_column, rank, fresh,
    )  # fmt: skip
    return done


def appended(relation: Relation, tuples: npt.NDArray[np.int64], rank: int) -> npt.NDArray[np.int32]:
    """Add tuples, none of which is there, with one support each; as `Relation.add`."""
    count = tuples.shape[0]
    room.appending(relation, count)
    room.numbers(relation, 1, rank)
    fresh = np.empty(count, np.int32)
    done = _append(relation, tuples, 0, rank, fresh)
    if done < count:
        room.widen(relation)
        _append(relation, tuples, done, rank, fresh)
    return fresh
