"""What a sink is: where a view, or its changes, are put, once a version.

A sink is a subscriber of its view (`Database.subscribe`): what was committed and not published is owed to it, also
after a crash. It publishes in the order of versions and is told again what it may have published already, so it
must know by itself what is there: publishing a version twice is publishing it once.

A sink belongs to one subscription, whose identity it keeps beside the data. Another database's output is refused: its
version numbers mean something else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from headwater.database.progress import Owed
from headwater.errors import PipelineError
from headwater.files.feed import net
from headwater.pipeline.shape import SHAPE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from headwater.database import Database


@dataclass(frozen=True)
class Publication:
    """All that a sink may need to know of the view, its database and the session."""

    database: Database
    session_of: Callable[[], SparkSession]
    view: str
    identity: str
    acknowledge: Callable[[int], None] = lambda version: None
    """Say that nothing up to a version is needed any more, where a sink knows it before it is done with all."""

    @property
    def session(self) -> SparkSession:
        """The session, made when a sink needs it."""
        return self.session_of()

    @property
    def columns(self) -> tuple[str, ...]:
        return self.database.info(self.view).columns

    @property
    def nullable(self) -> frozenset[str]:
        """The columns that can hold NULL."""
        info = self.database.info(self.view)
        return frozenset(
            name for name, nullable in zip(info.columns, info.nullable, strict=False) if nullable
        )


class Sink(Protocol):
    """Somewhere to put a view or its changes."""

    @property
    def view(self) -> str:
        """The view (or base relation) that it shows."""
        ...

    @property
    def name(self) -> str:
        """The name of its subscription: the same as long as it is the same sink."""
        ...

    @property
    def rows(self) -> bool:
        """Whether it needs the rows that changed, and not only to know that some did."""
        ...

    def publish(self, owed: Sequence[Owed], to: Publication) -> None:
        """Put the versions there, or find that they are there already."""
        ...


def together(owed: Sequence[Owed]) -> pa.Table:
    """The net changes of several versions: each distinct row once, with `_change_type`."""
    import pyarrow as pa

    tables = [one.table for one in owed if one.table is not None]
    if len(tables) == 1:
        return tables[0]
    every = pa.concat_tables(tables, promote_options="permissive")
    kinds = every.column("_change_type").to_pylist()
    versions = [one.version for one in owed if one.table is not None for _ in range(one.table.num_rows)]
    inserted, deleted = net(every.drop_columns(["_change_type"]), kinds, versions)
    parts = [_with_kind(inserted, "insert"), _with_kind(deleted, "delete")]
    return pa.concat_tables(parts)


def _with_kind(table: Any, kind: str) -> Any:
    import pyarrow as pa

    return table.append_column("_change_type", pa.array([kind] * table.num_rows, pa.string()))


def refuse_reserved(sink: Sink, columns: Sequence[str]) -> None:
    """Refuse to publish the changes of a view with a column of theirs. (Spark takes capitals for small letters.)"""
    clash = [column for column in columns if column.lower() in SHAPE]
    if sink.rows and clash:
        raise PipelineError(
            "reserved-column",
            f"{sink.name}: {sink.view} has a column {clash[0]}, and changes are published with one of that name",
            hint="name the view's column differently, or publish all rows of the view",
        )


def others(place: str, what: str) -> PipelineError:
    """A refusal to write over what is not ours."""
    return PipelineError(
        "other-output",
        f"{place} {what}",
        hint="remove it, or write somewhere else; version numbers of two databases do not mix",
    )
