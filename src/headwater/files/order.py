"""Rows in order: by the first column, then the second, and so on.

Numbers by value with NaN last, strings by code point, false before true, lists element by element.

>>> import pyarrow as pa
>>> in_order(pa.table({"x": [2, 1, 1], "y": ["b", "b", "a"]})).to_pydict()
{'x': [1, 1, 2], 'y': ['a', 'b', 'b']}
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.values.arrow_calls import sorted_rows
from headwater.values.arrow_values import python_values
from headwater.values.keys import order_key


def in_order(table: Any) -> Any:
    """The table's rows sorted; the same rows always come out the same."""
    if table.num_rows < 2:
        return table
    lists = {field.name for field in table.schema if _has_no_order(field.type)}
    if lists:  # Arrow has no order for these: each is replaced by its rank
        table_of_ranks = pa.table(
            [_ranks(column) if name in lists else column for name, column in _columns(table)],
            names=table.column_names,
        )
    else:
        table_of_ranks = table
    return sorted_rows(table, table_of_ranks)


def _columns(table: Any) -> Any:
    return zip(table.column_names, table.columns, strict=True)


def _has_no_order(kind: Any) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_interval(kind) or pa.types.is_duration(kind))


def _ranks(column: Any) -> Any:
    values = [order_key(value) for value in python_values(column)]
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return pa.array([ranks[value] for value in values])
