"""⋈ of inputs of which at least one has state, such as a query joined with an aggregate, or filtered by IN (section
5.5).

The join itself keeps nothing: what joins with a delta is asked of the other input, as it is *after* the version. A
block without state asks the backend, a group-by looks its groups up. So the delta is ΔL⋈R + L⋈ΔR − ΔL⋈ΔR, signs
multiplied. NULL keys join with nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.sketch.maintain.annotated import AnnotatedRows, together
from headwater.sketch.maintain.columnwise import Columnwise
from headwater.sketch.maintain.fragment_sets import Ints
from headwater.sketch.maintain.operator import Incremental, Stateless, TableChanges
from headwater.sketch.maintain.stateless import selected


class JoinDelta(Stateless):
    """The operator: its inputs, columns that must be equal, and what else must hold."""

    def __init__(
        self,
        left: Incremental,
        right: Incremental,
        keys: Sequence[tuple[int, int]],
        condition: Columnwise | None,
    ):
        super().__init__(left, right)
        self.left_keys = [left for left, _ in keys]
        self.right_keys = [right for _, right in keys]
        self.condition = condition

    def change(self, changes: TableChanges) -> AnnotatedRows:
        left, right = (each.change(changes) for each in self.inputs)
        if changes.is_first:
            return self.joined(left, right)
        parts = []
        if len(left):
            there = self.inputs[1].matching(changes, self.right_keys, _columns(left, self.left_keys))
            parts.append(self.joined(left, there))
        if len(right):
            there = self.inputs[0].matching(changes, self.left_keys, _columns(right, self.right_keys))
            parts.append(self.joined(there, right))
        if len(left) and len(right):
            twice = self.joined(left, right)
            parts.append(AnnotatedRows(twice.columns, -twice.counts, twice.fragments))
        return together(parts)

    def current(self, changes: TableChanges) -> AnnotatedRows:
        return self.joined(*(each.current(changes) for each in self.inputs))

    def matching(
        self, changes: TableChanges, columns: Sequence[int], keys: Sequence[pa.Array]
    ) -> AnnotatedRows:
        return self.current(changes)

    def joined(self, left: AnnotatedRows, right: AnnotatedRows) -> AnnotatedRows:
        """Pairs of rows, with what both rest on."""
        if not len(left) or not len(right):
            return AnnotatedRows.none()
        first, second = pairs(
            _columns(left, self.left_keys), _columns(right, self.right_keys), len(left), len(right)
        )
        one, other = left.take(first), right.take(second)
        sets = one.fragments.sets().unite(other.fragments.sets())
        rows = AnnotatedRows({**one.columns, **other.columns}, one.counts * other.counts, sets)
        return rows if self.condition is None else selected(rows, self.condition)


def _columns(rows: AnnotatedRows, ids: Sequence[int]) -> list[pa.Array]:
    return [rows.columns[id] for id in ids]


def pairs(left: Sequence[pa.Array], right: Sequence[pa.Array], rows: int, others: int) -> tuple[Ints, Ints]:
    """The places of rows with equal keys, none of which is NULL; all pairs of rows where there are no keys.

    >>> pairs([pa.array([1, 2, None])], [pa.array([2, 2, None])], 3, 3)
    (array([1, 1]), array([0, 1]))
    """
    numbers = np.zeros(rows + others, np.int64)
    valid = np.ones(rows + others, bool)
    for one, other in zip(left, right, strict=True):
        codes, there = _numbered(one, other)
        valid &= there
        numbers = np.unique(numbers * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[
            1
        ].reshape(-1)
    ours, theirs = np.flatnonzero(valid[:rows]), np.flatnonzero(valid[rows:])
    order = theirs[np.argsort(numbers[rows:][theirs], kind="stable")]
    ordered = numbers[rows:][order]
    wanted = numbers[:rows][ours]
    start, end = np.searchsorted(ordered, wanted, "left"), np.searchsorted(ordered, wanted, "right")
    lengths = end - start
    ends = np.cumsum(lengths)
    places = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(start - (ends - lengths), lengths)
    return np.repeat(ours, lengths), order[places]


def _numbered(one: pa.Array, other: pa.Array) -> tuple[Ints, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Numbers for the values of two columns, equal ones for equal values; and which of them are not NULL."""
    if one.type != other.type:
        fields = [pa.schema([pa.field("x", each.type)]) for each in (one, other)]
        wide = pa.unify_schemas(fields, promote_options="permissive").field("x").type
        one, other = one.cast(wide), other.cast(wide)
    both = pc.dictionary_encode(pa.concat_arrays([one, other]))
    there = np.asarray(both.is_valid(), dtype=bool)
    return np.asarray(pc.fill_null(both.indices, 0)).astype(np.int64), there
