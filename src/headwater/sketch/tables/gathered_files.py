"""Small files, gathered: what many appends have left of a table is read as few files.

Each file that Spark opens takes it a good half millisecond, however few rows there are: after a hundred small
appends that is more than all rows take. So as soon as there are some small files, their rows are written into
one, in a scratch folder of this process, and read from there; gathered files that are small are gathered again. Files
of a Delta table never change, so a gathered file stands for its members in every version that has them all.

Spark must see the folder: this is for sessions whose executors are on this machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.spark.scratch import scratch_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

FEWEST_GATHERED = 8
"""From so many small files on they are gathered."""
MOST_ROWS_SMALL = 50_000
"""A file with more rows is none of the small ones."""
MOST_GATHERED = 64
"""So many gathered files are remembered."""
REBASED = b"org.apache.spark.legacy"
"""How marks of files begin whose dates are of another calendar."""


@dataclass(frozen=True)
class GatheredFile:
    """A file with the rows of others."""

    path: str
    members: frozenset[str]
    rows: int


class GatheredFiles:
    """What was gathered of the files of one table. `read` gives the rows of some of its files."""

    def __init__(self, read: Callable[[Sequence[str]], pa.Table]):
        self._read = read
        self._made: list[GatheredFile] = []
        self._unfit: set[str] = set()
        self._folder: Path | None = None
        self._lock = threading.Lock()

    def standing_for(self, rows: Mapping[str, int]) -> dict[str, str]:
        """Of a version's files (with how many rows each has) those that are read elsewhere: by which file."""
        with self._lock:
            found = {
                member: file.path
                for file in self._made  # those made later stand for more
                if file.members <= rows.keys()
                for member in file.members
            }
            single = {
                name for name, count in rows.items() if count <= MOST_ROWS_SMALL and name not in found
            } - self._unfit
            if len(single) >= FEWEST_GATHERED:
                self._gather(sorted(single), found)
            small = [
                file for file in self._made if file.rows <= MOST_ROWS_SMALL and file.path in found.values()
            ]
            if len(small) >= FEWEST_GATHERED:
                self._gather(sorted(frozenset[str]().union(*(file.members for file in small))), found)
            return found

    def _gather(self, files: list[str], found: dict[str, str]) -> None:
        import pyarrow.parquet as pq

        try:
            files = [file for file in files if not self._has_other_calendar(file)]
            if not files:
                return
            rows = self._read(files)
            self._folder = self._folder or scratch_folder("gathered")
            path = str(self._folder / f"{len(list(self._folder.iterdir())):06}.parquet")
            pq.write_table(rows, path)
        except OSError:  # files are gone, or there is no room: they are read one by one, or found missing
            self._unfit.update(files)
            return
        self._made = [*self._made, GatheredFile(path, frozenset(files), rows.num_rows)][-MOST_GATHERED:]
        found.update(dict.fromkeys(files, path))

    def _has_other_calendar(self, file: str) -> bool:
        """Whether dates in a file are not what they seem; such a file is never gathered."""
        import pyarrow.parquet as pq

        marks = pq.read_metadata(file).metadata or {}
        if any(mark.startswith(REBASED) for mark in marks):
            self._unfit.add(file)
            return True
        return False


def can_be_gathered(session: SparkSession, root: str, schema: pa.Schema) -> bool:
    """Whether files of a table can be read elsewhere: all are on this machine, and columns are written as they were
    read."""
    import pyarrow as pa

    is_flat = not any(pa.types.is_nested(field.type) or pa.types.is_null(field.type) for field in schema)
    return is_flat and "://" not in root and str(session.sparkContext.master).startswith("local")
