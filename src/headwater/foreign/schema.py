"""What tables another database has: their columns, with our types for them.

Through SQLAlchemy's inspector; of DuckDB, whose dialect asks PostgreSQL's catalog for what DuckDB's does not have,
through the standard's `information_schema`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from headwater.values import types
from headwater.values.types import Type, decimal_of

_DUCKDB = {
    "TINYINT": types.INT, "SMALLINT": types.INT, "INTEGER": types.INT, "BIGINT": types.INT, "UTINYINT": types.INT,
    "USMALLINT": types.INT, "UINTEGER": types.INT, "DOUBLE": types.FLOAT, "FLOAT": types.FLOAT,
    "VARCHAR": types.STRING, "BOOLEAN": types.BOOL, "DATE": types.DATE, "TIME": types.TIME,
    "TIMESTAMP": types.TIMESTAMP_NTZ, "TIMESTAMP WITH TIME ZONE": types.TIMESTAMP, "BLOB": types.BINARY,
    "INTERVAL": types.INTERVAL,
}  # fmt: skip


@dataclass(frozen=True)
class ForeignColumn:
    """A column as the database declares it; `type` is ours for it, or `None` where we have none."""

    name: str
    declared: str
    type: Type | None
    nullable: bool


def split_name(table: str) -> tuple[str | None, str]:
    """Schema and bare name of `schema.table`.

    >>> split_name("public.B"), split_name("B")
    (('public', 'B'), (None, 'B'))
    """
    schema, _, bare = table.rpartition(".")
    return schema or None, bare


def has_table(connection: Any, table: str) -> bool:
    """Whether there is a table of this name."""
    return columns_of(connection, table) is not None


def columns_of(connection: Any, table: str) -> dict[str, ForeignColumn] | None:
    """The columns of a table by name, in order; `None` if there is no such table."""
    if connection.dialect.name == "duckdb":
        return _duckdb_columns(connection, table)
    from sqlalchemy import inspect
    from sqlalchemy.exc import NoSuchTableError

    schema, bare = split_name(table)
    try:
        found = inspect(connection).get_columns(bare, schema=schema)
    except NoSuchTableError:
        return None
    return {
        one["name"]: ForeignColumn(
            one["name"], str(one["type"]), our_type(one["type"]), bool(one["nullable"])
        )
        for one in found
    } or None


def _duckdb_columns(connection: Any, table: str) -> dict[str, ForeignColumn] | None:
    from sqlalchemy import text

    schema, bare = split_name(table)
    asked = text(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns"
        " WHERE table_name = :bare AND table_schema = coalesce(:schema, current_schema())"
        " AND table_catalog = current_database() ORDER BY ordinal_position"
    )
    found = connection.execute(asked, {"bare": bare, "schema": schema})
    return {
        name: ForeignColumn(name, declared, _duckdb_type(declared), nullable == "YES")
        for name, declared, nullable in found
    } or None


def _duckdb_type(declared: str) -> Type | None:
    digits = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", declared)
    return decimal_of(int(digits[1]), int(digits[2])) if digits else _DUCKDB.get(declared)


def our_type(declared: Any) -> Type | None:
    """Our type for a column type of SQLAlchemy's."""
    from sqlalchemy import types as sql

    kinds: tuple[tuple[Any, Type], ...] = (
        (sql.Boolean, types.BOOL),
        (sql.Integer, types.INT),
        (sql.Float, types.FLOAT),
        (sql.String, types.STRING),
        (sql.DateTime, types.TIMESTAMP if getattr(declared, "timezone", False) else types.TIMESTAMP_NTZ),
        (sql.Date, types.DATE),
        (sql.Time, types.TIME),
        (sql.Interval, types.INTERVAL),
        (sql.LargeBinary, types.BINARY),
        (sql._Binary, types.BINARY),
    )
    if isinstance(declared, sql.Numeric) and not isinstance(declared, sql.Float):
        if declared.precision is None:
            return None
        return decimal_of(declared.precision, declared.scale or 0)
    for kind, ours in kinds:
        if isinstance(declared, kind):
            return ours
    if type(declared).__name__ == "INTERVAL":
        return types.INTERVAL
    return None
