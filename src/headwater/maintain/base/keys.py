"""Primary keys of base relations: a row with the same key and another value replaces the old one."""

from __future__ import annotations

import numpy as np

from headwater.kernel import list_join
from headwater.kernel.lists import Lists
from headwater.kernel.relation import Relation
from headwater.kernel.states import NEW
from headwater.kernel.version_change import NO_ROWS
from headwater.plan.access import ANY_RANK
from headwater.plan.list_pieces import ROWS_A_PIECE
from headwater.plan.steps import Ints


def last_by_key(rows: Ints, key: tuple[int, ...]) -> Ints:
    """Of rows with the same key the last one, in the order given.

    >>> last_by_key(np.array([[1, 5], [2, 6], [1, 7]]), (0,)).tolist()
    [[2, 6], [1, 7]]
    """
    if rows.shape[0] < 2:
        return rows
    backwards = rows[::-1, list(key)]
    _, first = np.unique(backwards, axis=0, return_index=True)
    return np.ascontiguousarray(rows[np.sort(rows.shape[0] - 1 - first)])


def replaced(relation: Relation, rows: Ints, key: tuple[int, ...]) -> Ints:
    """The stored rows that have the key of one of the given rows (also where they are equal to it)."""
    index = relation.index(key)
    assert isinstance(index, Lists)
    bindings = np.zeros((rows.shape[0], relation.arity + 1), np.int64)
    bindings[:, : relation.arity] = rows
    sources = np.array(key, np.int64)
    outputs = -np.arange(relation.arity, dtype=np.int64) - 1
    nothing = np.empty(0, np.int64)
    pairs = np.empty((0, 2), np.int64)
    out = np.empty((min(ROWS_A_PIECE, rows.shape[0] + 1), relation.arity + 1), np.int64)
    cursor = np.zeros(5, np.int64)
    found = []
    while cursor[0] < rows.shape[0]:
        n = list_join.join_bindings(
            NO_ROWS, bindings, bindings.shape[1] - 1, sources, nothing, index.columns, index.slots, index.pool,
            relation.rows, relation.state, NEW, pairs, -1, ANY_RANK, outputs, nothing, cursor, out,
            relation.scratch,
        )  # fmt: skip
        found.append(out[:n, : relation.arity].copy())
    return np.concatenate(found) if found else np.empty((0, relation.arity), np.int64)
