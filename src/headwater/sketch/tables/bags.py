"""Bags of rows as Arrow tables: which rows are equal, what remains of rows that come and go, one bag without another.

NULL equals NULL here, and NaN equals NaN, as for DISTINCT. All work is done column by column.

>>> import pyarrow as pa
>>> rows = pa.table({"x": [1, 2, 1, None, None], "y": ["a", "b", "a", "c", "c"]})
>>> net, signs = netted(rows, np.array([1, 1, 1, 1, -1]))
>>> net.to_pylist(), signs.tolist()
([{'x': 1, 'y': 'a'}, {'x': 2, 'y': 'b'}], [2, 1])
>>> kept, missing = without(rows, pa.table({"x": [1, 7], "y": ["a", "z"]}))
>>> kept.tolist(), missing.tolist()
([False, True, True, True, True], [False, True])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def row_numbers(table: pa.Table) -> Numbers:
    """For each row a number, the same for rows that are equal."""
    numbers = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.columns:
        codes = _codes(column)
        if not len(codes):
            continue
        combined = numbers * (int(codes.max()) + 1) + codes
        numbers = np.unique(combined, return_inverse=True)[1].astype(np.int64)
    return numbers


def _codes(column: Any) -> Numbers:
    """A number from 0 for each value of a column; that of NULL too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), column.type), column)
        column = pc.if_else(
            pc.equal(column, pa.scalar(0.0, column.type)), pa.scalar(0.0, column.type), column
        )
    if pa.types.is_nested(column.type):
        column = pa.array(
            [None if value is None else repr(value) for value in column.to_pylist()], pa.string()
        )
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column, null_encoding="encode")
    return np.asarray(column.indices.fill_null(len(column.dictionary)), dtype=np.int64)


def netted(rows: pa.Table, signs: Numbers) -> tuple[pa.Table, Numbers]:
    """Rows with the sums of their signs; rows that have come as often as gone are left out.

    Each row is there once, unless all have come: then there is nothing to net.
    """
    if (signs > 0).all():
        return rows, signs
    numbers = row_numbers(rows)
    distinct, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    totals = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(totals, inverse, signs)
    there = np.flatnonzero(totals)
    order = there[np.argsort(first[there], kind="stable")]
    return rows.take(first[order]), totals[order]


def net_change(rows: pa.Table, signs: Numbers) -> tuple[pa.Table, Numbers]:
    """Rows without those that have come as often as gone; the same row may be there several times."""
    return (rows, signs) if (signs < 0).all() else netted(rows, signs)


def without(rows: pa.Table, gone: pa.Table) -> tuple[Mask, Mask]:
    """Which rows stay when each row of `gone` takes one equal row away, and which rows of `gone` find none."""
    import pyarrow as pa

    numbers = row_numbers(pa.concat_tables([rows, gone.cast(rows.schema)]))
    mine, theirs = numbers[: rows.num_rows], numbers[rows.num_rows :]
    size = int(numbers.max(initial=-1)) + 1
    asked, there = np.bincount(theirs, minlength=size), np.bincount(mine, minlength=size)
    return _ordinals(mine) >= asked[mine], _ordinals(theirs) >= there[theirs]


def _ordinals(numbers: Numbers) -> Numbers:
    """For each place, how often its number has occurred before."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, int)
    lengths = np.diff(np.r_[starts, len(ordered)])
    found = np.empty(len(numbers), dtype=np.int64)
    found[order] = np.arange(len(ordered)) - np.repeat(starts, lengths)
    return found


def signed(insert: pa.Table | None, delete: pa.Table | None, schema: pa.Schema) -> tuple[pa.Table, Numbers]:
    """Rows that come and go as one table with signs, netted."""
    import pyarrow as pa

    parts: Sequence[tuple[pa.Table, int]] = [
        (part.select(schema.names).cast(schema), sign)
        for part, sign in ((insert, 1), (delete, -1))
        if part is not None
    ]
    rows = pa.concat_tables([part for part, _ in parts]) if parts else schema.empty_table()
    signs = np.concatenate([np.full(part.num_rows, sign) for part, sign in parts] or [np.zeros(0)])
    return netted(rows, signs.astype(np.int64))
