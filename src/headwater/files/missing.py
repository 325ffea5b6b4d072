"""What becomes of rows with a missing value in a column that takes none: as whoever reads them says.

- `fail`: nothing is read, and the error names the row;
- `drop`: the row is left out;
- `keep`: the column takes missing values from now on;
- a path: the row is left out, and written to that file with its reason (`quarantine`).

>>> on_null("drop").how, on_null("refused.jsonl").path
('drop', 'refused.jsonl')
>>> on_null("dorp")
Traceback (most recent call last):
headwater.errors.DataError: error[unknown-option]: on_null is 'dorp'
  = hint: did you mean drop? One of fail, drop, keep, or a path as refused.jsonl
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError, Place
from headwater.files.contents import Contents
from headwater.files.json_values import to_json
from headwater.rules.checked import RelationInfo
from headwater.values.scalars import show

WAYS = ("fail", "drop", "keep")
NO_VALUE = "there is no value"


@dataclass(frozen=True)
class OnNull:
    """One of the ways; with a path, rows are put aside there."""

    how: str
    path: str | None = None


def on_null(said: object, option: str = "on_null") -> OnNull:
    """What an option says; `option` is what errors call it."""
    if isinstance(said, os.PathLike):
        said = os.fspath(said)
    if isinstance(said, str) and said in WAYS:
        return OnNull(said)
    if isinstance(said, str) and any(mark in said for mark in "./\\") and "\0" not in said:
        return OnNull("quarantine", said)
    near = get_close_matches(said, WAYS, n=1) if isinstance(said, str) else []
    meant = f"did you mean {near[0]}? " if near else ""
    raise DataError(
        "unknown-option",
        f"{option} is {show(said)}",
        hint=f"{meant}{'O' if meant else 'o'}ne of {', '.join(WAYS)}, or a path as refused.jsonl",
    )


def required_columns(info: RelationInfo) -> tuple[str, ...]:
    """The columns of a relation that take no missing value."""
    said = zip(info.columns, info.nullable, strict=True)
    return tuple(column for column, nullable in said if nullable is False)


def nan_is_null(table: Any) -> Any:
    """A table whose NaN stand for missing values."""
    if not isinstance(table, pa.Table):
        return table
    for number, column in enumerate(table.columns):
        if pa.types.is_floating(column.type):
            missing = pa.scalar(None, column.type)
            table = table.set_column(
                number, table.field(number).name, pc.if_else(pc.is_nan(column), missing, column)
            )
    return table


@dataclass(frozen=True)
class RefusedRow:
    """A row that was not taken: its place in its source (counted from 1), the first column without a value."""

    source: str
    relation: str
    row: int
    column: str
    values: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "relation": self.relation,
            "row": self.row,
            "column": self.column,
            "reason": NO_VALUE,
            "values": {name: to_json(value) for name, value in self.values.items()},
        }

    def error(self, hint: str) -> DataError:
        """For a source that is to fail."""
        return self.error_at(f"{self.source}, row {self.row}", None, hint)

    def error_at(self, where: str, place: Place | None, hint: str) -> DataError:
        """The error about the missing value: where it is, and the row it is missing from."""
        shown = ", ".join("null" if value is None else show(value) for value in self.values.values())
        what = f"{where}, column {self.column}: {NO_VALUE}, in {self.relation}({shown})"
        return DataError("null-value", what, place=place, hint=hint)


def incomplete(table: Any, required: Sequence[str]) -> Any:
    """Which rows of a table lack a value in one of these columns, as Arrow booleans; `None` if no row does."""
    found: Any = None
    for name in required:
        column = table.column(name)
        if column.null_count:
            nulls = pc.is_null(column)
            found = nulls if found is None else pc.or_(found, nulls)
    return found


def refused_rows(
    table: Any, lacking: Any, required: Sequence[str], source: str, relation: str
) -> list[RefusedRow]:
    """The incomplete rows of a table, which are numbered as they stand in it."""
    numbers = pc.indices_nonzero(lacking).to_pylist()
    rows = table.filter(lacking).to_pylist()
    return [
        RefusedRow(source, relation, number + 1, first_missing(row, required), row)
        for number, row in zip(numbers, rows, strict=True)
    ]


def first_missing(row: Mapping[str, Any], required: Sequence[str]) -> str:
    """The first of the required columns that has no value."""
    return next(name for name in required if row[name] is None)


def complete(table: Any, required: Sequence[str]) -> Any:
    """The rows of a table that have a value in all of these columns."""
    lacking = incomplete(table, required) if isinstance(table, pa.Table) else None
    return table if lacking is None else table.filter(pc.invert(lacking))


def look(contents: Contents, table: Any, required: Sequence[str], way: OnNull) -> list[RefusedRow]:
    """The rows of a file that cannot be taken; refuses the file if it is to fail."""
    if not isinstance(table, pa.Table) or way.how == "keep":
        return []
    lacking = incomplete(table, required)
    if lacking is None:
        return []
    refused = refused_rows(table, lacking, required, contents.origin, contents.relation)
    if way.how == "fail":
        first = refused[0]
        place = contents.place(first.row - 1, contents.names.index(first.column))
        where = f"{contents.origin}, {f'line {place.line}' if place is not None else f'row {first.row}'}"
        raise first.error_at(where, place, "--on-null drop, keep, or a file for such rows")
    return refused
