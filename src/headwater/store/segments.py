"""Immutable tables on disk: one Arrow IPC file each, never changed once the manifest names it.

A segment is checked against its size when it is pinned and against its checksum and row count each time it
is read. Pinning maps the file: the bytes stay readable after the file is removed by a later checkpoint, and
cost no descriptor and no memory until they are read. (Mapped, so a disk that fails in the middle of reading
ends the process; it does not give wrong rows.)
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from headwater.store.arrow import read_file, write_file
from headwater.store.durable import create_file, sync_file, write_at
from headwater.store.failure import damaged, failed

_WRITE_FROM = 1 << 20  # bytes gathered before they are written


@dataclass(frozen=True)
class Segment:
    """What the manifest knows of one table's file."""

    table: str
    file: str
    rows: int
    bytes: int
    crc32: int


class _SegmentFile:
    """Where Arrow writes: gathers small pieces, and keeps length and checksum of all that passed."""

    closed = False

    def __init__(self, fd: int):
        self.length = 0
        self.crc32 = 0
        self._fd = fd
        self._pieces: list[bytes] = []
        self._waiting = 0

    def write(self, data: bytes) -> int:
        self._pieces.append(data)
        self._waiting += len(data)
        if self._waiting >= _WRITE_FROM:
            self.drain()
        return len(data)

    def drain(self) -> None:
        joined = b"".join(self._pieces)
        self._pieces, self._waiting = [], 0
        self.crc32 = zlib.crc32(joined, self.crc32)
        self.length = write_at(self._fd, [joined], self.length)

    def flush(self) -> None:
        return

    def close(self) -> None:
        return


def write_segment(folder: Path, file: str, name: str, table: pa.Table) -> Segment:
    """Write and sync the table's file; the folder is still to be synced."""
    path = folder / file
    try:
        fd = create_file(path)
        try:
            sink = _SegmentFile(fd)
            write_file(table, sink)
            sink.drain()
            sync_file(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise failed("cannot write the segment", path, error) from error
    return Segment(name, file, table.num_rows, sink.length, sink.crc32)


class SegmentTables(Mapping[str, pa.Table]):
    """Tables by name, read from their segments when looked up, and each time anew: keep what you need."""

    def __init__(self, folder: Path, segments: Iterable[Segment]):
        """Pin the segments; raises `FileNotFoundError` as such, for readers to try again."""
        self.folder = folder
        self._pinned = {segment.table: (segment, self._pin(segment)) for segment in segments}

    @property
    def segments(self) -> list[Segment]:
        """What the manifest knows of the tables."""
        return [segment for segment, _ in self._pinned.values()]

    def _pin(self, segment: Segment) -> pa.Buffer:
        path = self.folder / segment.file
        try:
            with pa.memory_map(os.fsencode(path)) as file:
                data = file.read_buffer()
        except FileNotFoundError:
            raise
        except pa.ArrowInvalid as error:  # an empty file cannot be mapped
            raise damaged(path, 0, f"the segment of {segment.table!r} cannot be mapped: {error}") from error
        except OSError as error:
            raise failed("cannot open the segment", path, error) from error
        if data.size != segment.bytes:
            what = f"the segment of {segment.table!r} ends here and not at byte {segment.bytes}"
            raise damaged(path, data.size, what)
        return data

    def __getitem__(self, name: str) -> pa.Table:
        """Read the table's segment."""
        segment, data = self._pinned[name]
        path = self.folder / segment.file
        copy = data.to_pybytes()
        if zlib.crc32(copy) != segment.crc32:
            what = f"the checksum of these {segment.bytes} bytes, the segment of {name!r}, is wrong"
            raise damaged(path, 0, what)
        try:
            table = read_file(pa.py_buffer(copy))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise damaged(path, 0, f"the segment of {name!r} is not readable: {error}") from error
        if table.num_rows != segment.rows:
            what = f"the segment of {name!r} has {table.num_rows} rows, not {segment.rows}"
            raise damaged(path, 0, what)
        return table

    def __contains__(self, name: object) -> bool:
        """Tell without reading."""
        return name in self._pinned

    def __iter__(self) -> Iterator[str]:
        """The names of the tables."""
        return iter(self._pinned)

    def __len__(self) -> int:
        """How many tables there are."""
        return len(self._pinned)
