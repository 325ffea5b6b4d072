"""Which files of a directory Spark reads as rows of a table, and what their directories say of them.

Spark goes by names: hidden files, and those that begin with `_`, have no rows, whatever else they are called. As soon
as a directory below says a value (`year=2024`), only files in such directories have rows; else those of the directory
itself have, and those of directories below it have none. A file of no bytes has no rows.

>>> sorted(files_read(["a.parquet", "b", "_SUCCESS", ".c.parquet", "below/d.parquet"]))
['a.parquet', 'b']
>>> sorted(files_read(["a.parquet", "_year=2024/b.parquet", "_new/g=1/c.parquet"]))
['_year=2024/b.parquet']
"""

from __future__ import annotations

import datetime
import re
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

FileMark = tuple[int, int, int]
"""What tells a file from another of its name: its size, its time of change, its inode."""
ESCAPED = re.compile("%([0-9A-Fa-f]{2})")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What a directory is called that has the rows with NULL."""


def marks_of(paths: Iterable[tuple[str, Path]]) -> dict[str, FileMark]:
    """The marks of those paths that are files, by the names they are given with."""
    found = {}
    for name, path in paths:
        with suppress(FileNotFoundError):  # a file of somebody who writes, or a link to nothing
            said = path.stat()
            if stat.S_ISREG(said.st_mode):
                found[name] = (said.st_size, said.st_mtime_ns, said.st_ino)
    return found


def marks_below(path: Path) -> dict[str, FileMark]:
    """All files that Spark may look at, by their names below a directory."""
    names = ((each.relative_to(path), each) for each in path.rglob("*"))
    return marks_of(
        (name.as_posix(), each)
        for name, each in names
        if not any(part.startswith(".") for part in name.parts)
    )


def files_read(names: Collection[str]) -> list[str]:
    """Those that Spark reads rows from; a name that begins with `/` is that of a file elsewhere, which it reads."""
    shown = [name for name in names if name.startswith("/") or not any(map(is_hidden, Path(name).parts))]
    valued = [name for name in shown if name.startswith("/") or says_values(name)]
    return valued or [name for name in shown if "/" not in name]


def says_values(name: str) -> bool:
    """Whether directories say values of columns for a file."""
    return "=" in name.rpartition("/")[0]


def is_hidden(part: str) -> bool:
    """Whether Spark passes over a file or a directory of this name."""
    return part.startswith(".") or (part.startswith("_") and "=" not in part) or part.endswith("._COPYING_")


def partition_columns(names: Iterable[str]) -> pa.Schema:
    """The columns that directories say, in the types that Spark finds in their names.

    >>> partition_columns(["year=2024/on=2024-05-01/a", "year=2025/on=__HIVE_DEFAULT_PARTITION__/a"])
    year: int32
    on: date32[day]
    """
    import pyarrow as pa

    texts: dict[str, set[str]] = {}
    for name in names:
        for key, text in partition_texts(name).items():
            texts.setdefault(key, set()).update(() if text is None else (text,))
    return pa.schema([(key, _type_of(found)) for key, found in texts.items()])


def _type_of(texts: Collection[str]) -> pa.DataType:
    import pyarrow as pa

    def all_are(read: Callable[[str], object]) -> bool:
        try:
            return bool(texts) and all(read(text) is not None for text in texts)
        except ValueError:
            return False

    if all_are(int):
        return pa.int32() if all(abs(int(text)) < 2**31 for text in texts) else pa.int64()
    if all_are(float):
        return pa.float64()
    return pa.date32() if all_are(datetime.date.fromisoformat) else pa.string()


def partition_texts(name: str) -> dict[str, str | None]:
    """What directories say about a file, as text; `None` for NULL.

    >>> partition_texts("year=2024/beat=__HIVE_DEFAULT_PARTITION__/part-1.parquet")
    {'year': '2024', 'beat': None}
    """
    pairs = (part.split("=", 1) for part in name.split("/")[:-1] if "=" in part)
    return {unescaped(key): None if value == NO_VALUE else unescaped(value) for key, value in pairs}


def unescaped(name: str) -> str:
    """What Spark reads in the name of a directory: it takes each escaped byte for a character.

    >>> unescaped("a%20b"), unescaped("Köln"), unescaped("K%C3%B6ln")
    ('a b', 'Köln', 'KÃ¶ln')
    """
    return ESCAPED.sub(lambda code: chr(int(code[1], 16)), name)


def partition_values(name: str, columns: pa.Schema) -> Mapping[str, object]:
    """What directories say about a file, as values of columns; of files elsewhere nothing is known."""
    import pyarrow as pa

    if name.startswith("/"):
        return {}
    return {
        key: None if text is None else pa.scalar(text).cast(columns.field(key).type).as_py()
        for key, text in partition_texts(name).items()
        if key in columns.names
    }
