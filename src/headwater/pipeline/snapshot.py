"""Snapshots: all rows of a source, compared on Spark with the rows that the relation holds.

The relation holds what the last snapshot had, so nothing else is kept. Both sides are one Spark query:

    rows of the source (side 1) UNION ALL rows of the relation (side 2),
    grouped by all columns; rows on one side only have changed

The source is read once, and only rows that changed are collected, through Arrow. That still costs a scan of
both sides, which is said in the notes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.calls import public_class
from headwater.pipeline.fields import check_fields
from headwater.pipeline.incomplete import blamed_casts, sift, told_once
from headwater.pipeline.projection import Projection, schema_text
from headwater.pipeline.refusals import refusals
from headwater.pipeline.source import Batch, Choice, Unseen, known
from headwater.spark.frames import arrow_of, frame_of, quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from headwater.database import Database


@public_class
@dataclass(frozen=True)
class Snapshot(Choice, Unseen):
    """A DataFrame, or a function from the session to one: all rows that the relation is to have."""

    relation: str
    frame: DataFrame | Callable[[SparkSession], DataFrame]
    whole = True

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "name", self.name or f"snapshot:{self.relation}")

    def poll(self, session: SparkSession, database: Database, mark: Any) -> Batch | None:
        """What differs between the source and the relation."""
        frame = self.frame(session) if callable(self.frame) else self.frame
        projection = Projection.of(self)
        return compare(session, database, self.relation, frame, projection, self.name, known(mark))


@public_class
@dataclass(frozen=True)
class Table(Choice, Unseen):
    """A table or view of Spark's catalog."""

    relation: str
    table: str
    whole = True

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "name", self.name or f"table:{self.table}")

    def poll(self, session: SparkSession, database: Database, mark: Any) -> Batch | None:
        """What differs between the table and the relation."""
        with refusals(self.name):
            session.catalog.refreshTable(self.table)
            frame = session.table(self.table)
        projection = Projection.of(self)
        return compare(session, database, self.relation, frame, projection, self.name, known(mark))


def compare(
    session: SparkSession,
    database: Database,
    relation: str,
    frame: DataFrame,
    projection: Projection,
    source: str,
    before: Mapping[str, Any],
    more: Mapping[str, Any] | None = None,
) -> Batch | None:
    """What must come and go for the relation to hold what the source holds; `None` if it does already."""
    import pyarrow.compute as pc
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    info = database.info(relation)
    wanted = projection.apply(frame, info, source, before.get("schema"))
    mark = {"schema": schema_text(frame), **(more or {})}
    counted = Observation()
    wanted = wanted.observe(counted, F.count(F.lit(1)).alias("rows"))
    held = database[relation].arrow()
    columns = [quoted(column) for column in info.columns]
    insert: pa.Table | None
    delete: pa.Table | None = None
    with blamed_casts(frame, info, source, projection):
        if held.num_rows == 0:
            insert = arrow_of(wanted)
            notes: Sequence[str] = ()
        else:
            both = wanted.withColumn("_side", F.lit(1)).unionAll(
                frame_of(session, held).select(*columns).withColumn("_side", F.lit(2))
            )
            sides = both.groupBy(*columns).agg(F.bit_or("_side").alias("_side")).where("_side != 3")
            changed = arrow_of(sides)
            new = pc.equal(changed.column("_side"), 1)
            insert = changed.filter(new).drop_columns(["_side"])
            delete = changed.filter(pc.invert(new)).drop_columns(["_side"])
            notes = (f"{source} was read whole, to compare it with the {held.num_rows:,} rows of {relation}",)
        read = int(counted.get["rows"])
    batch = Batch(insert, delete, mark, read, notes=tuple(notes))
    batch = sift(
        batch, source, info, projection.way, frame, lambda rows: projection.apply(rows, info, source)
    )
    batch = told_once(batch, before)
    return None if batch.changes == 0 and batch.mark == before else batch
