"""Tables of Spark's catalog: those of Parquet files are directories with a name; others are read only.

Spark keeps what it knows of a table's files: it is told to look again whenever files have changed. As long as neither
they nor what the catalog says of the table has changed, queries over it are planned once, as those over a directory
are. Of *plain* tables these two say all: there are no partitions, which the catalog has a list of, no options for
reading, and no strings that Spark pads. Others are looked up each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from headwater.errors import SketchError
from headwater.pipeline.refusals import refusals
from headwater.sketch.sketch import SketchPart
from headwater.sketch.tables.bags import Numbers
from headwater.sketch.tables.layout import TableLayout
from headwater.sketch.tables.parquet_table import ParquetTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


PADDED = "CHAR_VARCHAR"
"""What Spark notes of columns whose strings have a length."""


class CatalogTable:
    """A table by its name in the catalog."""

    def __init__(self, session: SparkSession, name: str, record: Path):
        self.session, self.name = session, name
        with refusals(name):
            said = {row[0]: row[1] for row in session.sql(f"DESCRIBE EXTENDED {name}").collect()}
        provider = (said.get("Provider") or "").lower()
        if provider != "parquet":
            raise SketchError(
                "unknown-format",
                f"{name} is a table of {provider or 'no files'}, not of Parquet files",
                hint="name a Delta table by its path: format='delta'",
            )
        self.files = ParquetTable(_path(said["Location"]), record, self._read)
        self._said: str | None = None
        """What the catalog said last of a plain table."""

    @property
    def identity(self) -> str:
        return str(self.files.path)

    @property
    def what(self) -> str:
        return f"table:{self.name}"

    def schema(self, version: int | None = None) -> pa.Schema:
        return self.files.schema(version)

    def version(self) -> int:
        """Refused with the code `table-replaced` where the name means other files than it did."""
        if self._place_now() != str(self.files.path) or not self.files.path.is_dir():
            raise SketchError(
                "table-replaced",
                f"{self.name} is another table than it was",
                hint="name it again: sketches.table(...)",
            )
        return self.files.version()

    def _place_now(self) -> str:
        """Where the catalog has the table's files: its own record is looked at, which takes no query."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            return _path(str(self._metadata(self.session).location().toString()))
        except (AttributeError, TypeError, Py4JError, PySparkException):  # another Spark, or no such table
            with refusals(self.name):
                said = self.session.sql(f"DESCRIBE EXTENDED {self.name}").collect()
            return _path(str({row[0]: row[1] for row in said}.get("Location")))

    def _metadata(self, session: SparkSession) -> Any:
        ours: Any = session._jsparkSession
        state = ours.sessionState()
        return state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(self.name))

    def _said_now(self, session: SparkSession) -> str | None:
        """All that the catalog says of the table, if it is plain."""
        from py4j.protocol import Py4JError

        try:
            found = self._metadata(session)
            said = str(found.toString())
            if said == self._said:
                return said
            apart = found.partitionColumnNames().nonEmpty() or found.storage().properties().nonEmpty()
            return None if apart or PADDED in str(found.schema().json()) else said
        except (AttributeError, TypeError, Py4JError):  # another Spark
            return None

    def _read(self, session: SparkSession) -> DataFrame:
        session.catalog.refreshTable(self.name)
        return session.table(self.name)

    def frame(self, session: SparkSession, version: int, parts: Sequence[SketchPart]) -> DataFrame:
        said = self._said_now(session)
        if said != self._said:
            self.files.frames.forget()
            self._said = said
        if said is not None:
            return self.files.frame(session, version, parts)
        self.files.check(version)
        return self._read(session)

    def gives_again(self, frame: DataFrame) -> bool:
        return self.files.gives_again(frame)

    def rows_read(self, version: int, parts: Sequence[SketchPart]) -> int | None:
        return None if self._said is None else self.files.rows_read(version, parts)

    def changes(self, after: int, upto: int) -> tuple[pa.Table, Numbers]:
        return self.files.changes(after, upto)

    def layout(self, attribute: str, version: int) -> TableLayout | None:
        return self.files.layout(attribute, version)

    def cluster(self, session: SparkSession, attribute: str, files: int) -> int:
        return self.files.cluster(session, attribute, files)

    def update(self, rows: pa.Table, signs: Numbers) -> int:
        version = self.files.update(rows, signs)
        self.session.catalog.refreshTable(self.name)  # whoever asks Spark sees it, too
        return version


def _path(location: str) -> str:
    return unquote(urlparse(location).path).rstrip("/")
