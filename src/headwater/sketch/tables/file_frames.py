"""DataFrames over Parquet files that are named one by one.

Spark lists the files it is given, and from 33 on by a job of its own, though there is one status to ask for each.
Of files on this machine the driver asks itself, which takes a fraction of that; and of a table whose files never
change (`FileFrames`) it asks for those only that it has not seen. That uses parts of Spark which are not its public
face: where one of them is not there, all files are listed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

LISTED_BY_A_JOB = "spark.sql.sources.parallelPartitionDiscovery.threshold"
"""Spark's setting: from how many paths on a job lists them."""
MOST_PATHS = 10_000
"""So many paths are kept as Spark has them."""
_listing = threading.Lock()


class FileFrames:
    """DataFrames over files of one table, none of which ever changes."""

    def __init__(self) -> None:
        self._listed: _ListedFiles | None = None

    def frame(
        self, session: SparkSession, schema: pa.Schema, files: Sequence[str], root: str | None
    ) -> DataFrame:
        """See `frame_of_files`."""
        known = self._listed
        is_here = root is None and bool(files) and "://" not in files[0]
        if known is not None and is_here and known.is_of(session, schema):
            found = known.frame(files)
            if found is not None:
                return found
        made = frame_of_files(session, schema, files, root)
        self._listed = _ListedFiles.of(session, schema, made) if is_here else known
        return made


@dataclass(frozen=True, eq=False)
class _ListedFiles:
    """What Spark knows of some files of a table: of those it is asked for a second time."""

    session: SparkSession
    schema: pa.Schema
    relation: Any
    """The table's columns and format, over files that were asked for first."""
    statuses: Any
    paths: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(session: SparkSession, schema: pa.Schema, frame: DataFrame) -> _ListedFiles | None:
        """Nothing is known where files are on another machine, or Spark has other parts."""
        from py4j.protocol import Py4JError

        java: Any = session._jvm
        try:
            relation = relation_of(frame)
            if relation.location().rootPaths().head().toUri().getScheme() != "file":
                return None
            sources = java.org.apache.spark.sql.execution.datasources
            statuses = sources.FileStatusCache.getOrCreate(session._jsparkSession)
            return _ListedFiles(session, schema, relation, statuses)
        except (AttributeError, TypeError, Py4JError):
            return None

    def is_of(self, session: SparkSession, schema: pa.Schema) -> bool:
        return self.session is session and self.schema.equals(schema, check_metadata=True)

    def frame(self, files: Sequence[str]) -> DataFrame | None:
        """The rows of files; `None` where one of them is not there, or Spark has other parts."""
        from py4j.protocol import Py4JError

        try:
            return self._frame(files)
        except (AttributeError, TypeError, Py4JError):
            return None

    def _frame(self, files: Sequence[str]) -> DataFrame | None:
        from pyspark.sql import DataFrame

        java: Any = self.session._jvm
        ours: Any = self.session._jsparkSession
        known, none = self.relation, java.scala.Option.empty()
        if len(self.paths) > MOST_PATHS:
            self.paths.clear()
        for file in files:
            if file not in self.paths:
                self.paths[file] = java.org.apache.hadoop.fs.Path(f"file:{file}")
        paths = java.PythonUtils.toSeq([self.paths[file] for file in files])
        columns = java.scala.Option.apply(known.dataSchema())
        sources = java.org.apache.spark.sql.execution.datasources
        with _listed_by_the_driver(self.session, len(files), is_here=True):
            location = sources.InMemoryFileIndex(
                ours, paths, known.options(), columns, self.statuses, none, none
            )
        if location.allFiles().size() != len(files):
            return None
        rest = [known.productElement(place) for place in range(1, known.productArity())]
        return DataFrame(ours.baseRelationToDataFrame(known.copy(location, *rest, ours)), self.session)


def settings_of(session: SparkSession) -> str:
    """All settings of a session as they are now: what Spark makes of files and queries rests on them."""
    ours: Any = session._jsparkSession
    return str(ours.sessionState().conf().settings().toString())


def relation_of(frame: DataFrame) -> Any:
    """What a DataFrame over files reads, as Spark has it."""
    return frame._jdf.queryExecution().analyzed().relation()


def frame_of_files(
    session: SparkSession, schema: pa.Schema, files: Sequence[str], root: str | None
) -> DataFrame:
    """The rows of files, in these columns: files never change, so Spark lists them once.

    `root`: where directories begin whose names have values of columns.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    return frame_with_columns(session, from_arrow_schema(schema, prefer_timestamp_ntz=True), files, root)


def frame_with_columns(
    session: SparkSession, columns: StructType, files: Sequence[str], root: str | None
) -> DataFrame:
    """The same with columns as Spark has them."""
    if not files:
        return session.createDataFrame([], columns)
    reader = session.read.schema(columns).option("__globPaths__", "false")  # names are meant as they are
    if root is not None:
        reader = reader.option("basePath", root)
    with _listed_by_the_driver(session, len(files), is_here="://" not in files[0]):
        return reader.parquet(*files)


@contextmanager
def _listed_by_the_driver(session: SparkSession, files: int, *, is_here: bool) -> Iterator[None]:
    """The session's own setting is back afterwards."""
    if not is_here:
        yield
        return
    with _listing:
        before = str(session.conf.get(LISTED_BY_A_JOB))
        if files <= int(before):
            yield
            return
        session.conf.set(LISTED_BY_A_JOB, str(files))
        try:
            yield
        finally:
            session.conf.set(LISTED_BY_A_JOB, before)
