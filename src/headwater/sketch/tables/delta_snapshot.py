"""What the log of a Delta table says of one version: its columns, its files, and their statistics.

Read off a table that is open, so that going on to the next version costs what came with it. Nothing in it changes,
and no file is read for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from headwater.pipeline.delta import plain
from headwater.sketch.tables.directory_files import partition_texts
from headwater.sketch.tables.layout import Block, TableLayout

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class DeltaSnapshot:
    """A version."""

    version: int
    schema: pa.Schema
    schema_text: str
    """The columns as the log says them, with all that tells them from others."""
    files: tuple[str, ...]
    """Where all files are, in order."""
    has_plain_files: bool
    """Whether the Parquet files, and their directories as Spark reads them, have the table's rows and columns."""
    is_partitioned: bool
    """Whether values of some columns are in the names of directories."""
    _added: pa.Table

    @staticmethod
    def of(table: Any, root: str) -> DeltaSnapshot:
        """What a `deltalake.DeltaTable` at a path says."""
        import pyarrow as pa

        features = set(table.protocol().reader_features or ())
        schema = table.schema()
        added = pa.table(table.get_add_actions(flatten=True))
        partitions = table.metadata().partition_columns
        return DeltaSnapshot(
            int(table.version()),
            plain(pa.schema(schema.to_arrow()).empty_table()).schema,
            schema.to_json(),
            tuple(sorted(_place(root, path) for path in added.column("path").to_pylist())),
            not features & {"deletionVectors", "columnMapping"}
            and all(_is_said_by_directories(added, name) for name in partitions),
            bool(partitions),
            added,
        )

    def described(self, attribute: str, root: str) -> tuple[TableLayout, tuple[str, ...]]:
        """How rows lie in files by an attribute, and where these files are below a root."""
        of_file = ("path", "num_records", "size_bytes")
        of_column = (f"{kind}.{attribute}" for kind in ("partition", "min", "max", "null_count"))
        wanted = [name for name in (*of_file, *of_column) if name in self._added.column_names]
        actions = self._added.select(wanted).to_pylist()
        blocks = tuple(_block(action, attribute) for action in actions)
        return TableLayout(attribute, blocks), tuple(_place(root, action["path"]) for action in actions)


def _place(root: str, path: str) -> str:
    """Where a file of the log is: its path there is a URL, below the table's unless it says otherwise.

    >>> _place("/lake/my sales/", "g=a%2520b/part-0.parquet"), _place("/lake/clone", "file:/lake/old/a%20b.parquet")
    ('/lake/my sales/g=a%20b/part-0.parquet', '/lake/old/a b.parquet')
    """
    known = urlparse(path)
    if known.scheme == "file":
        return unquote(known.path)
    return unquote(path) if known.scheme else f"{root.rstrip('/')}/{unquote(path)}"


def _is_said_by_directories(added: pa.Table, column: str) -> bool:
    """Whether Spark finds a partition's values, which the log has, in the names of directories. It takes an escaped
    byte for a character, so it misreads all but ASCII there; instants it takes for those of the session's zone; and
    it does not know the wheel's word for infinity."""
    import pyarrow as pa

    values = added.column(f"partition.{column}")
    if pa.types.is_binary(values.type) or (pa.types.is_timestamp(values.type) and values.type.tz is not None):
        return False
    is_text = str(values.type) in ("string", "large_string", "string_view")
    directories = (f"{unquote(path.rpartition('/')[0])}/" for path in added.column("path").to_pylist())
    for directory, value in set(zip(directories, values.to_pylist(), strict=True)):
        said = partition_texts(directory)
        if said.get(column, "") == "" or (is_text and said[column] != value):
            return False
        if isinstance(value, float) and not math.isfinite(value):
            return False
    return True


def _block(action: Mapping[str, Any], attribute: str) -> Block:
    rows, size = int(action.get("num_records") or 0), int(action.get("size_bytes") or 0)
    if f"partition.{attribute}" in action:
        value = action[f"partition.{attribute}"]
        return Block(rows, size, value, value, nulls=value is None)
    low, high = action.get(f"min.{attribute}"), action.get(f"max.{attribute}")
    nulls = action.get(f"null_count.{attribute}")
    if low is None or high is None:
        return Block(rows, size, nulls=True, known=nulls is not None and nulls == rows)
    return Block(rows, size, low, high, nulls=nulls is None or nulls > 0)
