"""Iceberg tables, through Spark with Iceberg's jar: snapshots, and the changelog view between two of them.

The versions are Iceberg's snapshot ids. The changelog's own numbering (`_change_ordinal`) starts again with
each view, so it orders changes inside one reading and is no mark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.calls import public_class
from headwater.pipeline.fields import check_fields
from headwater.pipeline.history import NoChanges
from headwater.pipeline.shape import COMMIT_VERSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@public_class
@dataclass(frozen=True)
class Iceberg:
    """A table by its full name: catalog, namespace, table."""

    table: str

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def what(self) -> str:
        return f"iceberg:{self.table}"

    def newest(self, session: SparkSession) -> int:
        """The id of its present snapshot."""
        found = session.sql(f"SELECT snapshot_id FROM {self.table}.refs WHERE name = 'main'").collect()
        return int(found[0][0]) if found else 0

    def rows(self, session: SparkSession, version: int) -> DataFrame:
        """All rows at a snapshot."""
        return session.read.option("snapshot-id", version).table(self.table)

    def changes(self, session: SparkSession, after: int, upto: int) -> DataFrame:
        """The changelog between two snapshots."""
        from pyspark.errors import PySparkException

        try:
            session.sql(changelog_call(self.table, after, upto))
        except PySparkException as error:
            raise NoChanges(f"there is no changelog ({str(error).splitlines()[0][:200]})") from error
        return from_changelog(session.table(_view(self.table)))

    def behind(self, last: int) -> str:
        """Only Spark can tell."""
        return ""


def changelog_call(table: str, after: int, upto: int) -> str:
    """The procedure call that makes the changelog view."""
    catalog = table.split(".", 1)[0]
    return (
        f"CALL {catalog}.system.create_changelog_view(table => '{table}', changelog_view => '{_view(table)}',"
        f" options => map('start-snapshot-id', '{after}', 'end-snapshot-id', '{upto}'))"
    )


def _view(table: str) -> str:
    return f"headwater_changes_of_{table.replace('.', '_')}"


def from_changelog(frame: DataFrame) -> DataFrame:
    """A changelog in the one shape: `_change_ordinal` orders the changes."""
    return frame.withColumnRenamed("_change_ordinal", COMMIT_VERSION).drop("_commit_snapshot_id")
