"""Statements of SQL, run on a connection of SQLAlchemy's or on one of DuckDB's own, and names as they have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.sketch.tables.direct import DirectConnection


def asked(connection: Any, text: str, values: Sequence[Any] = ()) -> Any:
    """What SQLAlchemy gives for a statement; one that has places for values has its own % doubled."""
    if values:
        return connection.exec_driver_sql(text, tuple(values))
    return connection.exec_driver_sql(text.replace("%", "%%"))


def do(connection: Any, text: str, values: Sequence[Any] = ()) -> list[Any]:
    """Run a statement to its end; the rows that it gives, if it gives any."""
    if isinstance(connection, DirectConnection):
        return connection.do(text, values)
    found = asked(connection, text, values)
    return list(found.fetchall()) if found.returns_rows else []


def quoted(name: str) -> str:
    """A name as SQL has it: `shop.sales` is a table of a schema."""
    return ".".join(map(quoted_column, name.split(".")))


def quoted_column(name: str) -> str:
    """A column's name as SQL has it, dots and all."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(name: str) -> str:
    """A name as a text of SQL."""
    return "'" + name.replace("'", "''") + "'"
