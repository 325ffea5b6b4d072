"""What Spark's catalog says of a table of Parquet files: its columns, where its files are, which partitions it has.

Of a table with partitions Spark reads those that the catalog lists, wherever they lie, and nothing else that is in
its directory: one that was dropped may have left its files, one that nobody has added may have files already.
So these partitions are what the table's files are. A table whose directory is not there has no rows.

`look` asks the catalog; in between, all is as it was said last.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from headwater.errors import DataError, PipelineError, SketchError
from headwater.pipeline.refusals import refusals
from headwater.sketch.tables.directory_files import (
    NO_VALUE,
    FileMark,
    is_hidden,
    marks_below,
    marks_of,
    partition_texts,
)
from headwater.sketch.tables.parquet_source import directory_columns
from headwater.spark.frames import arrow_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


PADDED = "CHAR_VARCHAR"
"""What Spark notes of columns whose strings have a length."""


@dataclass(frozen=True)
class CatalogRecord:
    """What the catalog says of a table; `text` is all of it."""

    text: str
    path: Path
    columns: str
    """As JSON."""
    keys: tuple[str, ...]
    """The columns that partitions have values of."""
    has_list: bool
    """Whether the catalog has a list of the partitions; else directories tell."""
    is_plain: bool
    """Whether nothing but its files and this record decides what rows Spark reads."""


class CatalogSource:
    """A table by its name in the catalog."""

    fills = True

    def __init__(self, session: SparkSession, name: str):
        self.session, self.name = session, name
        self.record = self._asked(None)
        self._partitions: tuple[tuple[str, Path], ...] = ()
        self._listed = ""
        self._schema: tuple[str, pa.Schema | None] = ("", None)
        self.look()

    def look(self) -> CatalogRecord:
        """What the catalog says now; refused with `missing-source` where there is no such table."""
        self.record = self._asked(self.record)
        if self.record.has_list:
            self._look_at_partitions()
        return self.record

    def _asked(self, before: CatalogRecord | None) -> CatalogRecord:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            found = self._metadata()
            text = str(found.toString())
            if before is not None and before.text == text:
                return before
            if found.provider().isEmpty() or str(found.provider().get()).lower() != "parquet":
                raise self._other_format()
            keys = json.loads(found.partitionSchema().json())["fields"]
            columns = str(found.schema().json())
            is_plain = not keys and not found.storage().properties().nonEmpty() and PADDED not in columns
            return CatalogRecord(
                text, local_path(str(found.location().toString())), columns, tuple(key["name"] for key in keys),
                bool(keys) and bool(found.tracksPartitionsInCatalog()), is_plain,
            )  # fmt: skip
        except (Py4JError, PySparkException):
            try:
                with refusals(self.name):  # which says it better
                    self.session.sql(f"DESCRIBE EXTENDED {self.name}")
            except PipelineError as error:
                raise SketchError(error.code, error.message, hint=error.hint) from error
            raise self._other_format() from None

    def _other_format(self) -> SketchError:
        return SketchError(
            "unknown-format",
            f"{self.name} is not a table of Parquet files",
            hint="name a Delta table by its path: format='delta'",
        )

    def _state(self) -> Any:
        ours: Any = self.session._jsparkSession
        return ours.sessionState()

    def _metadata(self) -> Any:
        state = self._state()
        return state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(self.name))

    def _look_at_partitions(self) -> None:
        state, ours = self._state(), self.session._jvm
        assert ours is not None  # of a session that runs
        table = state.sqlParser().parseTableIdentifier(self.name)
        found = state.catalog().listPartitions(table, ours.scala.Option.empty())
        text = str(found.mkString("\n"))
        if text == self._listed:
            return
        partitions = (found.apply(number) for number in range(found.size()))
        self._partitions = tuple(
            self._placed(str(each.spec().mkString("\n")), local_path(str(each.location().toString())))
            for each in partitions
        )
        self._listed = text

    def _placed(self, values: str, place: Path) -> tuple[str, Path]:
        """How files of a partition are named: below the table's directory, if just that place says its values."""
        said = dict(line.split(" -> ", 1) for line in values.split("\n"))
        if place.is_relative_to(self.record.path):
            name = place.relative_to(self.record.path).as_posix()
            texts = {
                key: NO_VALUE if text is None else text for key, text in partition_texts(f"{name}/").items()
            }
            if texts == said and name.count("/") == len(said) - 1:
                return name, place
        return str(place), place

    def marks(self) -> dict[str, FileMark]:
        path = self.record.path
        if not self.record.has_list:
            return marks_below(path) if path.is_dir() else {}
        return marks_of(
            (f"{name}/{file.name}", file)
            for name, place in self._partitions
            if place.is_dir()
            for file in place.iterdir()
            if not is_hidden(file.name)
        )

    def columns(self, files: Collection[str]) -> pa.Schema:
        """As the catalog has them; where it has types that no relation holds, as the files have them."""
        said, known = self._schema
        if said != self.record.columns:
            from pyspark.sql.types import StructType

            columns = StructType.fromJson(json.loads(self.record.columns))
            try:
                known = arrow_of(self.session.createDataFrame([], columns)).schema
            except DataError:
                if not files:
                    raise
                known = None
            self._schema = self.record.columns, known
        return directory_columns(self.record.path, files) if known is None else known

    def partitions(self, files: Collection[str]) -> pa.Schema:
        import pyarrow as pa

        found = self.columns(files)
        return pa.schema([field for field in found if field.name in self.record.keys])

    def is_partitioned(self, files: Collection[str]) -> bool:
        return bool(self.record.keys)

    def frame(self, session: SparkSession, files: Collection[str]) -> DataFrame:
        session.catalog.refreshTable(self.name)
        return session.table(self.name)


def local_path(location: str) -> Path:
    """Where something is that the catalog names by a URL."""
    return Path(unquote(urlparse(location).path))
