"""Folders for what need not survive the process: removed at its end, or later if it was killed.

A folder's name holds the process's id. Whoever makes a new one removes those of processes that are no more.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

_NAME = re.compile(r"headwater-(\d+)-[a-z]+-")


def scratch_folder(kind: str) -> Path:
    """A new empty folder."""
    _sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=f"headwater-{os.getpid()}-{kind}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _sweep(place: Path) -> None:
    with contextlib.suppress(OSError):
        for name in os.listdir(place):
            found = _NAME.match(name)
            if found is not None and not _alive(int(found[1])):
                shutil.rmtree(place / name, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True
