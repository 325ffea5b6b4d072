"""Tables and rows as users give them: a path and a format, a DataFrame of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.errors import DataError, SketchError
from headwater.sketch.tables.catalog_table import CatalogTable
from headwater.sketch.tables.delta_table import DeltaFiles
from headwater.sketch.tables.parquet_table import ParquetTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from headwater.sketch.kept import KeptTable
    from headwater.sketch.tables.spark_backend import SparkTable


def open_spark_table(session: SparkSession, table: KeptTable, record: Path) -> SparkTable:
    """The table that a name, a path and a format mean; `record` is a folder for what is remembered of it."""
    match table.format:
        case "delta":
            return DeltaFiles(table.path)
        case "parquet":
            return ParquetTable(table.path, record)
        case "table":
            return CatalogTable(session, table.path, record)
    raise SketchError(
        "unknown-format", f"there is no format {table.format}", hint="one of delta, parquet and table"
    )


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
        return found.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise DataError("wrong-type", f"rows do not fit the table: {error}") from error


def _arrow(rows: Any, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return rows
    if hasattr(rows, "toArrow"):
        return rows.toArrow()
    if hasattr(rows, "to_arrow"):
        return rows.to_arrow()
    if type(rows).__module__.startswith("pandas"):
        return pa.Table.from_pandas(rows, preserve_index=False)
    listed = [tuple(row) for row in rows]
    if any(len(row) != len(schema) for row in listed):
        raise DataError("wrong-arity", f"rows have {len(schema)} columns: {', '.join(schema.names)}")
    cells = list(zip(*listed, strict=True)) if listed else [()] * len(schema)
    try:
        arrays = [pa.array(column, field.type) for column, field in zip(cells, schema, strict=True)]
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError("wrong-type", f"rows do not fit the table: {error}") from error
    return pa.Table.from_arrays(arrays, schema=schema)
