"""Machine code that is compiled ahead, by a process of its own, while this one goes on.

Compiling holds Python's lock, so a thread would be in everybody's way. Another process (`compiler_process`) has the
lowest priority, no terminal and nobody's pipes, and ends by itself. What it compiles it keeps where all processes
look for it (see `machine_code`); whoever asked looks again from time to time. There is one such process at a time for
a folder of machine code: it holds a lock, which the system gives back however it ends.

Nothing depends on it. Where it is not wanted (`HEADWATER_COMPILE_AHEAD=0`), where no folder can be written, where the
interpreter is part of another program, or where the process is killed, all goes on without.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from headwater.kernel.machine_code import kept_folder

WANTED = "HEADWATER_COMPILE_AHEAD"
"""The variable that says whether it may be done."""
LOCK = ".compiling"
"""The lock file."""
CODE = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from headwater.kernel.compiler_process import work
work(json.loads(sys.argv[2]))
"""
"""What the other process runs: the same package as this one, wherever this one has it from."""

Task = tuple[str, str, int]
"""What is to be compiled: a module of the kernel, the digest of a function in it, and the bytes of stored numbers."""

_asked: set[Task] = set()
"""What this process has given to another one."""


def is_possible() -> bool:
    """Whether there can be another process that compiles."""
    return os.environ.get(WANTED) != "0" and _python() is not None and kept_folder() is not None


def compile_ahead(tasks: Iterable[Task]) -> bool:
    """Have some functions compiled by another process, in this order; whether that has begun. Each is asked for once:
    if it cannot be done once, it would not be the next time."""
    wanted = [task for task in tasks if task not in _asked]
    python, folder = _python(), kept_folder()
    if not wanted or python is None or folder is None or not is_possible():
        return False
    with contextlib.suppress(
        OSError, RuntimeError
    ):  # somebody compiles; no file, process or thread can be had
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _asked.update(wanted)
            _start(python, folder, wanted, lock)
            return True
        finally:
            os.close(lock)  # the other process has it, too
    return False


def _start(python: str, folder: Path, tasks: list[Task], lock: int) -> None:
    process = subprocess.Popen(
        [
            python,
            "-I",
            "-c",
            CODE,
            json.dumps([os.path.abspath(each) for each in sys.path]),
            json.dumps(tasks),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, "HEADWATER_CACHE": str(folder.parent.parent), WANTED: "0"},
        pass_fds=(lock,),
        start_new_session=True,
    )
    threading.Thread(target=process.wait, name="headwater compiles ahead", daemon=True).start()


def _python() -> str | None:
    """The interpreter that runs this process, if it is one that runs by itself."""
    known = sys.executable or ""
    alone = os.path.basename(known).lower().startswith("python") and not getattr(sys, "frozen", False)
    return known if alone else None
