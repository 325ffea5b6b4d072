"""`do append 'alarms.parquet'`: the rows of each version as one more file, exactly once.

The path is that of a folder, which readers of tables take for one table. A version is one file in it, named after the
rule and the version. It is written under a hidden name, synced and renamed: it is there whole or not at all, and a
version that is appended again replaces the file by the same.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.active.event import WatchEvent
from headwater.active.watch import Unperformable
from headwater.errors import DataError
from headwater.store.durable import make_folder, sync_folder, write_new

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("parquet", "csv", "tsv", "jsonl", "arrow")


def check_path(path: str) -> str:
    """The format of a path to append to; refuses one that cannot be told."""
    form = Path(path).suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise Unperformable(
            "unknown-format",
            f"cannot append to {path!r}: its extension tells no format",
            hint=f"one of {', '.join(FORMATS)}",
        )
    return form


def append(event: WatchEvent, path: str) -> None:
    """Put the event's rows into the folder, with `_change_type` and `_commit_version`."""
    form = check_path(path)
    folder = Path(path)
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in event.watch)
    name = f"{safe}-{event.version:012d}.{form}"
    data = _lines(event) if form == "jsonl" else _encoded(event.arrow(), form, path)
    try:
        make_folder(folder)
        unfinished = folder / f".{name}"
        write_new(unfinished, data)
        os.replace(unfinished, folder / name)
        sync_folder(folder)
    except OSError as error:
        raise DataError("cannot-write", f"cannot append to {path}: {error.strerror or error}") from error


def _lines(event: WatchEvent) -> bytes:
    return "".join(f"{line}\n" for line in event.lines()).encode()


def _encoded(table: pa.Table, form: str, path: str) -> bytes:
    from headwater.files.write import WRITTEN, encode

    data: bytes = encode(table, table.num_rows, WRITTEN[form], name=path).to_pybytes()
    return data
