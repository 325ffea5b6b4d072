"""DataFrames over a directory of Parquet files, kept for as long as its files are those that they were.

A file of such a directory may be replaced under a name that stays. So the directory is listed for every query, which
takes a fraction of what Spark takes to list it and to look for its columns; and as soon as a size, a time of change
or an inode is another one, or a file has come or gone, all that was kept is forgotten. (A file that is written over
in place, to the same size and within one tick of the clock, is not noticed, neither here nor by a version.)

What columns there are Spark says, of the whole directory. Files that a sketch cannot need are left out where that
attribute is a whole number: of other values, files say their minima and maxima in ways that Spark may see otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.sketch.sketch import SketchPart
from headwater.sketch.tables.directory_files import FileMark, says_values
from headwater.sketch.tables.file_frames import frame_with_columns, settings_of
from headwater.sketch.tables.remembered import remembered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class ParquetFrames:
    """DataFrames over the files of a directory; `read` gives all of its rows, as they are when it is asked."""

    def __init__(self, path: Path, read: Callable[[SparkSession], DataFrame]):
        self._path, self._read = path, read
        self._marks: dict[str, FileMark] = {}
        self._frames: dict[tuple[int, str, frozenset[str]], DataFrame] = {}

    def whole(self, session: SparkSession, marks: Mapping[str, FileMark]) -> DataFrame:
        """The rows of a directory that has these files now."""
        if self._marks != marks:
            self._marks, self._frames = dict(marks), {}
        key = (id(session), settings_of(session), frozenset(marks))
        return remembered(self._frames, key, lambda: self._read(session))

    def some(self, whole: DataFrame, marks: Mapping[str, FileMark], names: Collection[str]) -> DataFrame:
        """The rows of some of the files."""
        session = whole.sparkSession
        files = [str(self._path / name) for name in sorted(names)]
        root = str(self._path) if any(map(says_values, marks)) else None
        key = (id(session), settings_of(session), frozenset(names))
        return remembered(self._frames, key, lambda: frame_with_columns(session, whole.schema, files, root))

    def forget(self) -> None:
        """Keep nothing: something else than files has changed."""
        self._frames = {}

    def gives_again(self, frame: DataFrame) -> bool:
        return any(frame is kept for kept in list(self._frames.values()))


def can_be_left_out(whole: DataFrame, parts: Sequence[SketchPart]) -> bool:
    """Whether files can be left out by what they say of the attributes of some parts."""
    from pyspark.sql.types import ByteType, IntegerType, LongType, ShortType

    types = {field.name: field.dataType for field in whole.schema.fields}
    numbers = (ByteType, ShortType, IntegerType, LongType)
    return bool(parts) and all(isinstance(types.get(part.ranges.attribute), numbers) for part in parts)
