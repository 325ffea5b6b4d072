"""The changes that a command line gives: files, folders of files, and single rows.

- `link=more.csv` is a file of rows; its format is that of `headwater.files`, and `link=-` is standard input;
- `link("a", "b", 3)` is one row, in the language of programs;
- a folder holds `<relation>.insert.csv`, `<relation>.delete.csv` and change feeds `<relation>.csv`, in any
  format. Anything else in it is refused, except names that start with `.` or `_`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from headwater.cli.inputs import with_header
from headwater.cli.state import check_base
from headwater.cli.stated_rows import rows_of
from headwater.database import Database
from headwater.errors import DataError
from headwater.files.contents import Contents, FactFile
from headwater.files.formats import format_of, split_extension

_FILE = re.compile(r"\s*([^\W\d][\w?]*)\s*=(.+)", re.DOTALL)


@dataclass(frozen=True)
class Given:
    """Rows of a relation that come (`insert`), go (`delete`), or say themselves which (`feed`)."""

    action: str
    relation: str
    rows: FactFile | Contents


def from_option(database: Database, action: str, text: str, header: bool | None) -> Given:
    """What `--insert` or `--delete` says."""
    file = _FILE.fullmatch(text)
    if file is None:
        return Given(action, *_row(database, action, text))
    relation, name = file.groups()
    check_base(database, relation)
    if name == "-":
        return Given(action, relation, FactFile(None))
    path = Path(name)
    if not path.is_file():
        raise click.BadParameter(f"there is no file {name}", param_hint=f"--{action}")
    return Given(action, relation, _origin(path, header))


def _row(database: Database, action: str, text: str) -> tuple[str, Contents]:
    """One row (or more: `link(a,b). link(b,c).`) of a relation that takes rows."""
    relation, facts = rows_of(
        database, f"--{action}", text, f"--{action} 'link(a, 3)' or --{action} link=rows.csv"
    )
    check_base(database, relation)
    info = database.info(relation)
    columns = tuple(zip(*facts, strict=True))
    return relation, Contents(f"--{action}", relation, info.columns, "values", columns, len(facts))


def from_path(database: Database, path: Path, header: bool | None) -> list[Given]:
    """What a folder of changes, or one file of such a folder, holds."""
    if not path.is_dir():
        return [_named(database, path, header)]
    try:
        entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "_")))
    except OSError as error:
        raise DataError("unreadable", f"cannot list {path}: {error.strerror}") from None
    return [_named(database, entry, header) for entry in entries]


def _named(database: Database, path: Path, header: bool | None) -> Given:
    stem, _ = split_extension(path.name)
    relation, dot, action = stem.rpartition(".")
    if not dot:
        relation, action = stem, "feed"
    if format_of(path) is None or action not in ("insert", "delete", "feed") or not path.is_file():
        raise DataError(
            "unknown-file",
            f"{path} does not say what it changes",
            hint="name it link.insert.csv, link.delete.csv, or link.csv if it has a column _change_type",
        )
    check_base(database, relation)
    return Given(action, relation, _origin(path, header))


def _origin(path: Path, header: bool | None) -> FactFile:
    return FactFile(path, with_header(format_of(path), header))


def paths_of(given: Sequence[Given]) -> list[Path | None]:
    """The files among what is given."""
    return [one.rows.path for one in given if isinstance(one.rows, FactFile)]
