"""A sink as what a watch does: the rows of a goal are published as they come and go, without a pipeline.

A pipeline publishes all rows that a view has first. A watch begins with what comes next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headwater.active.event import COMMIT_VERSION, WatchEvent
from headwater.database.progress import Owed
from headwater.errors import PipelineError
from headwater.pipeline.sink import Publication, Sink, refuse_reserved
from headwater.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.database import Database


def publishing(database: Database, sink: Sink, view: str) -> Callable[[WatchEvent], None]:
    """What `Database.watch` does with `do=sink`: publish what comes and goes in a view."""
    if view != sink.view:
        raise PipelineError(
            "bad-sink",
            f"{sink.name} publishes {sink.view}, and {view} is watched",
            hint=f"watch a goal of {sink.view}, or make a sink for {view}",
        )
    if not sink.rows:
        raise PipelineError(
            "bad-sink",
            f"{sink.name} publishes all rows of {sink.view}, and a watch knows those that come and go",
            hint="give it to a pipeline, or publish changes: FeedFolder",
        )
    refuse_reserved(sink, database.info(sink.view).columns)

    def publish(event: WatchEvent) -> None:
        owed = Owed(event.version, event.at, event.arrow().drop_columns([COMMIT_VERSION]))
        identity = database.watches[event.watch].identity
        sink.publish([owed], Publication(database, session, view, identity))

    def session() -> SparkSession:
        found: SparkSession = database.spark or spark_session()
        return found

    return publish
