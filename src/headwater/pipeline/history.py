"""Tables that keep their history: read whole the first time, then only their changes.

What a format must offer is small (`HistoryTable`): its newest version, its rows at a version, and its changes
between two. Delta is in `delta`, Iceberg in `iceberg`.

Where the changes cannot be had (the history was cleaned up, or the change feed was off for a while), the table is
compared as a whole, and that is noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from headwater.calls import public_class
from headwater.errors import PipelineError
from headwater.pipeline.feed import since
from headwater.pipeline.fields import check_fields
from headwater.pipeline.projection import Projection
from headwater.pipeline.refusals import refusals
from headwater.pipeline.snapshot import compare
from headwater.pipeline.source import Batch, Choice, known
from headwater.values.scalars import show

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headwater.database import Database


class NoChanges(Exception):  # noqa: N818
    """The changes asked for are not there (any more); says why."""


class HistoryTable(Protocol):
    """A table with versions. A version is any JSON value; only the table itself compares them."""

    @property
    def what(self) -> str:
        """Format and place, for names and errors."""
        ...

    def newest(self, session: SparkSession) -> Any:
        """The version it has now."""
        ...

    def rows(self, session: SparkSession, version: Any) -> DataFrame:
        """All rows at a version."""
        ...

    def changes(self, session: SparkSession, after: Any, upto: Any) -> DataFrame:
        """Changes in the one shape, of versions after one up to another; raises `NoChanges`."""
        ...

    def behind(self, last: Any) -> str:
        """What came after a version, in words; nothing if nothing did, or nobody can tell without Spark."""
        ...


@public_class
@dataclass(frozen=True)
class History(Choice):
    """A source that follows a table with history."""

    relation: str
    table: HistoryTable
    whole = True

    def __post_init__(self) -> None:
        check_fields(self, others=("table",))
        if not callable(getattr(self.table, "changes", None)):
            raise PipelineError(
                "wrong-type",
                f"table of History is {show(self.table)}",
                hint="delta_table(...) or Iceberg(...)",
            )
        object.__setattr__(self, "name", self.name or self.table.what)

    def behind(self, mark: Any) -> str:
        """Versions that were not read yet."""
        last = known(mark).get("version")
        return self.table.behind(last) if last is not None else ""

    def poll(self, session: SparkSession, database: Database, mark: Any) -> Batch | None:
        """The changes of all versions since the mark, or the table as a whole if it was never read."""
        before = known(mark)
        with refusals(self.name):
            newest = self.table.newest(session)
            last = before.get("version")
            if last == newest:
                return None
            projection = Projection.of(self)
            schema = {"schema": before["schema"]} if "schema" in before else {}
            notes: tuple[str, ...] = ()
            if last is not None:
                try:
                    frame = self.table.changes(session, last, newest)
                    batch = since(database, self.relation, frame, projection, self.name, schema)
                    return self._at(newest, batch, schema)
                except NoChanges as why:
                    notes = (f"{self.name} was read whole: {why}",)
            frame = self.table.rows(session, newest)
            batch = compare(session, database, self.relation, frame, projection, self.name, schema)
        done = self._at(newest, batch, schema)
        return replace(done, notes=(*notes, *done.notes))

    def _at(self, version: Any, batch: Batch | None, schema: Mapping[str, Any]) -> Batch:
        """The batch with the version as its mark; commits that changed no row of ours count as read, too."""
        if batch is None:
            return Batch(None, None, {"version": version, **schema})
        return replace(batch, mark={"version": version, "schema": batch.mark["schema"]})
