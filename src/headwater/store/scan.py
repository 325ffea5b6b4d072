"""Walking over the frames of a log, and telling a torn tail from damage.

An append starts only after the one before it is complete and, where asked for, synced. So bytes after a bad frame
prove that the frame was once good and acknowledged: that is damage, and never skipped. What is left to judge is
a bad frame at the very end. What an interrupted append can leave there:

- *a frame cut short*, because the process was killed in the middle of the write, or the machine stopped before
  the file's new length was on the disk: the file ends inside the header, or before the length that the header says;
- *a frame of the right length with sectors missing*, because the machine stopped: the length was on the disk
  before all of the bytes were. Sectors are written in any order, each as a whole, and a sector of this file that was
  never written reads as zeros.

Both are torn tails: never acknowledged, and cut off. Everything else cannot come from an interrupted append and is
damage: an unreadable header that is neither cut short nor has a sector of zeros in it; a frame with a readable
header, its whole length and no sector of zeros, whose checksum is wrong.

What cannot be told apart: rows may hold whole sectors of zeros, so a frame of the right length with such a sector may
also be an acknowledged one in which other bits have rotted. It is taken for torn, but is *doubtful*: its bytes are
kept aside and the log says so aloud. A file that was cut inside its last frame by somebody else, or at the end of the
frame before it, looks like what it is taken for. (Where a file system shows old bytes of other files in place of
sectors that were not written, as ext4 with data=writeback does after a power loss, the log is refused as damaged,
with the way out in the hint.)
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
_SECTOR = 512  # bytes that a disk writes as a whole


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
    doubtful: bool = False  # whether they may as well be an acknowledged version that was damaged


def measure(path: Path, fd: int, start: int, base: int, seed: int) -> Extent:
    """The extent of the log whose frames start at `start` with version `base + 1`; refuses damage."""
    size = os.fstat(fd).st_size
    end, version = start, base
    for frame in walk(fd, start, size, seed):
        if frame.version != version + 1:
            what = f"version {frame.version} follows version {version}"
            raise damaged(path, frame.offset, what, hint=_hint(path, frame.offset, version))
        end, version = frame.end, frame.version
    if end == size:
        return Extent(end, version, 0)
    try:
        doubtful = _judge(fd, end, size, seed)
    except _Damage as damage:
        what = f"version {version + 1} {damage}"
        raise damaged(path, end, what, hint=_hint(path, end, version)) from None
    return Extent(end, version, size - end, doubtful)


class _Damage(Exception):  # noqa: N818
    """A tail that no interrupted append leaves; says why."""


def _judge(fd: int, start: int, size: int, seed: int) -> bool:
    """Whether a torn tail is doubtful; raises `_Damage` if it is none."""
    head = os.pread(fd, HEADER_SIZE, start)
    if len(head) < HEADER_SIZE:
        return False
    header = read_header(head, seed)
    if header is None:
        following = _next_header(fd, start + 1, size, seed)
        if following is not None:
            raise _Damage(f"is not readable, though more was written at byte {following}")
        if not _has_blank_sector(fd, start, start + HEADER_SIZE):
            raise _Damage("has a header that is not readable, and not as an interrupted write would leave it")
        return not _is_blank(fd, start, size)
    following = start + HEADER_SIZE + header.length
    if following < size:
        raise _Damage(f"is not readable, though more was written at byte {following}")
    if following > size:
        return False
    if not _has_blank_sector(fd, start, size):
        raise _Damage("is all there, and its checksum is wrong")
    return True


def _has_blank_sector(fd: int, start: int, end: int) -> bool:
    """Whether a sector that the range touches may never have been written: its part of the range is zeros."""
    offset = start
    while offset < end:
        after = min(end, offset // _SECTOR * _SECTOR + _CHUNK)
        piece = os.pread(fd, after - offset, offset)
        first = _SECTOR - offset % _SECTOR
        cuts = [0, *range(first, len(piece), _SECTOR), len(piece)]
        if any(not any(piece[a:b]) for a, b in zip(cuts, cuts[1:], strict=False) if a < b):
            return True
        offset = after
    return False


def _is_blank(fd: int, start: int, end: int) -> bool:
    return not any(any(os.pread(fd, min(_CHUNK, end - at), at)) for at in range(start, end, _CHUNK))


def _hint(path: Path, offset: int, version: int) -> str:
    cut = f"truncate -s {offset} {path}"
    return f"restore the folder from a copy; or give up all versions after {version}: {cut}"
