"""Rows that were refused, put aside in a file of JSON lines, each with the version it was kept out of.

The lines of a version are on the disk before the version is. So none is lost; and none is there twice: what an
attempt left behind that did not become a version stands at the end of the file, and is replaced by the next attempt.
A line that was cut off goes as well.

>>> import tempfile
>>> from headwater.files.missing import RefusedRow
>>> path = Path(tempfile.mkdtemp(), "refused.jsonl")
>>> row = RefusedRow("links.json", "link", 2, "cost", {"src": "a", "cost": None})
>>> for version in (1, 2, 2):
...     put_aside(path, version, [row])
>>> [json.loads(line)["version"] for line in path.read_text().splitlines()]
[1, 2]
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from headwater.errors import DataError
from headwater.files.missing import RefusedRow
from headwater.store.durable import sync_file, sync_folder, write_at

_BLOCK = 1 << 16
_BEGINNING = b'{"version": '
"""How each line begins, and so the file: what begins otherwise is somebody else's."""


def put_aside(path: Path, version: int, rows: Sequence[RefusedRow]) -> None:
    """Write the rows that are kept out of a version, in the place of those an earlier attempt at it wrote."""
    lines = [{"version": version, **row.to_json()} for row in rows]
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if os.pread(fd, len(_BEGINNING), 0) not in (b"", _BEGINNING):
                raise DataError(
                    "overwrite",
                    f"{path} is there, and is no file of refused rows",
                    hint="put them into a file of their own: --on-null refused.jsonl",
                )
            end = _kept(fd, version, {row.source for row in rows})
            os.ftruncate(fd, end)
            write_at(fd, [data], end)
            sync_file(fd)
        finally:
            os.close(fd)
        if new:
            sync_folder(path.parent)
    except OSError as error:
        raise DataError(
            "cannot-write",
            f"cannot write {path}: {error.strerror}",
            hint="give a file that you may write to: --on-null refused.jsonl",
        ) from None


def _kept(fd: int, version: int, sources: set[str]) -> int:
    """Where the file ends without a torn line, and without lines of these sources from this version on."""
    end = _last_line_end(fd, os.fstat(fd).st_size)
    while end:
        start = _last_line_end(fd, end - 1)
        try:
            line = json.loads(os.pread(fd, end - start, start))
            stale = line["source"] in sources and line["version"] >= version
        except (ValueError, KeyError, TypeError):
            return end  # somebody else's line
        if not stale:
            return end
        end = start
    return 0


def _last_line_end(fd: int, before: int) -> int:
    """The place after the last line end before a place; 0 if there is none."""
    while before:
        start = max(0, before - _BLOCK)
        found = os.pread(fd, before - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        before = start
    return 0
