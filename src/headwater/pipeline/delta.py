"""Delta tables: through Spark's own `delta` format where its jar is there, else through the `deltalake` wheel.

The wheel needs no Java at all. It reads the table in this process, and hands it to Spark as Arrow; so filters and
projections are worked out on Spark after reading, and not pushed down into the files. The jar pushes them down.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.calls import public
from headwater.errors import HeadwaterError, MissingExtra, PipelineError
from headwater.pipeline.fields import checked_text
from headwater.pipeline.history import HistoryTable, NoChanges
from headwater.pipeline.shape import COMMIT_VERSION
from headwater.pipeline.source import commits_behind, located
from headwater.spark.frames import frame_of
from headwater.values.arguments import flag

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession

_JAR = "io.delta.sql.DeltaSparkSessionExtension"


@public
def delta_table(path: str, *, wheel: bool | None = None) -> HistoryTable:
    """The table at a path. `wheel` chooses; by default, the session's jar is used if it has one."""
    path, wheel = checked_text("path", path), None if wheel is None else flag("wheel", wheel)
    return Wheel(path) if wheel else DeltaHistory(path, "auto" if wheel is None else "jar")


def has_jar(session: SparkSession) -> bool:
    """Whether this session can read Delta by itself."""
    from py4j.protocol import Py4JError

    try:
        java: Any = session.sparkContext._jvm
        java.java.lang.Class.forName(_JAR)
    except Py4JError:
        return False
    return True


def require_wheel() -> Any:
    """The module `deltalake`."""
    try:
        import deltalake
    except ImportError as error:
        raise MissingExtra(
            "missing-extra",
            "a Delta table needs the deltalake wheel, or Delta's jar in the Spark session",
            hint="pip install 'headwater[delta]'",
        ) from error
    return deltalake


def plain(table: Any) -> pa.Table:
    """An Arrow table in types that Spark takes: no views, no unsigned ints, microseconds."""
    import pyarrow as pa

    table = pa.table(table)
    fields = [pa.field(one.name, _plain(one.type), one.nullable) for one in table.schema]
    return table.cast(pa.schema(fields))


def _plain(kind: Any) -> Any:
    import pyarrow as pa

    if str(kind) in ("string_view", "large_string"):
        return pa.string()
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or str(kind).startswith("list_view"):
        return pa.list_(_plain(kind.value_type))
    return kind


@dataclass(frozen=True)
class Wheel:
    """A Delta table read by the wheel."""

    path: str

    @property
    def what(self) -> str:
        return f"delta:{self.path}"

    def _open(self, version: int | None = None) -> DeltaTable:
        deltalake = require_wheel()
        try:
            table: DeltaTable = deltalake.DeltaTable(self.path, version=version)
            return table
        except deltalake.exceptions.TableNotFoundError as error:
            raise PipelineError(
                "missing-source", f"there is no Delta table at {self.path}", hint="is the path right?"
            ) from error

    def newest(self, session: SparkSession) -> int:
        """The version it has now."""
        return int(self._open().version())

    def rows(self, session: SparkSession, version: int) -> DataFrame:
        """All rows at a version."""
        return frame_of(session, plain(self._open(version).to_pyarrow_table()))

    def changes(self, session: SparkSession, after: int, upto: int) -> DataFrame:
        """The change data feed between two versions."""
        deltalake = require_wheel()
        if upto < after:
            raise NoChanges(f"it went back from version {after} to {upto}")
        table = self._open()
        if table.metadata().configuration.get("delta.enableChangeDataFeed") != "true":
            raise NoChanges("its change data feed is off (delta.enableChangeDataFeed)")
        try:
            found = table.load_cdf(starting_version=after + 1, ending_version=upto)
            return frame_of(session, plain(found))
        except deltalake.exceptions.DeltaError as error:
            raise NoChanges(_why(error)) from error

    def behind(self, last: int) -> str:
        return commits_behind(int(self._open().version()) - last)


@dataclass(frozen=True)
class DeltaHistory:
    """A Delta table read by Spark; with `way="auto"`, by the wheel if the session has no jar."""

    path: str
    way: str = "jar"
    _wheel: Wheel = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_wheel", Wheel(self.path))

    @property
    def what(self) -> str:
        return self._wheel.what

    def _by_wheel(self, session: SparkSession) -> bool:
        return self.way == "auto" and not has_jar(session)

    def newest(self, session: SparkSession) -> int:
        """The version it has now."""
        if self._by_wheel(session):
            return self._wheel.newest(session)
        history = session.sql(f"DESCRIBE HISTORY delta.`{located(self.path)}` LIMIT 1")
        return int(history.select("version").collect()[0][0])

    def rows(self, session: SparkSession, version: int) -> DataFrame:
        """All rows at a version."""
        if self._by_wheel(session):
            return self._wheel.rows(session, version)
        return session.read.format("delta").option("versionAsOf", version).load(located(self.path))

    def changes(self, session: SparkSession, after: int, upto: int) -> DataFrame:
        """The change data feed between two versions."""
        from pyspark.errors import PySparkException

        if self._by_wheel(session):
            return self._wheel.changes(session, after, upto)
        reader = session.read.format("delta").option("readChangeFeed", "true")
        reader = reader.option("startingVersion", after + 1).option("endingVersion", upto)
        try:
            frame = reader.load(located(self.path))
            frame.schema[COMMIT_VERSION]
        except PySparkException as error:
            raise NoChanges(_why(error)) from error
        return frame

    def behind(self, last: int) -> str:
        """Commits since, as the wheel says, if it is there."""
        try:
            return self._wheel.behind(last)
        except HeadwaterError:
            return ""


def _why(error: Exception) -> str:
    return f"its change data feed cannot be read ({str(error).splitlines()[0][:200]})"
