"""Killing a process that says what it has committed, at moments that nobody chose.

The child is any program that prints a line `acked <version>` (flushed) as soon as a version is committed, and
may print `ready` when it has finished importing. Everything else on its standard output is ignored. The child
works until it is killed; one that ends by itself is a failure of the test, shown with what it wrote.

    crash = kill_somewhere([sys.executable, "worker.py", str(folder)], random.Random(7))
    assert recovered_version >= crash.last_acked

`kill_somewhere` counts a random number of lines, then waits a random time of the order of one commit, so the
kill falls anywhere: while opening, in the middle of a write, between write and sync, in a checkpoint.
Nothing here knows the store; it needs the standard library only.
"""

from __future__ import annotations

import os
import random
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Crash:
    """What a killed child had acknowledged, in the order in which it did."""

    acked: tuple[int, ...]

    @property
    def last_acked(self) -> int:
        """The last acknowledged version, 0 if there was none."""
        return self.acked[-1] if self.acked else 0


def kill_somewhere(
    command: Sequence[str],
    rng: random.Random,
    *,
    lines: tuple[int, int] = (1, 12),
    delay: tuple[float, float] = (0.0, 0.004),
    env: Mapping[str, str] | None = None,
    timeout: float = 60.0,
) -> Crash:
    """Start the command, let it print some lines, and kill it (and all it started) a moment later."""
    wanted, pause = rng.randint(*lines), rng.uniform(*delay)
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        start_new_session=True,
    )
    assert child.stdout is not None and child.stderr is not None
    said = b""
    try:
        deadline = time.monotonic() + timeout
        counting = True
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                if not selector.select(left):
                    continue
                piece = os.read(child.stdout.fileno(), 1 << 16)
                if not piece:
                    raise AssertionError(f"the child ended by itself: {child.stderr.read().decode()}")
                said += piece
                if counting and said.count(b"\n") >= wanted:
                    counting = False
                    deadline = time.monotonic() + pause
        assert not counting, f"the child printed fewer than {wanted} lines in {timeout} s"
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        said += child.stdout.read()
        child.wait()
        child.stdout.close()
        child.stderr.close()
    return Crash(acked_versions(said))


def acked_versions(said: bytes) -> tuple[int, ...]:
    """The versions in the complete `acked` lines of a child's output.

    >>> acked_versions(b"ready\\nacked 1\\nacked 2\\nacked 3")
    (1, 2)
    """
    complete = said.split(b"\n")[:-1]
    return tuple(int(line.split()[1]) for line in complete if line.startswith(b"acked "))
