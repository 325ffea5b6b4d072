"""Tables and rows as users give them: a path and a format, a DataFrame of any kind."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.errors import DataError, SketchError
from headwater.pipeline.refusals import refusals
from headwater.sketch.tables.catalog_table import CatalogTable
from headwater.sketch.tables.delta_table import DeltaFiles
from headwater.sketch.tables.parquet_table import ParquetTable
from headwater.spark.interrupts import ended_by_interrupt
from headwater.version.changes import CHANGE_TYPE

COMING = ("insert", "update_postimage")
GOING = ("delete", "update_preimage")
"""Of rows in a change feed."""

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from headwater.sketch.kept import KeptTable
    from headwater.sketch.tables.spark_backend import SparkTable


FORMATS = ("delta", "parquet", "table")
_BROKEN = (float, decimal.Decimal, np.floating)
_NUMBERS = (int, *_BROKEN, np.integer)
_MIDNIGHT = datetime.time()


def open_spark_table(session: SparkSession, table: KeptTable, record: Path) -> SparkTable:
    """The table that a name, a path and a format mean; `record` is a folder for what is remembered of it."""
    match table.format:
        case "delta":
            return DeltaFiles(table.path)
        case "parquet":
            if (Path(table.path) / "_delta_log").is_dir():
                raise SketchError(
                    "unknown-format",
                    f"{table.path} is a Delta table: some of its files may hold rows that were deleted",
                    hint="format='delta'",
                )
            return ParquetTable(table.path, record)
        case "table":
            return CatalogTable(session, table.path, record)
    raise unknown_format(table.format)


def unknown_format(said: object) -> SketchError:
    """The error for a format that no table of Spark has."""
    return SketchError("unknown-format", f"there is no format {said}", hint=f"one of {', '.join(FORMATS)}")


def given_rows(rows: Any, schema: pa.Schema) -> pa.Table | None:
    """Rows as a user has them, as an Arrow table with the columns of a table."""
    import pyarrow as pa

    if rows is None:
        return None
    found = _arrow(rows, schema)
    missing = [name for name in schema.names if name not in found.column_names]
    if missing:
        raise DataError("column-names", f"rows without the columns {', '.join(missing)}")
    try:
        for field in schema:
            _refuse_other_meaning(found.column(field.name), field.type)
        return found.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise DataError("wrong-type", f"rows do not fit the table: {error}") from error


def given_changes(changes: Any, schema: pa.Schema) -> tuple[pa.Table | None, pa.Table | None]:
    """Rows of a change feed, as those that come and those that go: in the shape that feeds have everywhere here, each
    with a `_change_type` (insert, delete, update_preimage, update_postimage), in any order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if changes is None:
        return None, None
    if not isinstance(changes, pa.Table) and not any(
        hasattr(changes, name) for name in ("toArrow", "to_arrow", "columns")
    ):
        raise DataError("column-names", "changes are a DataFrame or an Arrow table with _change_type")
    found = _arrow(changes, schema)
    if CHANGE_TYPE not in found.column_names:
        raise DataError("column-names", f"changes without the column {CHANGE_TYPE}")
    kinds = found.column(CHANGE_TYPE)
    unknown = set(pc.unique(kinds).to_pylist()) - {*COMING, *GOING}
    if unknown:
        raise DataError(
            "change-type", f"{CHANGE_TYPE} {min(map(str, unknown))!r}", hint=", ".join((*COMING, *GOING))
        )
    come, gone = (found.filter(pc.is_in(kinds, pa.array(names))) for names in (COMING, GOING))
    return given_rows(come, schema), given_rows(gone, schema)


def _cells(row: Any, schema: pa.Schema) -> tuple[Any, ...]:
    """A row as a tuple, or by the names of its columns."""
    if not isinstance(row, Mapping):
        return tuple(row)
    missing = [name for name in schema.names if name not in row]
    if missing:
        raise DataError("column-names", f"rows without the columns {', '.join(missing)}")
    return tuple(row[name] for name in schema.names)


def _arrow(rows: Any, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return rows
    if hasattr(rows, "toArrow"):
        with refusals("the rows"), ended_by_interrupt(rows.sparkSession):
            return rows.toArrow()
    if hasattr(rows, "to_arrow"):
        return rows.to_arrow()
    if type(rows).__module__.startswith("pandas"):
        try:
            return pa.Table.from_pandas(rows, preserve_index=False)
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise DataError("wrong-type", f"rows do not fit the table: {error}") from error
    try:
        listed = [_cells(row, schema) for row in rows]
    except TypeError as error:
        raise DataError(
            "wrong-type",
            f"rows are not given as {type(rows).__name__}",
            hint="a DataFrame, an Arrow table, or a list of tuples",
        ) from error
    if any(len(row) != len(schema) for row in listed):
        raise DataError("wrong-arity", f"rows have {len(schema)} columns: {', '.join(schema.names)}")
    cells = list(zip(*listed, strict=True)) if listed else [()] * len(schema)
    try:
        arrays = [_column(column, field.type) for column, field in zip(cells, schema, strict=True)]
    except (pa.ArrowException, TypeError, OverflowError, UnicodeEncodeError) as error:
        raise DataError("wrong-type", f"rows do not fit the table: {error}") from error
    return pa.Table.from_arrays(arrays, schema=schema)


def _column(cells: Sequence[Any], type: pa.DataType) -> pa.Array:
    """Cells of a column; Arrow would cut floats and decimals to whole numbers, times to dates, and take numbers for
    times."""
    import pyarrow as pa

    if pa.types.is_integer(type):
        broken = [cell for cell in cells if isinstance(cell, _BROKEN) and not _is_whole(cell)]
        if broken:
            raise pa.ArrowInvalid(f"{broken[0]} is no whole number")
    if pa.types.is_temporal(type):
        wrong: list[Any] = [
            cell for cell in cells if isinstance(cell, _NUMBERS) and not isinstance(cell, np.timedelta64)
        ]
        if pa.types.is_date(type):
            wrong += [cell for cell in cells if _is_within_a_day(cell)]
        elif getattr(type, "unit", "") == "us":
            wrong += [cell for cell in cells if getattr(cell, "nanosecond", 0)]
        if wrong:
            raise pa.ArrowInvalid(f"{wrong[0]!r} is no {type}")
    return pa.array(cells, type)


def _refuse_other_meaning(column: pa.ChunkedArray, type: pa.DataType) -> None:
    """Refuse a column that Arrow would cast all the same: numbers to times, and times within a day to dates."""
    import pyarrow as pa

    given = column.type
    if pa.types.is_temporal(type) and (pa.types.is_integer(given) or pa.types.is_floating(given)):
        raise pa.ArrowInvalid(f"{given} is no {type}")
    if pa.types.is_date(type) and pa.types.is_timestamp(given):
        import pyarrow.compute as pc

        local = pc.local_timestamp(column) if given.tz else column
        if pc.any(pc.not_equal(pc.floor_temporal(local, unit="day"), local)).as_py():
            raise pa.ArrowInvalid(f"times within a day are no {type}")


def _is_within_a_day(cell: Any) -> bool:
    """Whether it is a time that no date says; the one of pandas that is none is not equal to itself."""
    return isinstance(cell, datetime.datetime) and (cell != cell or cell.time() != _MIDNIGHT)


def _is_whole(cell: Any) -> bool:
    """Whether a float or a decimal is a whole number."""
    try:
        return bool(int(cell) == cell)
    except (ValueError, OverflowError):  # NaN, infinity
        return False
