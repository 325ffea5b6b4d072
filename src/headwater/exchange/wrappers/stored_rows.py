"""Rows as a database stores them, and back: labelled nulls are NULL, with their text in a column beside.

Where mappings can put labelled nulls into the column `can` of a relation, its table has two columns for it: `can`,
and `can?` of text. A labelled null is NULL in the first, and its text (`?f(2)`) in the second; else the second is
NULL. So every query of the database sees an unknown value as NULL, equal ones can be joined by `can?`, and nothing is
lost. A user who writes a value in the place of a NULL need not care about the text: it counts only where the value
is NULL.

>>> from headwater.values.types import INT
>>> table = WrappedTable("U", "U", (WrappedColumn("nam", INT), WrappedColumn("can", INT, labelled=True)))
>>> stored = to_stored(table, (2, LabelledNull("c", (2,))))
>>> stored
{'nam': 2, 'can': None, 'can?': '?c(2)'}
>>> from_stored(table, stored)
(2, ?c(2))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headwater.errors import ExchangeError
from headwater.exchange.edit import Edit
from headwater.exchange.wrappers.wrapper import WrappedColumn, WrappedTable
from headwater.foreign.types import NoSqlType, sql_type
from headwater.values.arrow_types import arrow_type
from headwater.values.label_text import literal, parse_label
from headwater.values.labelled import LABEL, LabelledNull
from headwater.values.misfit import Misfit, show
from headwater.values.scalars import canonical


def stored_columns(table: WrappedTable) -> dict[str, Any]:
    """Names and SQLAlchemy types of the columns that a table needs."""
    from sqlalchemy import Text

    columns: dict[str, Any] = {}
    for column in table.columns:
        try:
            columns[column.name] = sql_type(column.type)
        except NoSqlType as error:
            hint = "keep this relation in Headwater alone, or in a Delta table"
            raise ExchangeError(
                "bad-database", f"{table.relation}.{column.name}: {error}", hint=hint
            ) from None
        if column.labelled:
            columns[column.name + LABEL] = Text()
    return columns


def stored_schema(table: WrappedTable) -> pa.Schema:
    """The columns that a table of Arrow's needs."""
    fields = []
    for column in table.columns:
        fields.append(pa.field(column.name, arrow_type(column.type)))
        if column.labelled:
            fields.append(pa.field(column.name + LABEL, pa.string()))
    return pa.schema(fields)


def to_stored(table: WrappedTable, row: tuple[Any, ...]) -> dict[str, Any]:
    """A row as values by column."""
    stored: dict[str, Any] = {}
    for column, value in zip(table.columns, row, strict=True):
        label = isinstance(value, LabelledNull)
        if label and not column.labelled:
            raise ExchangeError(
                "bad-value",
                f"{table.table}.{column.name} cannot hold the labelled null {value}",
                hint="the mappings have changed since the table was prepared: open the confederation again",
            )
        stored[column.name] = None if label else value
        if column.labelled:
            stored[column.name + LABEL] = literal(value) if label else None
    return stored


def from_stored(table: WrappedTable, stored: Mapping[str, Any]) -> tuple[Any, ...]:
    """The row that is stored as these values."""
    return tuple(_value(table, column, stored) for column in table.columns)


def _value(table: WrappedTable, column: WrappedColumn, stored: Mapping[str, Any]) -> Any:
    value, label = stored[column.name], stored.get(column.name + LABEL)
    try:
        if value is None and label is None and not column.nullable:
            raise ValueError("it takes no NULL")
        if value is None:
            return None if label is None else parse_label(label)
        return canonical(value, column.type)
    except (Misfit, ValueError) as error:
        raise ExchangeError(
            "bad-value",
            f"{table.table}.{column.name} holds {show(label if value is None else value)}: {error}",
            hint=f"it should be of type {column.type}; correct the row there",
        ) from None


class StoredEdits:
    """Edits of stored rows, in the order in which users made them. A row that does not fit its relation cannot be
    taken; one that has been corrected since was never there."""

    def __init__(self) -> None:
        self._misfits: dict[tuple[Any, ...], list[ExchangeError]] = {}

    def edit(self, sign: Any, table: WrappedTable, stored: Mapping[str, Any]) -> Edit | None:
        """The edit; nothing of a row that does not fit."""
        try:
            return Edit(sign, table.relation, from_stored(table, stored))
        except ExchangeError as error:
            row = (table.relation, *(stored.get(name) for name in stored_columns(table)))
            there = self._misfits.setdefault(row, [])
            if sign == "+":
                there.append(error)
            elif there:
                there.pop()
            return None

    def check(self) -> None:
        """Refuse rows that do not fit and are still there."""
        for there in self._misfits.values():
            for error in there:
                raise error
