"""Tables of Spark's catalog: those of Parquet files are directories with a name; others are read only.

Spark keeps what it knows of a table's files: it is told to look again whenever files have changed. As long as neither
they nor what the catalog says of the table has changed, queries over it are planned once, as those over a directory
are. Of *plain* tables these two say all: there are no partitions, which the catalog has a list of, no options for
reading, and no strings that Spark pads. Others are looked up each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.sketch.sketch import SketchPart
from headwater.sketch.tables.backend import other_table
from headwater.sketch.tables.bags import Numbers
from headwater.sketch.tables.catalog_source import CatalogRecord, CatalogSource
from headwater.sketch.tables.layout import TableLayout
from headwater.sketch.tables.parquet_table import ParquetTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class CatalogTable:
    """A table by its name in the catalog."""

    def __init__(self, session: SparkSession, name: str, record: Path):
        self.session, self.name = session, name
        self.source = CatalogSource(session, name)
        self.files = ParquetTable(self.source.record.path, record, self.source)
        self._first = self._planned = self.source.record
        """What the catalog said when the table was named; and when queries over it were last planned."""

    @property
    def identity(self) -> str:
        return str(self.files.path)

    @property
    def what(self) -> str:
        return f"table:{self.name}"

    def schema(self, version: int | None = None) -> pa.Schema:
        return self.files.schema(version)

    def version(self) -> int:
        """Refused with the code `table-replaced` where the name means other files than it did, or other columns."""
        self._look()
        return self.files.version()

    def _look(self) -> CatalogRecord:
        now, first = self.source.look(), self._first
        if (now.path, now.columns, now.keys) != (first.path, first.columns, first.keys):
            raise other_table(self.name, "is another table than it was")
        return now

    def mark(self, version: int) -> int | None:
        return self.files.mark(version)

    def frame(self, session: SparkSession, version: int, parts: Sequence[SketchPart]) -> DataFrame:
        now = self._look()
        if now is not self._planned:
            self.files.frames.forget()
            self._planned = now
        if now.is_plain:
            return self.files.frame(session, version, parts)
        self.files.check(version)
        return self.source.frame(session, ())

    def gives_again(self, frame: DataFrame) -> bool:
        return self.files.gives_again(frame)

    def rows_read(self, version: int, parts: Sequence[SketchPart]) -> int | None:
        return self.files.rows_read(version, parts) if self.source.record.is_plain else None

    def changes(self, after: int, upto: int) -> tuple[pa.Table, Numbers]:
        return self.files.changes(after, upto)

    def layout(self, attribute: str, version: int) -> TableLayout | None:
        return self.files.layout(attribute, version)

    def cluster(self, session: SparkSession, attribute: str, files: int) -> int:
        return self.files.cluster(session, attribute, files)

    def update(self, rows: pa.Table, signs: Numbers) -> int:
        self._look()
        version = self.files.update(rows, signs)
        self.session.catalog.refreshTable(self.name)  # whoever asks Spark sees it, too
        return version
