"""Which file of a folder belongs to which relation.

>>> import tempfile
>>> folder = Path(tempfile.mkdtemp())
>>> for name in ("link.facts", "node.csv", "node.parquet", "README.md"):
...     _ = (folder / name).write_text("")
>>> files = FactFolder(folder)
>>> files.file_of("link").name, files.file_of("cost")
('link.facts', None)
>>> files.file_of("node")
Traceback (most recent call last):
headwater.errors.DataError: error[two-files]: node has more than one file: ...node.csv and ...node.parquet
  = hint: keep one of them, or name it: .input node(filename="node.csv")
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from headwater.errors import DataError
from headwater.files.formats import EXTENSIONS, format_of, split_extension


def is_inside(folder: Path, name: str) -> bool:
    """Whether a name that a program gives stays inside the folder that the user gave. Links are the user's own.

    >>> is_inside(Path("out"), "a/../b.csv"), is_inside(Path("out"), "../b.csv"), is_inside(Path("out"), "/b.csv")
    (True, False, False)
    """
    base = os.path.abspath(folder)
    path = os.path.normpath(os.path.join(base, name))
    return "\0" not in name and path != base and os.path.commonpath((base, path)) == base


class FactFolder:
    """The fact files in a folder, by name without extension."""

    def __init__(self, path: Path):
        """List the folder once; raises `DataError` if that cannot be done."""
        self.path = path
        self._files: dict[str, list[Path]] = {}
        try:
            entries = sorted(os.listdir(path))
        except OSError as error:
            raise DataError("unreadable", f"cannot list {path}: {error.strerror}") from None
        for entry in entries:
            if format_of(entry) is not None and not entry.startswith("."):
                self._files.setdefault(split_extension(entry)[0], []).append(path / entry)

    def file_of(self, relation: str) -> Path | None:
        """The relation's file, if there is one; more than one are refused, as either could be meant."""
        found = self._files.get(relation, [])
        if len(found) > 1:
            raise DataError(
                "two-files",
                f"{relation} has more than one file: {' and '.join(map(str, found))}",
                hint=f'keep one of them, or name it: .input {relation}(filename="{found[0].name}")',
            )
        return found[0] if found else None

    def near(self, relation: str) -> Path | None:
        """A file with nearly the relation's name."""
        near = difflib.get_close_matches(relation, self._files, n=1)
        return self._files[near[0]][0] if near else None

    def missing(self, relation: str) -> DataError:
        """The error for a relation that should have a file."""
        near = self.near(relation)
        tried = ", ".join(relation + extension for extension in EXTENSIONS)
        hint = f"did you mean {near.name}?" if near is not None else f"none of {tried} is there"
        return DataError("missing-file", f"there is no file for {relation} in {self.path}", hint=hint)
