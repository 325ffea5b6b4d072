"""Change feeds: sources that say themselves what has changed, in the one shape.

Each is read from behind the last commit that was applied; all commits since become one version. Which of many
changes to a row counts is worked out on Spark (`shape.net`), and only that is collected.

- `Feed`: a DataFrame in the shape, by a function of the session and the last commit;
- `feed_folder`: the folder that a feed sink of another pipeline writes;
- `table_changes`: `spark.read.changes`, of Spark 4.2 and later, for catalogs that keep changes.

Tables that keep their own history, and are first read whole, are in `history`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.calls import public, public_class
from headwater.errors import PipelineError
from headwater.pipeline.fields import check_fields, checked_text
from headwater.pipeline.incomplete import blamed_casts, sift
from headwater.pipeline.projection import Projection, schema_text
from headwater.pipeline.refusals import refusals
from headwater.pipeline.shape import CHANGE_TYPE, COMMIT_VERSION, comes, net
from headwater.pipeline.source import Batch, Choice, commits_behind, known, located
from headwater.spark.frames import arrow_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headwater.database import Database

ABOUT = "_headwater.json"
"""The file in a feed's folder that says whose it is, its schema, and up to which version it is complete."""

Reading = Callable[["SparkSession", "int | None"], "DataFrame | None"]
"""The changes after a commit (`None`: all there are), or `None` if there can be none."""


@public_class
@dataclass(frozen=True)
class Feed(Choice):
    """Changes in the one shape. `frame` gives those after a commit; it may give more, which are left out."""

    relation: str
    frame: Reading
    newest: Callable[[], int] | None = None  # the last commit there is, where that is quickly told
    whole = False

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "name", self.name or f"feed:{self.relation}")

    def behind(self, mark: Any) -> str:
        """Commits that were not read yet."""
        last = known(mark).get("commit", 0)
        return commits_behind(self.newest() - last) if self.newest is not None else ""

    def poll(self, session: SparkSession, database: Database, mark: Any) -> Batch | None:
        """The net changes of all commits after the mark."""
        before = known(mark)
        last = before.get("commit")
        with refusals(self.name):
            frame = self.frame(session, last)
        if frame is None:
            return None
        return since(database, self.relation, frame, Projection.of(self), self.name, before)


def since(
    database: Database,
    relation: str,
    frame: DataFrame,
    projection: Projection,
    source: str,
    before: Mapping[str, Any],
) -> Batch | None:
    """The net changes in a DataFrame of the one shape, of commits after the one in the mark `before`."""
    from pyspark.sql import functions as F

    for column in (CHANGE_TYPE, COMMIT_VERSION):
        if column not in frame.columns:
            raise PipelineError(
                "no-change-type",
                f"{source} has no column {column}",
                hint="a change feed has _change_type and _commit_version; for all rows of a table, use a snapshot",
            )
    info = database.info(relation)
    last = before.get("commit")
    chosen = projection.apply(frame, info, source, before.get("schema"))
    later = F.lit(True) if last is None else F.col(COMMIT_VERSION) > F.lit(last)
    with blamed_casts(frame, info, source, projection):
        chosen = chosen.where(later)
        counts = F.count(F.lit(1)).alias("rows")
        from pyspark.sql import Observation

        counted = Observation()
        changed = arrow_of(net(chosen.observe(counted, counts), info.columns))
        read = int(counted.get["rows"])
    if changed.num_rows == 0:
        return None
    insert, delete, newest = split(changed)
    batch = Batch(insert, delete, {"commit": newest, "schema": schema_text(frame)}, read)
    return sift(
        batch,
        source,
        info,
        projection.way,
        frame,
        lambda rows: projection.apply(rows, info, source).where(later & comes()),
    )


def split(changed: Any) -> tuple[Any, Any, int]:
    """Net changes as rows that come, rows that go, and the last version among them."""
    import pyarrow.compute as pc

    newest = pc.max(changed.column("_version")).as_py()
    comes = changed.column("_comes")
    rows = changed.drop_columns(["_comes", "_version"])
    return rows.filter(comes), rows.filter(pc.invert(comes)), newest


# ------------------------------------------------------------------ where feeds are


@dataclass(frozen=True)
class About:
    """What a folder of published rows says of itself: whose it is, its schema, the version it is complete up to."""

    identity: str
    schema: str
    version: int

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, data: bytes, path: str) -> About:
        """What a file's content says; refuses what no sink wrote."""
        try:
            said = json.loads(data)
            found = cls(said["identity"], said["schema"], said["version"])
            if [type(value) for value in asdict(found).values()] == [str, str, int]:
                return found
            what = "a value is of another kind"
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            what = str(error) or type(error).__name__
        raise PipelineError(
            "unreadable",
            f"{path}/{ABOUT} is not what a sink wrote: {what}",
            hint="restore the file from a copy; or remove the folder, and all is published anew by a new sink",
        )


def about(path: str) -> About:
    """What a feed's folder says of itself."""
    try:
        return About.parse((Path(path) / ABOUT).read_bytes(), path)
    except FileNotFoundError:
        raise PipelineError(
            "missing-source",
            f"{path} is not the folder of a feed: it has no {ABOUT}",
            hint="run the pipeline that writes it first",
        ) from None


@public
def feed_folder(path: str) -> Reading:
    """The changes in the folder of a feed sink, as far as they are complete."""
    path = checked_text("path", path)

    def read(session: SparkSession, last: int | None) -> DataFrame | None:
        said = about(path)
        complete = said.version
        if complete <= (last or 0):
            return None
        frame = session.read.schema(said.schema).parquet(located(path))
        return frame.where(f"{COMMIT_VERSION} <= {complete} AND {COMMIT_VERSION} > {last or 0}")

    return read


def complete_version(path: str) -> int:
    """The version up to which the folder of a feed is complete; 0 if there is none yet."""
    try:
        return about(path).version
    except PipelineError:
        return 0


@public
def feed_stream(session: SparkSession, path: str) -> DataFrame:
    """The folder of a feed sink as a streaming DataFrame, for the next pipeline or any other stream."""
    return session.readStream.schema(about(path).schema).parquet(located(path))


@public
def table_changes(table: str) -> Reading:
    """`spark.read.changes` of a table, for catalogs that offer it."""
    table = checked_text("table", table)

    def read(session: SparkSession, last: int | None) -> DataFrame:
        if not hasattr(session.read, "changes"):
            raise PipelineError(
                "no-changes",
                f"{table}: this Spark ({session.version}) has no spark.read.changes",
                hint="it came with Spark 4.2; use a snapshot of the table instead",
            )
        reader = session.read.option("startingVersion", str(0 if last is None else last + 1))
        return reader.changes(table)

    return read
