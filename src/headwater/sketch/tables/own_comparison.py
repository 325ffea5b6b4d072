"""Columns whose values only their database can compare: equal ones look different here, or different ones equal.

Strings with a collation that disregards case, strings padded to a length (PostgreSQL's `char(n)`: 'a' is stored as
'a   '), and floats of 32 bits, which DuckDB rounds constants to, and of which PostgreSQL says fewer digits than it
compares. What is asked of them in SQL is right; rows that changed cannot be followed here, but for padded strings
where they are compared for equality (`maintain/foreign_comparison`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headwater.errors import SketchError
from headwater.language.sql.tables import TableColumn
from headwater.sketch.tables.sql_statements import do, quoted, quoted_text

_IN_POSTGRES = """
SELECT name, is_padded, NOT (is_padded AND length = 5) FROM (
  SELECT a.attname AS name, a.atttypmod AS length, t.typname AS kind,
    coalesce(c.collisdeterministic, true) AS is_exact,
    t.typname = 'bpchar' AND coalesce(c.collisdeterministic, true) AS is_padded
  FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
  LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
  WHERE a.attrelid = to_regclass({table}) AND a.attnum > 0 AND NOT a.attisdropped) AS columns
WHERE is_padded OR kind IN ('citext', 'float4') OR NOT is_exact
"""  # the 5 is of char(1), whose strings are ordered as they are elsewhere
_IN_DUCKDB = """
SELECT column_name, data_type, sql FROM duckdb_columns() AS c
LEFT JOIN duckdb_tables() AS t USING (database_name, schema_name, table_name)
WHERE c.table_name = {bare} AND c.schema_name = {schema} AND c.database_name = current_database()
"""


@dataclass(frozen=True)
class OwnComparisons:
    """The names of such columns of a table, and of those whose strings are padded."""

    compared_there: frozenset[str]
    padded: frozenset[str] = frozenset()


def own_comparisons(dialect: str, connection: Any, table: str) -> OwnComparisons:
    """What is known of a table's columns."""
    if dialect == "postgres":
        found = do(connection, _IN_POSTGRES.format(table=quoted_text(quoted(table))))
        return OwnComparisons(
            frozenset(name for name, _, is_apart in found if is_apart),
            frozenset(name for name, is_padded, _ in found if is_padded),
        )
    schema, _, bare = table.rpartition(".")
    spoken = quoted_text(schema) if schema else "current_schema()"
    described = do(connection, _IN_DUCKDB.format(bare=quoted_text(bare), schema=spoken))
    rounded = {name for name, kind, _ in described if kind == "FLOAT"}
    return OwnComparisons(
        frozenset(rounded | _collated(next((said for _, _, said in described if said), "")))
    )


def _collated(definition: str) -> set[str]:
    """The columns that have a collation, by the statement that makes their table.

    >>> sorted(_collated('CREATE TABLE t("a b" VARCHAR COLLATE NOCASE, c VARCHAR, d VARCHAR COLLATE DE);'))
    ['a b', 'd']
    """
    from sqlglot import exp, parse_one

    if " collate " not in definition.lower():
        return set()
    columns = parse_one(definition, dialect="duckdb").find_all(exp.ColumnDef)
    return {column.name for column in columns if column.find(exp.CollateColumnConstraint, exp.Collate)}


def refuse_other_order(dialect: str, connection: Any, table: str, column: TableColumn) -> None:
    """Refuse an attribute of strings that this process does not order as the database does."""
    if column.compared_there and column.type is not None and column.type.name == "string":
        raise SketchError(
            "unordered-attribute",
            f"only the database can compare values of {table}.{column.name}",
            hint="choose a number or a date, or a column of strings without a collation or padding",
        )
    if dialect != "postgres" or column.type is None or column.type.name != "string":
        return
    said = do(
        connection,
        "SELECT coalesce((SELECT collation_name FROM information_schema.columns WHERE table_name = "
        f"{quoted_text(table)} AND column_name = {quoted_text(column.name)}), (SELECT datcollate "
        "FROM pg_database WHERE datname = current_database()))",
    )[0][0]
    if said not in ("C", "POSIX", "C.UTF-8", "C.utf8"):
        raise SketchError(
            "unordered-attribute",
            f"{table}.{column.name} is ordered by the collation {said}",
            hint='choose a number or a date, or give the column COLLATE "C"',
        )
