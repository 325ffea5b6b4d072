"""The data's way through Spark: links in a CSV file, views and their changes as Parquet.

The file says of each link whether it is up. Spark reads it, keeps those that are, and compares them with the rows of
`link`; what differs is a version. What that does to the views is published as change feeds. In the end, Spark folds
the feeds, and nothing else, into rows, which must be those of the views.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from headwater.database import Database
from headwater.demo.scenario import VIEWS, LinkFailure
from headwater.networks import Link, Topology
from headwater.pipeline import FeedFolder, Files, RowsFolder
from headwater.spark.java import find_java
from headwater.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUICK = {
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts in half the time
    "spark.sql.shuffle.partitions": 2,
}


@dataclass(frozen=True)
class Turn:
    """One run of the pipeline."""

    what: str
    read: int
    changes: int
    published: dict[str, int]
    seconds: float
    of_that: float  # in the version itself


class ThroughSpark:
    """An embedded session, and the files that it reads and that are published."""

    def __init__(self, folder: Path, topology: Topology):
        """Start Spark, and write the file."""
        begun = perf_counter()
        self.java = find_java().origin
        self.session: SparkSession = spark_session("local[2]", conf=_QUICK, app="headwater demo")
        self.started = perf_counter() - begun
        self.folder = folder
        self.topology = topology
        self.file = folder / "links.csv"
        self.write(())

    def write(self, down: Sequence[Link]) -> None:
        """The file, with these links marked as down."""
        lines = ["source,target,latency,up"]
        for link in self.topology.links:
            up = str(link not in down).lower()
            lines += [f"{source},{target},{cost},{up}" for source, target, cost in link.rows()]
        self.file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @property
    def source(self) -> Files:
        """The links that are up."""
        columns = {"src": "source", "dst": "target", "cost": "latency"}
        return Files("link", str(self.file), "csv", columns=columns, where="up = 'true'")

    def load(self, database: Database) -> tuple[int, float]:
        """Fill the database from the file; rows read and seconds."""
        begun = perf_counter()
        done = database.pipeline([self.source], spark=self.session).run()
        return done.read, perf_counter() - begun

    def turns(self, database: Database, failure: LinkFailure) -> Iterator[Turn]:
        """Publish the views; then links fail and come back, in the file."""
        sinks = [FeedFolder(view, str(self.folder / f"{view}_changes")) for view in VIEWS]
        rows = [RowsFolder(view, str(self.folder / view)) for view in VIEWS]
        pipeline = database.pipeline([self.source], [*sinks, *rows], spark=self.session)
        for what, down in (
            ("at first", ()),
            (f"{failure.which} down", failure.links),
            ("up again", ()),
        ):
            self.write(down)
            begun = perf_counter()
            done = pipeline.run()
            seconds = perf_counter() - begun
            published = {sink.view: sink.changes for sink in done.sinks[: len(VIEWS)]}
            of_that = database.statistics.seconds if done.versions else 0.0
            yield Turn(what, done.read, done.changes, published, seconds, of_that)

    def folded(self, view: str) -> set[tuple[object, ...]]:
        """The rows that Spark gets from the feed alone: those that came once more than they went."""
        feed = self.session.read.parquet(str(self.folder / f"{view}_changes"))
        columns = [column for column in feed.columns if not column.startswith("_")]
        signed = feed.selectExpr(*columns, "if(_change_type = 'insert', 1, -1) AS sign")
        found = signed.groupBy(*columns).sum("sign").where("`sum(sign)` = 1").select(*columns)
        return {tuple(row.values()) for row in found.toArrow().to_pylist()}

    def close(self) -> None:
        self.session.stop()
