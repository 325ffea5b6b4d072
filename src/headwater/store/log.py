"""The change log: one append-only file of frames behind a file header.

The header holds an identity (random, also in the manifest) and the version of the checkpoint that the log
follows. Frames hold consecutive versions from there on.

What holds: `append` returns after the frame is complete and (if asked) synced. If it raises, the log is cut
back to its old length; where even that fails, every later append tries the cut again first and is refused
until it works. So a frame that was not acknowledged is never followed by one that is.

A torn tail (see `scan`) is cut off when the log is opened for writing, and that is said aloud; a doubtful one is
first copied to a file beside the log, named after it and the byte it began at.

What does not: a reader may see a complete frame before it is synced, hence before it is acknowledged.
"""

from __future__ import annotations

import io
import logging
import os
import secrets
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from headwater.errors import StoreError
from headwater.store.durable import create_file, sync_file, sync_folder, write_at
from headwater.store.failure import damaged, failed
from headwater.store.frame import HEADER_SIZE, seal_frame
from headwater.store.scan import Extent, measure, walk

_LOGGER = logging.getLogger("headwater.store")
_MAGIC = b"HWLOG001"
_FIELDS = struct.Struct("<8s16sQ")
_CHECK = struct.Struct("<I")
FILE_HEADER_SIZE = _FIELDS.size + _CHECK.size
_JOIN_UP_TO = 1 << 20  # bytes; a smaller frame goes out in one write


class Log:
    """An open log file, its frames measured when it was opened."""

    def __init__(self, path: Path, file: io.FileIO, identity: bytes, base: int, extent: Extent):
        """Take over an open file whose committed part was measured."""
        self.path = path
        self.identity = identity
        self.base = base
        self.torn = extent.torn
        self._extent = extent  # replaced as a whole, so that an interrupt finds it old or new
        self._before = extent
        self._file = file
        self._seed = zlib.crc32(identity)
        self._clean = True  # the file ends at `length`

    @property
    def version(self) -> int:
        """The last committed version."""
        return self._extent.version

    @property
    def length(self) -> int:
        """The bytes that are committed, the file header among them."""
        return self._extent.end

    @classmethod
    def create(cls, path: Path, base: int) -> Log:
        """A new, empty, synced log after version `base`; the folder is still to be synced."""
        identity = secrets.token_bytes(16)
        fields = _FIELDS.pack(_MAGIC, identity, base)
        try:
            file = io.FileIO(create_file(path), "r+")
            try:
                write_at(file.fileno(), [fields + _CHECK.pack(zlib.crc32(fields))], 0)
                sync_file(file.fileno())
            except BaseException:
                file.close()
                raise
        except OSError as error:
            raise failed("cannot create the log", path, error) from error
        return cls(path, file, identity, base, Extent(FILE_HEADER_SIZE, base, 0))

    @classmethod
    def open(cls, path: Path, *, identity: bytes, base: int, write: bool) -> Log:
        """Open the log with this identity after version `base`; cut a torn tail only if `write`.

        What is there when this returns for writing is synced: a frame found complete is committed even if
        its writer died before the sync. Raises `FileNotFoundError` as such, for readers to try again.
        """
        flags = os.O_RDWR | os.O_NOFOLLOW if write else os.O_RDONLY
        try:
            file = io.FileIO(os.open(path, flags | os.O_CLOEXEC), "r+" if write else "r")
            try:
                return cls._attach(path, file, identity, base, write)
            except BaseException:
                file.close()
                raise
        except FileNotFoundError:
            raise
        except OSError as error:
            raise failed("cannot open the log", path, error) from error

    @classmethod
    def _attach(cls, path: Path, file: io.FileIO, identity: bytes, base: int, write: bool) -> Log:
        fd = file.fileno()
        head = os.pread(fd, FILE_HEADER_SIZE, 0)
        if len(head) < FILE_HEADER_SIZE:
            raise damaged(path, len(head), "the file ends inside its header")
        magic, found, found_base = _FIELDS.unpack_from(head)
        if magic != _MAGIC or _CHECK.unpack_from(head, _FIELDS.size)[0] != zlib.crc32(head[: _FIELDS.size]):
            raise damaged(path, 0, "the file header is not that of a log")
        if (found, found_base) != (identity, base):
            raise damaged(path, 0, "this is not the log that belongs to the checkpoint in the manifest")
        extent = measure(path, fd, FILE_HEADER_SIZE, base, zlib.crc32(identity))
        if write:
            if extent.torn:
                _tell(path, extent, _keep(path, fd, extent) if extent.doubtful else None)
                os.ftruncate(fd, extent.end)
            sync_file(fd)
        return cls(path, file, identity, base, extent)

    def append(self, version: int, payload: Sequence[bytes | memoryview], *, sync: bool) -> None:
        """Commit the next version; all of it, or nothing and an error."""
        self._make_clean()
        parts = [seal_frame(version, payload, self._seed), *payload]
        size = sum(map(len, parts))
        if size <= _JOIN_UP_TO:
            parts = [b"".join(parts)]
        extent = Extent(self.length + size, version, 0)
        fd = self._file.fileno()
        self._clean = False
        try:
            write_at(fd, parts, self.length)
            if sync:
                sync_file(fd)
        except BaseException as error:
            self._cut()
            if isinstance(error, OSError):
                raise failed(f"cannot append version {version} to", self.path, error) from error
            raise
        self._extent = extent
        self._clean = True

    def _cut(self) -> OSError | None:
        """Make the file end at `length` again; returns what went wrong, if something did."""
        try:
            os.ftruncate(self._file.fileno(), self.length)
            sync_file(self._file.fileno())
        except OSError as error:
            return error
        self._clean = True
        return None

    def _make_clean(self) -> None:
        """Refuse to write behind a failed append, into a removed file, or behind another writer."""
        if not self._clean:
            error = self._cut()
            if error is not None:
                raise failed("cannot undo the append that failed before in", self.path, error) from error
        state = os.fstat(self._file.fileno())
        if state.st_nlink == 0:
            hint = "close and open the store again; versions since the last copy of the folder may be gone"
            raise StoreError("gone", f"{self.path} was removed while it was open", hint=hint)
        if state.st_size != self.length:
            what = f"the file has {state.st_size} bytes, not {self.length}: something else wrote to it"
            raise damaged(self.path, self.length, what, hint="close and open the store again")

    def frames(self) -> Iterator[tuple[int, int, bytes]]:
        """Offset, version and payload of the versions committed when the first is asked for, in order."""
        end, expected = self.length, self.base + 1
        fd = os.dup(self._file.fileno())  # this log may be closed while we are read
        try:
            reached = FILE_HEADER_SIZE
            for frame in walk(fd, FILE_HEADER_SIZE, end, self._seed):
                if frame.version != expected:
                    break
                yield frame.offset + HEADER_SIZE, frame.version, bytes(frame.payload)
                reached, expected = frame.end, expected + 1
            if reached != end:
                raise damaged(self.path, reached, f"version {expected} is not readable any more")
        finally:
            os.close(fd)

    def more(self) -> Iterator[tuple[int, int, bytes]]:
        """Offset, version and payload of what another process has committed since; of a log that is only read.

        An append that is under way is left for the next time.
        """
        fd = self._file.fileno()
        for frame in walk(fd, self.length, os.fstat(fd).st_size, self._seed):
            if frame.version != self.version + 1:
                break
            payload = bytes(frame.payload)
            self._before, self._extent = self._extent, Extent(frame.end, frame.version, 0)
            yield frame.offset + HEADER_SIZE, frame.version, payload

    def back(self) -> None:
        """Take what `more` gave last for what comes next."""
        self._extent = self._before

    def rewind(self) -> None:
        """Take all that is there for what comes `more`; of a log that is only read."""
        self._extent = Extent(FILE_HEADER_SIZE, self.base, 0)

    def close(self, *, undo: bool = True) -> None:
        """Close the file, after undoing an append that failed; the log can no longer be used.

        A fork must not undo: what is half written may be its parent's, who is still writing.
        """
        if undo and not self._clean and not self._file.closed:
            self._cut()
        try:
            self._file.close()
        except OSError as error:
            raise failed("cannot close", self.path, error) from error


def _keep(path: Path, fd: int, extent: Extent) -> Path:
    """Copy a torn tail to a file of its own, synced, before it is cut off."""
    kept = path.with_name(f"{path.name}.{extent.end}.torn")
    copy = create_file(kept)
    try:
        for offset in range(0, extent.torn, _JOIN_UP_TO):
            piece = os.pread(fd, min(_JOIN_UP_TO, extent.torn - offset), extent.end + offset)
            write_at(copy, [piece], offset)
        sync_file(copy)
    finally:
        os.close(copy)
    sync_folder(path.parent)
    return kept


def _tell(path: Path, extent: Extent, kept: Path | None) -> None:
    """Say what is cut off."""
    what = f"{path}: cut off {extent.torn} bytes at byte {extent.end}, where writing version {extent.version + 1}"
    if kept is None:
        _LOGGER.warning("%s was interrupted", what)
    else:
        _LOGGER.warning(
            "%s was interrupted by the end of the machine, or that version was damaged since; they are in %s",
            what,
            kept,
        )
