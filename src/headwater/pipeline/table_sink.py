"""A view, or its changes, as a table of Spark's catalog.

The changes are partitioned by `_commit_version`; writing a version replaces its partition, so that twice is once. The
rows are overwritten as a whole. Whose table it is stands in its properties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headwater.calls import public_class
from headwater.database.progress import Owed
from headwater.errors import PipelineError
from headwater.pipeline.fields import check_fields
from headwater.pipeline.folders import stamped
from headwater.pipeline.refusals import refusals
from headwater.pipeline.shape import COMMIT_VERSION
from headwater.pipeline.sink import Publication, others
from headwater.spark.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OWNER = "headwater.identity"


@public_class
@dataclass(frozen=True)
class TableSink:
    """`full`: the rows, overwritten. `feed`: the changes."""

    view: str
    table: str
    mode: Literal["full", "feed"] = "full"
    name: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.mode not in ("full", "feed"):
            raise PipelineError("bad-sink", f"no mode {self.mode!r}", hint="one of full, feed")
        object.__setattr__(self, "name", self.name or f"table-{self.mode}:{self.table}")

    @property
    def rows(self) -> bool:
        """Only a table that is written anew does without the changes."""
        return self.mode != "full"

    def publish(self, owed: Sequence[Owed], to: Publication) -> None:
        """Overwrite the table, or the partitions of these versions."""
        session = to.session
        with refusals(self.name):
            there = session.catalog.tableExists(self.table)
            if there and _property(session, self.table) is None:
                raise others(f"the table {self.table}", "is somebody else's")
            if self.mode == "full":
                rows = frame_of(session, to.database[to.view].arrow())
                rows.write.mode("overwrite").saveAsTable(self.table)
                self._own(to)
                return
            if there and _property(session, self.table) != to.identity:
                raise others(f"the table {self.table}", "holds the output of another database or pipeline")
            if not there:
                empty = stamped(owed[-1], version=True).slice(0, 0)
                frame_of(session, empty).write.partitionBy(COMMIT_VERSION).saveAsTable(self.table)
                self._own(to)
            for one in owed:
                if one.table is not None and one.table.num_rows:
                    self._replace(session, one)

    def _replace(self, session: SparkSession, one: Owed) -> None:
        view = f"headwater_changes_{one.version}"
        frame_of(session, stamped(one)).createOrReplaceTempView(view)
        try:
            session.sql(
                f"INSERT OVERWRITE TABLE {self.table} PARTITION ({COMMIT_VERSION} = {one.version})"
                f" SELECT * FROM {view}"
            ).collect()
        finally:
            session.catalog.dropTempView(view)

    def _own(self, to: Publication) -> None:
        to.session.sql(f"ALTER TABLE {self.table} SET TBLPROPERTIES ('{_OWNER}' = '{to.identity}')")


def _property(session: SparkSession, table: str) -> str | None:
    found = session.sql(f"SHOW TBLPROPERTIES {table}").collect()
    return next((row["value"] for row in found if row["key"] == _OWNER), None)
