"""What a database asks of the place where its relations live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from headwater.catalog.definitions import Definitions
from headwater.explain import Facts
from headwater.maintain.interrupts import Interrupts
from headwater.maintain.row_change import RowChange
from headwater.maintain.statistics import VersionStatistics
from headwater.plan.steps import Ints
from headwater.rules.checked import Checked
from headwater.store import Checkpoint, Store

if TYPE_CHECKING:
    import pyarrow as pa


class Runner(Protocol):
    """Relations and their views, a version at a time.

    `define`, `learn` and `change` open a version; `commit` or `rollback` ends it. After a failure, `rollback` makes
    all as it was, definitions included. Matrices hold codes of the database's own codec.
    """

    interrupts: Interrupts

    def define(
        self,
        definitions: Definitions,
        checked: Checked,
        facts: Mapping[str, Ints],
        now: float,
        statistics: VersionStatistics,
    ) -> dict[str, RowChange]:
        """Take on a program, and rows that its text states."""
        ...

    def learn(self, definitions: Definitions, checked: Checked, now: float) -> None:
        """Go by what is known of types now; rows stay."""
        ...

    def change(
        self,
        deletes: Mapping[str, Ints],
        inserts: Mapping[str, Ints],
        now: float,
        statistics: VersionStatistics,
    ) -> dict[str, RowChange]:
        """Delete and insert rows of base relations, and all that follows from keys, lifetimes and sizes."""
        ...

    def commit(self, statistics: VersionStatistics) -> None:
        """Keep what the open version did."""
        ...

    def rollback(self) -> None:
        """Undo what the open version did, because of an error or because it was only tried."""
        ...

    def count(self, name: str) -> int:
        """How many rows the relation has."""
        ...

    def stored(self, name: str) -> bool:
        """Whether the relation may have rows."""
        ...

    def matrix(self, name: str) -> Ints:
        """All rows."""
        ...

    def table(self, name: str) -> pa.Table:
        """All rows, as values."""
        ...

    def holds(self, name: str, rows: Ints) -> bool:
        """Whether the one given row is there."""
        ...

    def export(self, name: str) -> list[str] | None:
        """Parquet files that hold the rows, for Spark to read; `None` where the rows are in this process."""
        ...

    def facts(self) -> Facts:
        """Sizes and plans, for `explain`."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes allocated for rows and indexes."""
        ...

    def write_checkpoint(
        self, store: Store, version: int, meta: Mapping[str, Any], tables: Mapping[str, pa.Table]
    ) -> None:
        """Write all that is here, and the tables given, as a checkpoint of the store."""
        ...

    def load(self, checkpoint: Checkpoint, definitions: Definitions, checked: Checked) -> None:
        """Take all from a checkpoint whose definitions these are."""
        ...

    def must_move(self, inserts: Mapping[str, Ints]) -> bool:
        """Whether a checkpoint must be written before these rows can be inserted, because rows have to move."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...
