"""Rows of other databases' tables: finding them by all of their values, and inserting those that are not there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any


def same_row(table: Any, nullable: Collection[str]) -> Any:
    """Whether a row of the table is the one whose values are bound as `v0`, `v1` and so on.

    NULL equals nothing; so columns that can hold it are compared by `IS NOT DISTINCT FROM`, in the words of each
    dialect. (Floats can: NaN is NULL in databases that have no NaN.) Of the others, `=` can be answered by an index.
    """
    from sqlalchemy import Float, and_, bindparam

    def same(column: Any, value: Any) -> Any:
        may_be_null = column.name in nullable or isinstance(column.type, Float)
        return column.is_not_distinct_from(value) if may_be_null else column == value

    return and_(*[same(column, bindparam(f"v{number}")) for number, column in enumerate(table.columns)])


def row_where(table: Any, present: Sequence[str], absent: Sequence[str]) -> Any:
    """Whether a row has the values bound as `v_` and the name of the column, and NULL in the columns `absent`.

    For rows that are known: which of their values are NULL is in the statement, and all others are compared by `=`.
    """
    from sqlalchemy import and_

    equal = [table.c[name] == _bound(table.c[name]) for name in present]
    return and_(*equal, *[table.c[name].is_(None) for name in absent])


def delete_row(table: Any, present: Sequence[str], absent: Sequence[str]) -> Any:
    """Delete the row with these values (see `row_where`)."""
    return table.delete().where(row_where(table, present, absent))


def insert_new(table: Any, present: Sequence[str], absent: Sequence[str], *, typed: bool = True) -> Any:
    """Insert the row with these values (see `row_where`), unless it is there; other columns take their default.

    `typed`: whether the database has types, and must be told those of bound values. (SQLite would make a number of a
    date that is cast to one.)
    """
    from sqlalchemy import cast, exists, select

    names = [*present, *absent]
    values = [
        cast(_bound(table.c[name]), table.c[name].type) if typed else _bound(table.c[name]) for name in names
    ]
    row = select(*[value.label(f"c{n}") for n, value in enumerate(values)])
    there = exists().where(row_where(table, present, absent))
    return table.insert().from_select(names, row.where(~there))


def bound(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The values of a row as `row_where` and `insert_new` name them."""
    return {f"v_{name}": row[name] for name in names}


def _bound(column: Any) -> Any:
    from sqlalchemy import bindparam

    return bindparam(f"v_{column.name}", type_=column.type)
