"""Writes that are there after a crash.

Data is safe when the file is synced *and* the folder that names it is synced. A rename is atomic (a reader
sees the old file or the new one) but safe only after the folder is synced. Everything here raises plain
`OSError`; callers know what they were doing and say so.

New files and folders can be read and written by those who can read and write the folder they are in. Links are
not followed: what is put at a path is a new file there, whatever a link there points to.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from collections.abc import Sequence
from pathlib import Path


def sync_file(fd: int) -> None:
    """Return when the file's bytes and length are on the disk."""
    if sys.platform == "darwin":
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # there, fsync stops at the drive's own cache
    else:
        os.fdatasync(fd)


def sync_folder(path: Path) -> None:
    """Return when the folder's names (created, renamed, removed) are on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync folders syncs them by itself
            raise
    finally:
        os.close(fd)


def write_at(fd: int, parts: Sequence[bytes | memoryview], offset: int) -> int:
    """Write all the parts one after another from `offset` on; return the offset after the last."""
    for part in parts:
        left = memoryview(part)
        while left:
            written = os.pwrite(fd, left, offset)
            if written == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            offset += written
            left = left[written:]
    return offset


def create_file(path: Path) -> int:
    """A descriptor of a new, empty file at `path`, open for reading and writing, in place of what was there."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    mode = mode_below(path.parent) & 0o666
    try:
        return os.open(path, flags, mode)
    except FileExistsError:
        os.unlink(path)
        return os.open(path, flags, mode)


def mode_below(folder: Path) -> int:
    """The mode of what is made in a folder, as far as the user's umask lets it."""
    return os.stat(folder).st_mode & 0o777


def write_new(path: Path, data: bytes) -> None:
    """Put `data` into a file at `path` and sync the file; the folder is still to be synced."""
    fd = create_file(path)
    try:
        write_at(fd, [data], 0)
        sync_file(fd)
    finally:
        os.close(fd)


def put(path: Path, data: bytes) -> None:
    """Put `data` at `path` in place of what is there, all of it or nothing, and for good."""
    hidden = path.with_name(f".{path.name}")
    write_new(hidden, data)
    os.replace(hidden, path)
    sync_folder(path.parent)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Create the folder and the missing ones above it, each safely named by the one above."""
    if path.is_dir():
        return
    make_folder(path.parent)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
    sync_parent(path)


def sync_parent(path: Path) -> None:
    """Sync the folder above `path`, unless we may not read it (then its owner looks after it)."""
    try:
        sync_folder(path.parent)
    except PermissionError:
        return
