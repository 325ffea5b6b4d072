"""Arrow tables and our types as Spark sees them.

A timestamp without a zone stays without one: left to itself, Spark takes it for local time.

>>> from headwater.values.types import INT, STRING, list_of
>>> ddl(("src", "path"), (STRING, list_of(INT)))
'`src` string, `path` array<bigint>'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwater.values.types import Type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_SPARK = {
    "int": "bigint",
    "float": "double",
    "string": "string",
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp_ntz",
}


def frame_of(session: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return session.createDataFrame(table, schema=from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


def spark_type(type: Type | None) -> str:
    """The Spark SQL type of a column; `void` where nothing tells the type."""
    if type is None:
        return "void"
    if type.name == "list":
        return f"array<{spark_type(type.element)}>"
    return _SPARK[type.name]


def quoted(name: str) -> str:
    """A column's name for Spark SQL.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def ddl(columns: Sequence[str], types: Sequence[Type | None]) -> str:
    """Columns and types as Spark writes schemas."""
    return ", ".join(f"{quoted(c)} {spark_type(t)}" for c, t in zip(columns, types, strict=True))
