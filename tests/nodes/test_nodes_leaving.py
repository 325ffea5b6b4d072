"""A program that ends, in whatever way, without closing its database: it ends, and nothing of it stays.

Each way of leaving is a process of its own, in a session of its own, by which all that it has started is found.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from oracle_lockstep import THOROUGH

PROGRAM = Path(__file__).parent / "nodes_leaving.py"
PATH = [Path(__file__).parents[2] / "src", Path(__file__).parents[1]]
BOUND = 200
"""Seconds after which the end of a program that has not ended is not waited for."""
MINE = "Mine: the user's own"
WAYS = {
    "end": (0, ""),
    "error": (1, MINE),
    "exit": (3, ""),
    "at-once": (4, ""),
    "terminated": (-signal.SIGTERM, ""),
    "interrupted": (-signal.SIGINT, "KeyboardInterrupt"),
    "killed": (-signal.SIGKILL, ""),
    "thread": (0, MINE),
    "session-first": (1, MINE),
    "forgotten": (0, ""),
}
"""For each way, the exit code, and the last line that the user sees, if there is any."""


def session_of(process: int) -> list[str]:
    """The commands of all processes of a session."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, IndexError):
            continue
        if stat[3] == str(process) and stat[0] != "Z":
            found.append(f"{folder.name}: {command[:200]}")
    return found


def leave(way: str, run: str, code: int, last: str) -> None:
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), way, run],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PATH))}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        said, complained = process.communicate(timeout=BOUND)
        assert said == "ready\n", complained
        assert process.returncode == code, complained
        assert ((complained.splitlines() or [""])[-1]).endswith(last), complained
        if not last:
            assert "Traceback" not in complained and "Exception" not in complained, complained
        deadline = time.monotonic() + BOUND
        while session_of(process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert session_of(process.pid) == []
    finally:
        if session_of(process.pid):
            os.killpg(process.pid, signal.SIGKILL)


def ways(*like_others: str) -> list[str]:
    """All ways, but where there is little time not those that end a program as some other way does."""
    return [way for way in WAYS if THOROUGH or way not in like_others]


@pytest.mark.parametrize("way", ways("exit", "at-once", "terminated", "session-first"))
def test_a_plain_database(way: str):
    leave(way, "local", *WAYS[way])


@pytest.mark.parametrize("way", [*ways("exit", "at-once", "terminated"), "forked"])
def test_nodes_in_threads(way: str):
    leave(way, "threads", *WAYS.get(way, (0, "")))


@pytest.mark.parametrize(
    "way",
    [
        *ways("end", "exit", "at-once", "thread", "terminated", "interrupted", "session-first"),
        "batch",
        "java-killed",
    ],
)
def test_nodes_on_spark(way: str):
    leave(way, "spark", *WAYS.get(way, (1, MINE)))
