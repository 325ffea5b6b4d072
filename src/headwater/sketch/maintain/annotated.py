"""Annotated rows: a signed bag of rows, column by column, each row with the set of fragments that it rests on
(section 4.5).

A row with a count above 0 has come so often, one below 0 has gone. Columns are Arrow's, by the ids of the plan's
attributes: only those that something above still reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from headwater.sketch.maintain.fragment_sets import FragmentSets, Ints, RowFragments, concatenated

if TYPE_CHECKING:
    import pyarrow as pa

    Columns = Mapping[int, pa.Array]


_NO_COUNTS: Ints = np.empty(0, np.int64)
_NO_SETS = FragmentSets(np.zeros(1, np.int64), _NO_COUNTS)


@dataclass(frozen=True)
class AnnotatedRows:
    """Rows that came and went. All columns, counts and fragments have the same length."""

    columns: Columns
    counts: Ints
    fragments: RowFragments

    @staticmethod
    def none(columns: Columns | None = None) -> AnnotatedRows:
        """No rows; columns that nobody asks for may be missing."""
        return AnnotatedRows(columns or {}, _NO_COUNTS, _NO_SETS)

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    def take(self, rows: Ints) -> AnnotatedRows:
        """Some of the rows, by their places."""
        import pyarrow as pa

        places = pa.array(rows)
        columns = {id: column.take(places) for id, column in self.columns.items()}
        return AnnotatedRows(columns, self.counts[rows], self.fragments.take(rows))

    def where(self, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> AnnotatedRows:
        """The rows for which the mask holds."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def with_columns(self, columns: Columns) -> AnnotatedRows:
        """The same rows with other columns."""
        return replace(self, columns=columns)


def together(parts: Sequence[AnnotatedRows]) -> AnnotatedRows:
    """All rows of several batches."""
    import pyarrow as pa

    filled = [part for part in parts if len(part)]
    if len(filled) <= 1:
        return filled[0] if filled else AnnotatedRows.none()
    shared = set.intersection(*(set(part.columns) for part in filled))
    columns = {
        id: pa.chunked_array(unified([part.columns[id] for part in filled])).combine_chunks() for id in shared
    }
    counts = np.concatenate([part.counts for part in filled])
    return AnnotatedRows(columns, counts, concatenated([part.fragments for part in filled]))


def unified(arrays: list[pa.Array]) -> list[pa.Array]:
    """Arrays of one type: that of the widest, where the same column came from different places."""
    import pyarrow as pa

    types = {array.type for array in arrays}
    if len(types) == 1:
        return arrays
    fields = [pa.schema([pa.field("x", type)]) for type in types]
    wide = pa.unify_schemas(fields, promote_options="permissive").field("x").type
    return [array.cast(wide) for array in arrays]
