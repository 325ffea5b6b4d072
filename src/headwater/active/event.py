"""What a version did to the rows that somebody watches: as it is told, and as it is kept until it has been told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.active.trigger import Fired
from headwater.errors import DataError
from headwater.files.json_values import to_json
from headwater.plan.steps import Ints
from headwater.values.codec import Codec
from headwater.values.layout import Layout
from headwater.values.types import types_from_json, types_to_json
from headwater.version.changes import CHANGE_TYPE

if TYPE_CHECKING:
    import pyarrow as pa

COMMIT_VERSION = "_commit_version"
PRESENT = "present"
"""The column of a table whose rows have none: or their number would be lost."""


@dataclass(frozen=True)
class WatchEvent:
    """What one version did to the rows that a watch is about; rows are tuples.

    `attempt` is 1 when it is first told. An event that was told before may be told again, after a failure or a crash,
    with the same version: that is what to tell by that it was done.
    """

    watch: str
    version: int
    view: str
    inserted: tuple[tuple[Any, ...], ...]
    deleted: tuple[tuple[Any, ...], ...]
    columns: tuple[str, ...] = ()
    at: float = 0.0
    """When the version was made, in seconds since 1970."""
    attempt: int = 1
    fired: Fired | None = field(default=None, compare=False, repr=False)
    """The same rows as codes, for tables."""

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table with `_change_type` (insert or delete) and `_commit_version`."""
        import pyarrow as pa

        fired = self.fired
        assert fired is not None
        clash = {CHANGE_TYPE, COMMIT_VERSION} & set(fired.layout.columns)
        if clash:
            raise DataError(
                "reserved-column",
                f"{self.view} has a column {min(clash)}, and changes are told with one of that name",
                hint="name the view's column differently, or use inserted and deleted",
            )
        table = fired.layout.table(
            fired.codec, np.ascontiguousarray(np.concatenate([fired.added, fired.removed]))
        )
        kinds = pa.array(["insert"] * len(self.inserted) + ["delete"] * len(self.deleted), pa.string())
        versions = pa.array([self.version] * len(self), pa.int64())
        if not fired.layout.arity:
            return pa.table({CHANGE_TYPE: kinds, COMMIT_VERSION: versions})
        return table.append_column(CHANGE_TYPE, kinds).append_column(COMMIT_VERSION, versions)

    def lines(self) -> Iterator[str]:
        """Each row as a line of JSON, an object by column."""
        for change, rows in (("insert", self.inserted), ("delete", self.deleted)):
            for row in rows:
                said = dict(zip(self.columns, to_json(row), strict=True))
                yield json.dumps(
                    {**said, CHANGE_TYPE: change, COMMIT_VERSION: self.version}, ensure_ascii=False
                )

    def __len__(self) -> int:
        return len(self.inserted) + len(self.deleted)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        counts = f"{len(self.inserted):,} inserted, {len(self.deleted):,} deleted"
        return f"<version {self.version} of {self.view}: {counts}>"


@dataclass(frozen=True)
class OwedEvent:
    """An event that was not acknowledged yet, its rows as codes.

    `failure` says why its condition could not be evaluated: then there are no rows to tell. `cause` are the watches
    whose actions led to its version, one after another, as far as this process made them.
    """

    version: int
    view: str
    at: float
    fired: Fired
    failure: str | None = None
    cause: tuple[str, ...] = ()

    def told(self, watch: str, attempt: int) -> WatchEvent:
        """The event for a watch."""
        fired = self.fired
        rows = tuple(fired.inserted), tuple(fired.deleted)
        return WatchEvent(
            watch,
            self.version,
            self.view,
            *rows,
            columns=fired.layout.columns,
            at=self.at,
            attempt=attempt,
            fired=fired,
        )

    def about(self) -> dict[str, Any]:
        """All but the rows, for a record."""
        layout = self.fired.layout
        types, columns = types_to_json(layout.types), list(layout.columns)
        said: dict[str, Any] = {"version": self.version, "view": self.view, "at": self.at}
        said |= {"columns": columns, "types": types}
        return said if self.failure is None else {**said, "failure": self.failure}

    def tables(self, number: int) -> dict[str, pa.Table]:
        """The rows that came and those that went, for a record in which the event has this number."""
        signed = {"+": self.fired.added, "-": self.fired.removed}
        return {
            _named(sign, number): _table(self.fired, rows) for sign, rows in signed.items() if rows.shape[0]
        }

    @classmethod
    def read(
        cls, codec: Codec, about: Mapping[str, Any], tables: Mapping[str, pa.Table], number: int
    ) -> OwedEvent:
        """What `about` and `tables` gave."""
        layout = Layout(tuple(about["columns"]), types_from_json(about["types"]))
        added, removed = (_codes(codec, layout, tables.get(_named(sign, number))) for sign in "+-")
        fired = Fired(layout, codec, added, removed)
        return cls(about["version"], about["view"], about["at"], fired, about.get("failure"))


def _named(sign: str, number: int) -> str:
    return f"event{sign}/{number}"


def _table(fired: Fired, rows: Ints) -> pa.Table:
    import pyarrow as pa

    if fired.layout.arity == 0:
        return pa.table({PRESENT: pa.array([True] * rows.shape[0])})
    return fired.layout.stored(fired.codec, np.ascontiguousarray(rows))


def _codes(codec: Codec, layout: Layout, table: pa.Table | None) -> Ints:
    if table is None:
        return layout.empty()
    if layout.arity == 0:
        return np.zeros((table.num_rows, 0), np.int64)
    return layout.restore(codec, table, "an event")
