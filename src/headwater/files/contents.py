"""Files to read, and what was found in them before any types are known."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwater.errors import DataError, Place
from headwater.files.formats import Format


@dataclass(frozen=True)
class FactFile:
    """A file to read; `None` for the path is standard input. Without a format, the extension tells."""

    path: Path | None
    format: Format | None = None

    def __str__(self) -> str:
        """What errors call it."""
        return str(self.path) if self.path is not None else "<stdin>"

    def bytes(self) -> bytes:
        """All of the file, unpacked."""
        try:
            data = self.path.read_bytes() if self.path is not None else sys.stdin.buffer.read()
            return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        except (OSError, EOFError, zlib.error, MemoryError) as error:
            raise unreadable(str(self), error) from None


@dataclass(frozen=True)
class Contents:
    """What a file holds for a relation: columns in the relation's order, as they are written.

    `kind` says how: `text` (Arrow columns of strings), `values` (sequences of Python values) or `table` (Arrow
    columns of any type). `first_line` is there if nobody said that it is a row, but it was taken for one.
    `change_types` and `commit_versions` are those of a change feed.
    """

    origin: str
    relation: str
    names: tuple[str, ...]
    kind: str
    columns: tuple[Any, ...]
    rows: int
    header: bool = False
    first_line: tuple[str, ...] = ()
    change_types: Any = None
    commit_versions: Any = None
    place: Callable[[int, int], Place | None] = field(default=lambda row, column: None, compare=False)


def unreadable(path: str, error: Exception) -> DataError:
    """The error for a file that cannot be read at all."""
    reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    if isinstance(error, MemoryError):
        reason = f"there is not enough memory for what it holds{f' ({reason})' if reason else ''}"
    return DataError("unreadable", f"cannot read {path}: {reason}")
