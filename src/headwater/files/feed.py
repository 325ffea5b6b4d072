"""Change feeds: what is left of many changes when all are done.

Each row says in `_change_type` what happened to it: `insert` and `update_postimage` put it there, `delete`
and `update_preimage` took it away. For each distinct row the last change counts. With `_commit_version`,
versions come in their order, and inside one version what goes is before what comes, whatever the order of
lines (feeds do not promise one). Without it, the lines are in order.

>>> import pyarrow as pa
>>> table = pa.table({"k": [1, 1, 2], "v": ["a", "b", "c"]})
>>> inserted, deleted = net(table, ["update_preimage", "update_postimage", "insert"], None)
>>> inserted.to_pylist(), deleted.to_pylist()
([{'k': 1, 'v': 'b'}, {'k': 2, 'v': 'c'}], [{'k': 1, 'v': 'a'}])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headwater.errors import DataError
from headwater.files.contents import Contents
from headwater.values.scalars import NAN

COMES = ("insert", "update_postimage")
GOES = ("delete", "update_preimage")


def net(table: Any, change_types: Sequence[str], versions: Sequence[int] | None) -> tuple[Any, Any]:
    """The rows of the table that are there in the end, and those that are not."""
    comes = [kind in COMES for kind in change_types]
    order: Sequence[int] = range(len(comes))
    if versions is not None:
        order = sorted(order, key=lambda row: (versions[row], comes[row]))
    rows = _keys(table)
    last: dict[Any, int] = {}
    for row in order:
        last.pop(rows[row], None)  # so that rows stay in the order of their last change
        last[rows[row]] = row
    inserted = [row for row in last.values() if comes[row]]
    deleted = [row for row in last.values() if not comes[row]]
    return _take(table, inserted), _take(table, deleted)


def changes_of(contents: Contents, table: Any) -> tuple[Any, Any]:
    """The net changes of a feed that was read from a file."""
    if contents.change_types is None:
        raise DataError(
            "no-change-type",
            f"{contents.origin} has no column _change_type",
            hint=f"if all of its rows come or go, name it {contents.relation}.insert.csv or"
            f" {contents.relation}.delete.csv; else add the column, with {', '.join((*COMES, *GOES))}",
        )
    try:
        kinds = _plain(contents.change_types)
    except (ValueError, OverflowError, LookupError):  # a column of moments that Python does not have
        raise DataError("change-type", f"{contents.origin}: _change_type holds what is no text") from None
    for row, kind in enumerate(kinds):
        if kind not in COMES and kind not in GOES:
            place = contents.place(row, 0) if contents.names else None
            where = f"line {place.line}" if place is not None else f"row {row + 1}"
            raise DataError(
                "change-type",
                f"{contents.origin}, {where}: _change_type is {kind!r}",
                hint=f"one of {', '.join((*COMES, *GOES))}",
            )
    versions = _versions(contents)
    try:
        return net(table, kinds, versions)
    except (ValueError, OverflowError, LookupError) as error:
        raise DataError("wrong-type", f"{contents.origin}: a value cannot be read: {error}") from None


def _versions(contents: Contents) -> list[int] | None:
    if contents.commit_versions is None:
        return None
    try:
        return [int(value) for value in _plain(contents.commit_versions)]
    except (TypeError, ValueError, OverflowError, LookupError):
        raise DataError("wrong-type", f"{contents.origin}: _commit_version holds what is no int") from None


def _plain(column: Any) -> list[Any]:
    return list(column.to_pylist()) if hasattr(column, "to_pylist") else list(column)


def _keys(table: Any) -> list[Any]:
    if isinstance(table, list):
        return table
    columns = [[_key(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def _key(value: Any) -> Any:
    """The value, such that equal ones are equal in Python and can be looked up."""
    if isinstance(value, list):
        return tuple(map(_key, value))
    return NAN if isinstance(value, float) and value != value else value


def _take(table: Any, rows: list[int]) -> Any:
    return [table[row] for row in rows] if isinstance(table, list) else table.take(pa.array(rows, pa.int64()))
