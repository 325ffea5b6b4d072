"""What a version did to the rows that somebody watches: as it is told, and as it is kept until it has been told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.active.trigger import Fired
from headwater.plan.steps import Ints
from headwater.values.codec import Codec
from headwater.values.layout import Layout
from headwater.values.types import types_from_json, types_to_json

if TYPE_CHECKING:
    import pyarrow as pa

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
            watch, self.version, self.view, *rows, columns=fired.layout.columns, at=self.at, attempt=attempt
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
