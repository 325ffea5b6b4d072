"""Where the rows of a table of Parquet files are: a directory by itself, or (`catalog_table`) one with a name.

A directory without files is a table without rows, if it was ever seen with some: its columns are remembered. One that
is gone is an error.

Spark writes instants as INT96, which Arrow takes for times without a zone: here they are instants, as in Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headwater.errors import SketchError
from headwater.sketch.tables.directory_files import (
    FileMark,
    marks_below,
    partition_columns,
    says_values,
)
from headwater.sketch.tables.file_frames import frame_of_files
from headwater.store.durable import put
from headwater.store.failure import failed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PARTITIONED = b"headwater.partitioned"
"""Under this a remembered schema says that directories have values of columns."""


class ParquetSource(Protocol):
    """What a table of Parquet files is made of. Names of files are below its directory, or begin with `/`."""

    @property
    def fills(self) -> bool:
        """Whether a column that a file lacks is NULL in its rows, for sure; else only Spark knows what it does."""
        ...

    def marks(self) -> dict[str, FileMark]:
        """All files that Spark looks at now."""
        ...

    def columns(self, files: Collection[str]) -> pa.Schema:
        """The columns of a table that has these data files."""
        ...

    def partitions(self, files: Collection[str]) -> pa.Schema:
        """Those of them that directories say."""
        ...

    def is_partitioned(self, files: Collection[str]) -> bool:
        """Whether rows lie in directories that say values."""
        ...

    def frame(self, session: SparkSession, files: Collection[str]) -> DataFrame:
        """All rows, as Spark reads them now."""
        ...


class DirectorySource:
    """A directory; `record` is a folder in which its columns are remembered."""

    fills = False

    def __init__(self, path: Path, record: Path):
        self.path, self._file = path, record / "columns.arrow"
        self._known: pa.Schema | None = None

    def marks(self) -> dict[str, FileMark]:
        if not self.path.is_dir():
            raise SketchError(
                "missing-source", f"there is no directory {self.path}", hint="is the path right?"
            )
        return marks_below(self.path)

    def columns(self, files: Collection[str]) -> pa.Schema:
        if not files:
            return self._remembered().remove_metadata()
        found = directory_columns(self.path, files)
        self._remember(found.with_metadata({PARTITIONED: b"1"} if says_values(min(files)) else {}))
        return found

    def partitions(self, files: Collection[str]) -> pa.Schema:
        return partition_columns(files)

    def is_partitioned(self, files: Collection[str]) -> bool:
        if files:
            return any(map(says_values, files))
        return PARTITIONED in (self._remembered().metadata or {})

    def frame(self, session: SparkSession, files: Collection[str]) -> DataFrame:
        if files:
            return session.read.parquet(str(self.path))
        return frame_of_files(session, self.columns(files), [], None)

    def _remember(self, columns: pa.Schema) -> None:
        if self._known is not None and self._known.equals(columns, check_metadata=True):
            return
        try:
            put(self._file, columns.serialize().to_pybytes())
        except OSError as error:
            raise failed("cannot write", self._file, error) from error
        self._known = columns

    def _remembered(self) -> pa.Schema:
        import pyarrow as pa

        if self._known is None:
            try:
                self._known = pa.ipc.read_schema(pa.py_buffer(self._file.read_bytes()))
            except FileNotFoundError as error:
                raise SketchError(
                    "missing-source",
                    f"{self.path} has no Parquet files, and never had any that were seen",
                    hint="is the path right? a first file, even one without rows, says what columns there are",
                ) from error
            except (pa.ArrowInvalid, OSError) as error:
                raise SketchError(
                    "damaged-state",
                    f"{self._file} is not what was written: {error}",
                    hint=f"remove {self._file.parent}: sketches of the table are captured again",
                ) from error
        return self._known


def directory_columns(path: Path, files: Collection[str]) -> pa.Schema:
    """Columns of the first file; that one file has no NULL says nothing of the others."""
    import pyarrow as pa

    own = file_schema(path / min(files))
    said = [field for field in partition_columns(files) if field.name not in own.names]
    return pa.schema([field.with_nullable(True) for field in (*own, *said)])


def file_schema(path: Path) -> pa.Schema:
    """The columns of a Parquet file, INT96 as instants."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        said = pq.read_metadata(path)
    except pa.ArrowInvalid as error:
        raise SketchError(
            "not-parquet", f"{path}: {error}", hint="Spark, too, takes it for Parquet"
        ) from error
    columns = (said.schema.column(number) for number in range(said.num_columns))
    instants = {column.path for column in columns if column.physical_type == "INT96"}
    return pa.schema(
        [
            field.with_type(pa.timestamp("us", "UTC")) if field.name in instants else field
            for field in said.schema.to_arrow_schema().remove_metadata()
        ]
    )


def read_files(path: Path, names: Collection[str], partitions: pa.Schema) -> pa.Table:
    """The rows of files below a directory, one after the other, in the columns of the first."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    listed = sorted(names)
    own = file_schema(path / listed[0])
    said = [field for field in partitions if field.name not in own.names]
    options: Mapping[str, Any] = {
        "format": ds.ParquetFileFormat(coerce_int96_timestamp_unit="us"),
        "partitioning": ds.partitioning(partitions, flavor="hive") if len(partitions) else None,
        "partition_base_dir": str(path),
    }
    return ds.dataset(
        [str(path / name) for name in listed], schema=pa.schema([*own, *said]), **options
    ).to_table()


def fitted(rows: pa.Table, columns: pa.Schema, *, fills: bool) -> pa.Table:
    """Rows in the columns of a table; `fills`: by name, NULL where one is missing. Arrow's errors are let through."""
    import pyarrow as pa

    if fills:
        rows = pa.table(
            {
                field.name: rows.column(field.name)
                if field.name in rows.column_names
                else pa.nulls(rows.num_rows, field.type)
                for field in columns
            }
        )
    return rows.cast(columns)
