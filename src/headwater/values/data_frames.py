"""Arrow tables as data frames, with nothing lost.

pandas has no nulls in its plain columns of numbers and bools: those that have some become `Int64`, `Float64` and
`boolean`.
Values with parts are Python objects there. polars has no months.

>>> import pyarrow
>>> to_pandas(pyarrow.table({"x": [2**53 + 1, None]})).dtypes["x"]
Int64Dtype()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.errors import DataError
from headwater.values.arrow_types import column_type
from headwater.values.arrow_values import python_values
from headwater.values.scalars import canonical
from headwater.values.types import BOOL, FLOAT, INT, INTERVAL_MONTHS, Type

if TYPE_CHECKING:
    import pyarrow as pa


def to_pandas(table: pa.Table) -> Any:
    """A table as a pandas DataFrame."""
    import pandas

    frame = table.to_pandas()
    for name, column in zip(table.column_names, table.columns, strict=True):
        type = column_type(column, ours=True)
        if column.null_count and type in (INT, BOOL):
            dtype = "Int64" if type == INT else "boolean"
            frame[name] = pandas.array(column.to_pylist(), dtype=dtype)
        elif column.null_count and type == FLOAT:
            values, missing = column.fill_null(0.0).to_numpy(), column.is_null().to_numpy()
            frame[name] = pandas.arrays.FloatingArray(
                np.array(values), np.array(missing)
            )  # NaN is not missing
        elif type is not None and (type.parts or type == INTERVAL_MONTHS):
            values = [_plain(canonical(value, type), type) for value in python_values(column, type)]
            frame[name] = pandas.Series(values, dtype=object, index=frame.index)
    return frame


def _plain(value: Any, type: Type | None) -> Any:
    """A canonical value with lists and dicts in it, as pandas and its users have them."""
    if value is None or type is None or not type.parts:
        return value
    if type.name == "list":
        return [_plain(item, type.element) for item in value]
    if type.name == "map":
        return value
    return {name: _plain(item, part) for (name, item), part in zip(value.items(), type.parts, strict=True)}


def to_polars(table: pa.Table) -> Any:
    """A table as a polars DataFrame."""
    import polars

    for field in table.schema:
        if "month_day_nano_interval" in str(field.type):
            raise DataError(
                "unsupported-type",
                f"column {field.name}: polars has no type for months",
                hint="make them an int in a rule",
            )
    return polars.from_arrow(table)


def from_polars(frame: Any, relation: str) -> pa.Table:
    """A polars DataFrame as a table; its ints of 128 bits are decimals."""
    import polars

    wide = [name for name, kind in frame.schema.items() if str(kind) in ("Int128", "UInt128")]
    for name, kind in frame.schema.items():
        if "Object" in str(kind):
            raise DataError(
                "unsupported-type",
                f"{relation}, column {name}: a relation has no column of polars' type {kind}",
                hint="make it a type that other libraries know, too",
            )
    if wide:
        frame = frame.with_columns([polars.col(name).cast(polars.Decimal(38, 0)) for name in wide])
    return frame.to_arrow()
