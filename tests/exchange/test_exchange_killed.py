"""Peers with databases of their own, killed in the middle of publishing, taking and applying (SIGKILL)."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import headwater as hw

FILE = """
mappings = "a: R(x, y) -> S(x, y). b: S(x, y) -> exists z T(x, y, z)."
[peer.one]
relations.R = "x: int, y: int"
database = "ONE"
[peer.two]
relations.S = "x: int, y: int"
relations.T = "x: int, y: int, z: int"
database = "TWO"
"""
WORKER = textwrap.dedent(
    """
    import os, signal, sys
    import headwater as hw
    PARTS = ("headwater/exchange", "headwater/store", "headwater/sketch/tables")
    file, calls = sys.argv[1], int(sys.argv[2])
    seen = 0
    def trace(frame, event, argument):
        global seen
        if any(part in frame.f_code.co_filename for part in PARTS):
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
ADDRESSES = {
    "sqlite": ("sqlite:///one.db", "sqlite:///two.db"),
    "parquet": ("parquet://one", "parquet://two"),
}
EDITS = ('INSERT INTO "R" VALUES (1, 1), (2, 2), (3, 3)', 'DELETE FROM "R" WHERE "x" = 2')


def work(file: Path, calls: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WORKER, str(file), str(calls)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def prepared(folder: Path, kind: str) -> Path:
    """Peers, with edits by a user that nobody has captured yet."""
    folder.mkdir()
    file = folder / "c.toml"
    one, two = ADDRESSES[kind]
    file.write_text(FILE.replace("ONE", one).replace("TWO", two))
    with hw.exchange(file) as confederation:
        confederation.exchange()
    if kind == "parquet":
        pq.write_table(pa.table({"x": [1, 3], "y": [1, 3]}), folder / "one" / "R" / "part-0.parquet")
        return file
    with sqlite3.connect(folder / "one.db") as database:
        for statement in EDITS:
            database.execute(statement)
    database.close()
    return file


def shown(folder: Path, kind: str) -> tuple[list[tuple[object, ...]], ...]:
    """What the tables of the other peer hold."""
    if kind == "parquet":
        files = ([str(path) for path in (folder / "two" / name).glob("[!.]*.parquet")] for name in "ST")
        return tuple(
            sorted(zip(*ds.dataset(found).to_table().to_pydict().values(), strict=True)) for found in files
        )
    with sqlite3.connect(folder / "two.db") as database:
        found = tuple(sorted(database.execute(f'SELECT * FROM "{table}"')) for table in "ST")
    database.close()
    return found


S = [(1, 1), (3, 3)]
T = [(1, 1, None, "?b_z(1, 1)"), (3, 3, None, "?b_z(3, 3)")]


@pytest.fixture(scope="module", params=ADDRESSES)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """A kind of database, and how many lines of ours run when nobody is killed."""
    kind = request.param
    folder = tmp_path_factory.mktemp("whole") / "c"
    found = int(work(prepared(folder, kind), 0).stdout)
    assert shown(folder, kind) == (S, T)
    return kind, found


SEED = os.environ.get("HEADWATER_SEED")
PARTS = [0.2, 0.6, 0.9] if SEED is None else [random.Random(SEED + str(n)).random() for n in range(10)]


@pytest.mark.parametrize("part", PARTS)
def test_killed_anywhere_all_of_it_is_there_once_in_the_end(
    part: float, whole: tuple[str, int], tmp_path: Path
) -> None:
    kind, steps = whole
    file = prepared(tmp_path / "killed", kind)
    assert work(file, int(steps * part)).returncode == -9
    there = shown(file.parent, kind)
    if kind == "sqlite":
        assert there in (([], []), (S, T))  # in one transaction, or not at all
    assert all(found in ([], all_of_it) for found, all_of_it in zip(there, (S, T), strict=True))
    with hw.exchange(file) as confederation:
        confederation.exchange()
        confederation.exchange()
        assert [sorted(confederation["one"]["R"].rows()), confederation.logs.last("one")] == [S, 1]
    assert shown(file.parent, kind) == (S, T)
    assert not list(file.parent.glob("two/[ST]/.*")), "what was staged by the one who was killed"
