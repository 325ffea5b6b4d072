"""Columns whose values only their database can compare: equal ones look different here, or different ones equal.

Strings with a collation that disregards case, strings padded to a length (PostgreSQL's `char(n)`: 'a' is stored as
'a   '), and floats of 32 bits, which DuckDB rounds constants to, and of which PostgreSQL says fewer digits than it
compares. What is asked of them in SQL is right; rows that changed cannot be followed here (`maintain`).
"""

from __future__ import annotations

from typing import Any

from headwater.sketch.tables.sql_records import do, quoted, quoted_text

_IN_POSTGRES = """
SELECT a.attname FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
WHERE a.attrelid = to_regclass({table}) AND a.attnum > 0 AND NOT a.attisdropped
  AND (t.typname IN ('citext', 'float4') OR (t.typname = 'bpchar' AND a.atttypmod <> 5)
       OR NOT coalesce(c.collisdeterministic, true))
"""  # the 5 is of char(1), which is never padded
_IN_DUCKDB = """
SELECT column_name, data_type, sql FROM duckdb_columns() AS c
LEFT JOIN duckdb_tables() AS t USING (database_name, schema_name, table_name)
WHERE c.table_name = {bare} AND c.schema_name = {schema} AND c.database_name = current_database()
"""


def columns_compared_there(dialect: str, connection: Any, table: str) -> frozenset[str]:
    """The names of such columns of a table."""
    if dialect == "postgres":
        found = do(connection, _IN_POSTGRES.format(table=quoted_text(quoted(table))))
        return frozenset(name for (name,) in found)
    schema, _, bare = table.rpartition(".")
    spoken = quoted_text(schema) if schema else "current_schema()"
    described = do(connection, _IN_DUCKDB.format(bare=quoted_text(bare), schema=spoken))
    rounded = {name for name, kind, _ in described if kind == "FLOAT"}
    return frozenset(rounded | _collated(next((said for _, _, said in described if said), "")))


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
