"""One writer at a time.

The lock belongs to the open file (`flock`), so the system gives it back when the process ends, however it
ends. The file stays; its text says who holds the lock and is only read to say so, never to decide anything.

>>> import tempfile
>>> folder = Path(tempfile.mkdtemp())
>>> held = Lock.take(folder / "lock")
>>> Lock.take(folder / "lock")
Traceback (most recent call last):
    ...
headwater.errors.StoreError: error[locked]: .../lock is held by process ... on ... since ...
  = hint: ...
>>> held.release()
>>> Lock.take(folder / "lock").release()
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import socket
from datetime import datetime, timezone
from pathlib import Path

from headwater.errors import StoreError
from headwater.store.durable import mode_below
from headwater.store.failure import failed
from headwater.store.patience import PATIENCE, patiently


class Lock:
    """A lock that this process holds until `release` or its end."""

    def __init__(self, path: Path, file: io.FileIO):
        """Take over an open file that this process has locked."""
        self._path = path
        self._file = file
        self._pid = os.getpid()

    @classmethod
    def take(cls, path: Path) -> Lock:
        """Take the lock at `path`, or refuse at once and say who holds it."""
        try:
            while True:
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                file = io.FileIO(os.open(path, flags, mode_below(path.parent) & 0o666), "r+")
                try:
                    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                    lock = cls(path, file)
                    if lock.in_place():
                        lock._sign()
                        return lock
                except BlockingIOError:
                    holder = _holder(file)
                    file.close()
                    raise _refusal(path, holder) from None
                except BaseException:
                    file.close()
                    raise
                file.close()  # the file was replaced between open and flock
        except OSError as error:
            raise failed("cannot lock", path, error) from error

    @classmethod
    def wait(cls, path: Path, seconds: float = PATIENCE) -> Lock:
        """Take the lock at `path`, and wait so long for another process that holds it; this one would wait for
        itself."""

        def is_in_the_way(error: Exception) -> bool:
            return isinstance(error, StoreError) and error.code == "locked" and _signer(path) != os.getpid()

        return patiently(lambda: cls.take(path), is_in_the_way, seconds)

    def in_place(self) -> bool:
        """Whether the locked file is still the one at its path (not if the folder was moved or removed)."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), os.stat(self._path))
        except FileNotFoundError:
            return False

    def _sign(self) -> None:
        since = datetime.now(timezone.utc).isoformat(timespec="seconds")
        holder = {"pid": self._pid, "host": socket.gethostname(), "since": since}
        os.ftruncate(self._file.fileno(), 0)
        with contextlib.suppress(OSError):  # a full disk: the lock holds, unsigned
            os.pwrite(self._file.fileno(), json.dumps(holder).encode("ascii"), 0)

    @property
    def ours(self) -> bool:
        """Whether this very process took the lock (a forked child did not)."""
        return self._pid == os.getpid()

    def release(self) -> None:
        """Give the lock back; in a forked child, only forget it."""
        if self._file.closed:
            return
        if self.ours:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_UN)
        self._file.close()


def _holder(file: io.FileIO) -> str:
    """Who signed the lock file, as far as it can be read."""
    try:
        signed = json.loads(os.pread(file.fileno(), 4096, 0))
        return f"process {signed['pid']} on {signed['host']} since {signed['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _signer(path: Path) -> int | None:
    """The process that signed a lock file of this machine, as far as it can be read."""
    try:
        signed = json.loads(path.read_bytes())
        return int(signed["pid"]) if signed["host"] == socket.gethostname() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _refusal(path: Path, holder: str) -> StoreError:
    hint = "close the store there first; any number of readers may open it meanwhile: mode='r'"
    return StoreError("locked", f"{path} is held by {holder}", hint=hint)
