"""Peers with databases of their own, killed in the middle of publishing, taking and applying (SIGKILL)."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import headwater as hw

FILE = """
mappings = "a: R(x, y) -> S(x, y). b: S(x, y) -> exists z T(x, y, z)."
[peer.one]
relations.R = "x: int, y: int"
database = "sqlite:///one.db"
[peer.two]
relations.S = "x: int, y: int"
relations.T = "x: int, y: int, z: int"
database = "sqlite:///two.db"
"""
WORKER = textwrap.dedent(
    """
    import os, signal, sys
    import headwater as hw
    file, calls = sys.argv[1], int(sys.argv[2])
    seen = 0
    def trace(frame, event, argument):
        global seen
        if "headwater/exchange" in frame.f_code.co_filename or "headwater/store" in frame.f_code.co_filename:
            if event == "line":
                seen += 1
                if seen == calls:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace
        return None
    confederation = hw.exchange(file)
    one, two = confederation["one"], confederation["two"]
    sys.settrace(trace)
    one.publish()
    two.update()
    sys.settrace(None)
    print(seen)
    """
)
EDITS = ('INSERT INTO "R" VALUES (1, 1), (2, 2), (3, 3)', 'DELETE FROM "R" WHERE "x" = 2')


def work(file: Path, calls: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WORKER, str(file), str(calls)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def prepared(folder: Path) -> Path:
    folder.mkdir()
    file = folder / "c.toml"
    file.write_text(FILE)
    with hw.exchange(file) as confederation:
        confederation.exchange()
    with sqlite3.connect(folder / "one.db") as database:
        for statement in EDITS:
            database.execute(statement)
    database.close()
    return file


def shown(folder: Path, table: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(folder / "two.db") as database:
        found = sorted(database.execute(f'SELECT * FROM "{table}"'))
    database.close()
    return found


S = [(1, 1), (3, 3)]
T = [(1, 1, None, "?b_z(1, 1)"), (3, 3, None, "?b_z(3, 3)")]


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many lines of ours run when nobody is killed."""
    folder = tmp_path_factory.mktemp("whole") / "c"
    found = int(work(prepared(folder), 0).stdout)
    assert (shown(folder, "S"), shown(folder, "T")) == (S, T)
    return found


SEED = os.environ.get("HEADWATER_SEED")
PARTS = [0.2, 0.6, 0.9] if SEED is None else [random.Random(SEED + str(n)).random() for n in range(10)]


@pytest.mark.parametrize("part", PARTS)
def test_killed_anywhere_all_of_it_is_there_once_in_the_end(part: float, steps: int, tmp_path: Path) -> None:
    file = prepared(tmp_path / "killed")
    assert work(file, int(steps * part)).returncode == -9
    there = shown(file.parent, "S"), shown(file.parent, "T")
    assert there in (([], []), (S, T))  # in one transaction, or not at all
    with hw.exchange(file) as confederation:
        confederation.exchange()
        confederation.exchange()
        assert [sorted(confederation["one"]["R"].rows()), confederation.logs.last("one")] == [S, 1]
    assert (shown(file.parent, "S"), shown(file.parent, "T")) == (S, T)
