"""Walking over the frames of a log, and telling a torn tail from damage.

An append starts only after the one before it is complete. So bytes after a bad frame prove that the frame
was once good and acknowledged: that is damage, and never skipped. A bad frame that reaches the end of the
file, or whose header is unreadable with no readable header after it, is what an interrupted append leaves:
a torn tail, which was never acknowledged.

What cannot be told apart: bits that rot in the very last frame look like a torn tail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from headwater.store.failure import damaged
from headwater.store.frame import HEADER_SIZE, MAGIC, read_header

_CHUNK = 1 << 20


class Frame(NamedTuple):
    """An intact frame. The payload is a view of a passing buffer: copy what is to be kept."""

    offset: int
    version: int
    payload: memoryview
    end: int


class _Window:
    """A range of a file, read in large pieces; a file that got shorter meanwhile ends early."""

    def __init__(self, fd: int, end: int):
        self._fd = fd
        self._end = end
        self._start = 0
        self._bytes = memoryview(b"")

    def at(self, offset: int, size: int) -> memoryview:
        """Up to `size` bytes from `offset` on; fewer only where the range or the file ends."""
        size = max(0, min(size, self._end - offset))
        skip = offset - self._start
        if skip < 0 or skip + size > len(self._bytes):
            self._bytes = memoryview(self._read(offset, min(max(size, _CHUNK), self._end - offset)))
            self._start, skip = offset, 0
        return self._bytes[skip : skip + size]

    def _read(self, offset: int, size: int) -> bytes:
        piece = os.pread(self._fd, size, offset)
        if len(piece) == size or not piece:
            return piece
        pieces = [piece]
        while piece:  # the system returns at most 2 GB at a time
            size -= len(piece)
            offset += len(piece)
            piece = os.pread(self._fd, size, offset) if size else b""
            pieces.append(piece)
        return b"".join(pieces)


def walk(fd: int, start: int, end: int, seed: int) -> Iterator[Frame]:
    """The intact frames from `start` on, up to the first that is not, or `end`."""
    window = _Window(fd, end)
    offset = start
    while (header := read_header(window.at(offset, HEADER_SIZE), seed)) is not None:
        payload = window.at(offset + HEADER_SIZE, header.length)
        if not header.fits(payload, seed):
            return
        after = offset + HEADER_SIZE + header.length
        yield Frame(offset, header.version, payload, after)
        offset = after


def _next_header(fd: int, start: int, end: int, seed: int) -> int | None:
    """Where the first intact header at or after `start` is."""
    for offset in range(start, end, _CHUNK):
        piece = os.pread(fd, min(_CHUNK + len(MAGIC) - 1, end - offset), offset)
        found = piece.find(MAGIC)
        while found >= 0:
            header = os.pread(fd, min(HEADER_SIZE, end - offset - found), offset + found)
            if read_header(header, seed) is not None:
                return offset + found
            found = piece.find(MAGIC, found + 1)
    return None


@dataclass(frozen=True)
class Extent:
    """The committed part of a log: it ends at byte `end` and holds the versions up to `version`."""

    end: int
    version: int
    torn: int  # bytes after `end` that an interrupted append left


def measure(path: Path, fd: int, start: int, base: int, seed: int) -> Extent:
    """The extent of the log whose frames start at `start` with version `base + 1`; refuses damage."""
    size = os.fstat(fd).st_size
    end, version = start, base
    for frame in walk(fd, start, size, seed):
        if frame.version != version + 1:
            what = f"version {frame.version} follows version {version}"
            raise damaged(path, frame.offset, what, hint=_hint(path, frame.offset, version))
        end, version = frame.end, frame.version
    extent = Extent(end, version, size - end)
    if extent.torn:
        _refuse_damage(path, fd, extent, size, seed)
    return extent


def _refuse_damage(path: Path, fd: int, extent: Extent, size: int, seed: int) -> None:
    """Raise if what follows the extent is more than one interrupted append."""
    header = read_header(os.pread(fd, HEADER_SIZE, extent.end), seed)
    if header is not None:
        following = extent.end + HEADER_SIZE + header.length
        if following >= size:
            return
    else:
        found = _next_header(fd, extent.end + 1, size, seed)
        if found is None:
            return
        following = found
    what = f"version {extent.version + 1} is not readable, though more was written at byte {following}"
    raise damaged(path, extent.end, what, hint=_hint(path, extent.end, extent.version))


def _hint(path: Path, offset: int, version: int) -> str:
    cut = f"truncate -s {offset} {path}"
    return f"restore the folder from a copy; or give up all versions after {version}: {cut}"
