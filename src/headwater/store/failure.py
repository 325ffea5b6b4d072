"""What the operating system refuses and what the disk got wrong, as `StoreError`s.

Both kinds name the file. A damage report also names the byte where reading stopped making sense, so that a
user can look, copy, or cut there.

>>> print(damaged(Path("state/log/00000001.log"), 4096, "the checksum is wrong", hint="restore a copy"))
error[damaged]: state/log/00000001.log at byte 4096: the checksum is wrong
  = hint: restore a copy
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from headwater.errors import StoreError

_FULL = ("disk-full", "free some space and try again; what was stored before is untouched")
_DENIED = ("permission", "check owner, mode and mount of the path; reading needs no write access: mode='r'")
_FILES = ("too-many-files", "close other files, or raise the limit (ulimit -n)")
_WHOLE = "put the files in the place of the link; the whole folder may be a link, a part of it may not"

_REASONS: dict[int, tuple[str, str]] = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.EROFS: _DENIED,
    errno.ENOTDIR: ("not-a-directory", "a store is a folder; give the path of a folder, or of a new one"),
    errno.EEXIST: ("not-a-directory", "a store is a folder; give the path of a folder, or of a new one"),
    errno.ENOENT: ("missing", "check the path; was the folder moved or removed meanwhile?"),
    errno.ELOOP: ("linked", _WHOLE),
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
}
_OTHER = (
    "io",
    "the disk or its file system failed: look at the system's log, then connect again; what was acknowledged before"
    " is in the folder",
)


def failed(doing: str, path: Path, error: OSError) -> StoreError:
    """The error for an operating system call that failed; its code tells a full disk from a denied access.

    >>> failed("cannot write", Path("log"), OSError(errno.ENOSPC, "No space left on device")).code
    'disk-full'
    """
    code, hint = _REASONS.get(error.errno or 0, _OTHER)
    reason = error.strerror or (os.strerror(error.errno) if error.errno else str(error))
    return StoreError(code, f"{doing} {path}: {reason}", hint=hint)


def linked(path: Path) -> StoreError:
    """The error for a part of a store that is a link to somewhere else."""
    return StoreError("linked", f"{path} is a link, and a store writes and removes files there", hint=_WHOLE)


def damaged(path: Path, offset: int, what: str, *, hint: str | None = None) -> StoreError:
    """The error for stored bytes that cannot be what was written."""
    return StoreError(
        "damaged",
        f"{path} at byte {offset}: {what}",
        hint=hint or "restore the folder from a copy; nothing was changed in it",
    )
