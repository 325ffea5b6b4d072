"""A view, or its changes, as Parquet files in a folder that Spark and everybody else can read.

*Changes*: one file a version, `_commit_version=7/changes.parquet`, so that the folder is a table partitioned by
version, and a stream reads each version once. *Rows*: one file, `rows.parquet`, replaced as a whole.

A file is written under a hidden name and renamed: it is there whole or not at all, and always under the same name,
so publishing it again changes nothing. `_headwater.json` beside it says whose it is, which schema it has and up
to which version it is complete; it is replaced after the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.calls import public_class
from headwater.database.progress import Owed
from headwater.errors import PipelineError
from headwater.pipeline.feed import ABOUT, About
from headwater.pipeline.fields import check_fields
from headwater.pipeline.shape import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION
from headwater.pipeline.sink import Publication, others
from headwater.spark.frames import ddl
from headwater.store.durable import sync_file, sync_folder

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_FILE = "rows.parquet"


class Destination:
    """A folder on any file system that Arrow knows: a path, or `s3://`, `gs://`, `hdfs://`."""

    def __init__(self, path: str):
        from pyarrow import fs

        self.path = path
        try:
            if "://" in path:
                self._files, self._root = fs.FileSystem.from_uri(path)
            else:
                self._files, self._root = fs.LocalFileSystem(), path.rstrip("/")
        except (OSError, ValueError) as error:
            raise PipelineError(
                "bad-sink", f"{path}: {error}", hint="a path, or an address as s3://..."
            ) from None

    def about(self) -> About | None:
        """What the folder says of itself; `None` if it is not there or empty; refuses a folder of something else."""
        from pyarrow import fs

        try:
            with self._files.open_input_stream(f"{self._root}/{ABOUT}") as file:
                return About.parse(file.read(), self.path)
        except FileNotFoundError:
            listed = self._files.get_file_info(fs.FileSelector(self._root, allow_not_found=True))
            if listed:
                raise others(self.path, f"is not empty, and has no {ABOUT}") from None
            return None

    def own(self, identity: str, schema: str) -> int:
        """Take the folder, or find that it is ours; the version up to which it is complete."""
        said = self.about()
        if said is None:
            self._files.create_dir(self._root, recursive=True)
            self.say(identity, schema, 0)
            return 0
        if said.identity != identity:
            raise others(self.path, "holds the output of another database or pipeline")
        return said.version

    def say(self, identity: str, schema: str, version: int) -> None:
        """Say up to which version the folder is complete."""
        text = About(identity, schema, version).text()
        with self._files.open_output_stream(f"{self._root}/.about") as file:
            file.write(text.encode())
        self._name(f"{self._root}/.about", f"{self._root}/{ABOUT}")

    def put(self, name: str, table: pa.Table) -> None:
        """A Parquet file of this name, whole; replaces the one that is there."""
        import pyarrow.parquet as pq

        folder, _, bare = f"{self._root}/{name}".rpartition("/")
        self._files.create_dir(folder, recursive=True)
        with self._files.open_output_stream(f"{folder}/.{bare}") as file:
            pq.write_table(table, file)
        self._name(f"{folder}/.{bare}", f"{folder}/{bare}")

    def _name(self, hidden: str, final: str) -> None:
        """Give a finished file its name; on a local disk, once its bytes are safe."""
        local = self._files.type_name == "local"
        if local:
            with open(hidden, "rb") as file:
                sync_file(file.fileno())
        self._files.move(hidden, final)
        if local:
            sync_folder(Path(final).parent)


@public_class
@dataclass(frozen=True)
class FeedFolder:
    """The view's changes, in the one shape."""

    view: str
    path: str
    name: str = ""
    rows = True

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "name", self.name or f"feed:{self.path}")

    def publish(self, owed: Sequence[Owed], to: Publication) -> None:
        """A file for each version that did something to the view."""
        info = to.database.info(to.view)
        data = ddl(info.columns, info.types)
        schema = f"{data}, {CHANGE_TYPE} string, {COMMIT_TIMESTAMP} timestamp, {COMMIT_VERSION} bigint"
        place = Destination(self.path)
        complete = place.own(to.identity, schema)
        for one in owed:
            if one.version > complete and one.table is not None and one.table.num_rows:
                place.put(f"{COMMIT_VERSION}={one.version}/changes.parquet", stamped(one))
        if owed[-1].version > complete:
            place.say(to.identity, schema, owed[-1].version)


def stamped(one: Owed, *, version: bool = False) -> pa.Table:
    """The changes of a version with the time of the commit and, if asked for, its number."""
    import pyarrow as pa

    assert one.table is not None
    count = one.table.num_rows
    moment = pa.array([round(one.at * 1e6)] * count, pa.timestamp("us", "UTC"))
    table = one.table.append_column(COMMIT_TIMESTAMP, moment)
    if version:
        table = table.append_column(COMMIT_VERSION, pa.array([one.version] * count, pa.int64()))
    return table


@public_class
@dataclass(frozen=True)
class RowsFolder:
    """All rows of the view, as of the last version; a version costs as much as the whole view."""

    view: str
    path: str
    name: str = ""
    rows = False

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "name", self.name or f"rows:{self.path}")

    def publish(self, owed: Sequence[Owed], to: Publication) -> None:
        """Replace the one file. (Its database is of no importance: all of it is replaced.)"""
        info = to.database.info(to.view)
        place = Destination(self.path)
        schema = ddl(info.columns, info.types)
        if place.about() is None:
            place.own(to.identity, schema)
        place.put(ROWS_FILE, to.database[to.view].arrow())
        place.say(to.identity, schema, owed[-1].version)
