"""Structured Streaming: each micro-batch is one version, exactly once.

Spark hands a batch to us and, when we are done, notes in its checkpoint that it is. If the process stops in
between, Spark hands us the same batch again, with the same number. The number is committed with the version, as
the source's mark, so a batch that comes again does nothing.

That rests on the checkpoint and the state belonging together. Where they do not, the stream is refused: a checkpoint
of another query, or a batch whose predecessor never came.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.calls import public_class
from headwater.errors import PipelineError
from headwater.pipeline.feed import split
from headwater.pipeline.fields import check_fields
from headwater.pipeline.incomplete import sift
from headwater.pipeline.projection import Projection
from headwater.pipeline.refusals import refusals
from headwater.pipeline.shape import CHANGE_TYPE, COMMIT_VERSION, comes, net
from headwater.pipeline.source import Batch, Choice, known, located
from headwater.spark.frames import arrow_of
from headwater.spark.scratch import scratch_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headwater.database import Database


@public_class
@dataclass(frozen=True)
class Stream(Choice):
    """A streaming DataFrame, or a function from the session to one.

    With a column `_change_type`, rows come and go; without it, all of them come. With `_commit_version`, the
    changes of one batch are ordered by it.
    """

    relation: str
    frame: DataFrame | Callable[[SparkSession], DataFrame]
    checkpoint: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "name", self.name or f"stream:{self.relation}")

    def open(self, session: SparkSession, database: Database) -> DataFrame:
        """The relation's columns of the stream, checked before anything runs."""
        with refusals(self.name):
            frame = self.frame(session) if callable(self.frame) else self.frame
        if not frame.isStreaming:
            raise PipelineError(
                "not-a-stream",
                f"{self.name} is not a streaming DataFrame",
                hint="use a snapshot or a feed for it",
            )
        return Projection.of(self).apply(frame, database.info(self.relation), self.name)

    def checkpoint_folder(self, database: Database) -> str:
        """Where Spark keeps the stream's progress: beside the state, as the two belong together."""
        if self.checkpoint is not None:
            return located(self.checkpoint)
        if database.path is None:
            return str(scratch_folder("stream"))
        safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in self.name)
        folder: Path = database.path / "streams" / safe
        return str(folder)

    def batch(self, frame: DataFrame, number: int, query: str, database: Database) -> Batch | None:
        """The net changes of a micro-batch; `None` if it was applied already."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        mark = known(database.marks.get(self.name))
        if self._seen(mark, number, query):
            return None
        info = database.info(self.relation)
        way = Projection.of(self).way
        now: dict[str, Any] = {"query": query, "batch": number}
        counted = Observation()
        with refusals(self.name):
            rows = frame.observe(counted, F.count(F.lit(1)).alias("rows"))
            if CHANGE_TYPE not in frame.columns:
                insert = arrow_of(rows.select(*info.columns))
                batch = Batch(insert, None, now, int(counted.get["rows"]))
                return sift(batch, self.name, info, way, frame, lambda rows: rows)
            changed = arrow_of(net(rows, info.columns))
            read = int(counted.get["rows"])
        if changed.num_rows == 0:
            return Batch(None, None, {**mark, **now}, read)
        oldest = _oldest(changed) if COMMIT_VERSION in frame.columns else None
        last = mark.get("commit")
        if oldest is not None and last is not None and oldest <= last:
            raise PipelineError(
                "late-commit",
                f"{self.name}: batch {number} has changes of commit {oldest}, and commit {last} was applied before",
                hint="read feeds in the order of their commits: without maxFilesPerTrigger, or as a feed",
            )
        insert, delete, newest = split(changed)
        if oldest is not None:
            now["commit"] = newest
        batch = Batch(insert, delete, now, read)
        return sift(batch, self.name, info, way, frame, lambda rows: rows.where(comes()))

    def _seen(self, mark: Mapping[str, Any], number: int, query: str) -> bool:
        if not mark:
            if number != 0:
                raise PipelineError(
                    "stream-gap",
                    f"{self.name}: the stream is at batch {number}, and the state has none of the batches before it",
                    hint="use the state that belongs to the checkpoint, or a new checkpoint",
                )
            return False
        if mark["query"] != query:
            raise PipelineError(
                "other-stream",
                f"{self.name}: the checkpoint belongs to another stream than the one the state was filled from",
                hint="restore the checkpoint, or begin with a new state",
            )
        if number > mark["batch"] + 1:
            raise PipelineError(
                "stream-gap",
                f"{self.name}: after batch {mark['batch']} comes batch {number}; some are missing",
                hint="use the state that belongs to the checkpoint",
            )
        return bool(number <= mark["batch"])


def _oldest(changed: Any) -> int:
    import pyarrow.compute as pc

    found: int = pc.min(changed.column("_version")).as_py()
    return found
