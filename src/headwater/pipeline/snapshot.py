"""Snapshots: all rows of a source, compared on Spark with the rows that the relation holds.

The relation holds what the last snapshot had, so nothing else is kept. Both sides are one Spark query:

    rows of the source (side 1) UNION ALL rows of the relation (side 2),
    grouped by all columns; rows on one side only have changed

The source is read once, and only rows that changed are collected, through Arrow. That still costs a scan of
both sides, which is said in the notes. A folder of files is not read at all if no file in it has changed.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.calls import public_class
from headwater.errors import PipelineError
from headwater.pipeline.fields import check_fields
from headwater.pipeline.incomplete import blamed_casts, sift, told_once
from headwater.pipeline.projection import Projection, refusals, schema_text
from headwater.pipeline.source import Batch, Unseen, described, known, located
from headwater.spark.frames import arrow_of, frame_of, quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from headwater.database import Database

FORMATS = ("csv", "parquet", "json", "orc")
_TICK = 0.05  # seconds: a file this young may be written again without its time of change being another one
_COARSE = 2.0  # the same where file systems keep whole seconds


@public_class
@dataclass(frozen=True)
class Snapshot(Unseen):
    """A DataFrame, or a function from the session to one: all rows that the relation is to have."""

    relation: str
    frame: DataFrame | Callable[[SparkSession], DataFrame]
    name: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    on_null: str = "fail"
    nan: str = "value"
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
class Table(Unseen):
    """A table or view of Spark's catalog."""

    relation: str
    table: str
    name: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    on_null: str = "fail"
    nan: str = "value"
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


@public_class
@dataclass(frozen=True)
class Files:
    """A file or a folder of files: CSV (with a header, unless options say otherwise), Parquet, JSON lines, ORC."""

    relation: str
    path: str
    format: str
    name: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    on_null: str = "fail"
    nan: str = "value"
    options: Mapping[str, str] = field(default_factory=dict)
    header: bool | None = None
    whole = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.format not in FORMATS:
            raise PipelineError(
                "unknown-format", f"no format {self.format!r}", hint=f"one of {', '.join(FORMATS)}"
            )
        if self.header is not None and self.format != "csv":
            raise PipelineError(
                "bad-source", f"{self.relation}: only CSV files have a header", hint="leave header out"
            )
        object.__setattr__(self, "name", described(self.format, self.path, self.name or None))

    @cached_property
    def _options(self) -> dict[str, str]:
        header = {"header": "true", "mode": "FAILFAST"} if self.format == "csv" else {}
        if self.header is not None:
            header["header"] = str(self.header).lower()
        lines = {"mode": "FAILFAST"} if self.format == "json" else {}
        return {**header, **lines, **self.options}

    def behind(self, mark: Any) -> str:
        """Whether the files are others than those that were read."""
        files = digest(fingerprint(self.path))
        return "changed files" if files is not None and files != known(mark).get("files") else ""

    def poll(self, session: SparkSession, database: Database, mark: Any) -> Batch | None:
        """What differs between the files and the relation; nothing if the files are the same as before."""
        before = known(mark)
        files = digest(settled(self.path))
        if files is not None and files == before.get("files"):
            return None
        with refusals(self.name):
            frame = session.read.format(self.format).options(**self._options).load(located(self.path))
        projection = Projection.of(self, text=self.format == "csv")
        more = {} if files is None else {"files": files}
        return compare(session, database, self.relation, frame, projection, self.name, before, more)


def digest(files: list[list[Any]] | None) -> str | None:
    """A fingerprint in one word."""
    return None if files is None else hashlib.sha256(repr(files).encode()).hexdigest()


def settled(path: str) -> list[list[Any]] | None:
    """The fingerprint, taken when no file in it can change any more without changing it; `None` if some can."""
    files = fingerprint(path)
    age = time.time() - max((changed for *_, changed in files or ()), default=0) / 1e9
    if files is None or age < _COARSE and all(changed % 10**9 == 0 for *_, changed in files):
        return None
    if age < _TICK:
        time.sleep(_TICK - max(0.0, age))
        return settled(path)
    return files


def fingerprint(path: str) -> list[list[Any]] | None:
    """Name, size and time of change of all files that Spark would read; `None` where we cannot look.

    Spark leaves out what begins with `_` or `.`; so do we, or its own bookkeeping would count as a change.
    """
    place = Path(path.removeprefix("file://"))
    if "://" in path and not path.startswith("file://") or any(mark in path for mark in "*?[{"):
        return None
    if place.is_file():
        state = place.stat()
        return [["", state.st_size, state.st_mtime_ns]]
    if not place.is_dir():
        return None
    found = []
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if not _hidden(name)]
        for name in names:
            if not _hidden(name):
                file = Path(folder) / name
                state = file.stat()
                found.append([file.relative_to(place).as_posix(), state.st_size, state.st_mtime_ns])
    return sorted(found)


def _hidden(name: str) -> bool:
    return name.startswith(".") or name.startswith("_") and "=" not in name


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
