"""The driver is killed with SIGKILL in the middle of a stream: nothing is lost and nothing is there twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pipeline_support import folded, random_links, reach, stored, write_csv

import headwater as hw

pytest.importorskip("pyspark")
deltalake = pytest.importorskip("deltalake")
pytestmark = pytest.mark.xdist_group("spark")

WORKER = Path(__file__).with_name("pipeline_worker.py")


def dropped(folder: Path, count: int) -> list[set]:
    """Files of changes in the order of their times, and the links after each."""
    rng = random.Random(8)
    links: set = set()
    states = []
    for number in range(count):
        gone = set(rng.sample(sorted(links), min(len(links), 2)))
        new = random_links(rng, 3) - links
        rows = [(*row, "insert") for row in sorted(new)] + [(*row, "delete") for row in sorted(gone)]
        file = folder / f"{number:04}.csv"
        write_csv(file, rows, "src,dst,cost,_change_type")
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
        links = links - gone | new
        states.append(links)
    return states


def killed_after(folder: Path, versions: int, pause: float) -> list[str]:
    """Start the driver, let it say so many lines, wait a moment, kill it; all that it said."""
    source = Path(hw.__path__[0]).parent
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (source, WORKER.parent, WORKER.parents[1]))),
    }
    command = [sys.executable, str(WORKER), str(folder)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        said = []
        try:
            for line in worker.stdout:
                said.append(line)
                if len(said) >= versions:
                    break
            time.sleep(pause)
        finally:
            os.kill(worker.pid, signal.SIGKILL)
        said += worker.stdout.readlines()
    assert len(said) >= versions, "the driver ended by itself"
    return [line for line in said if line.endswith("\n")]


def test_a_kill_in_the_middle_of_a_stream(tmp_path):
    states = dropped(tmp_path / "in", 9)
    said = killed_after(tmp_path, 4, 0.3)
    acknowledged = int(said[-1].split()[1])
    with hw.connect(tmp_path / "state", mode="r") as db:
        batch = db.marks["stream:link"]["batch"]
        assert acknowledged <= batch <= acknowledged + 1
        assert set(db["link"].rows()) == states[batch]
        assert set(db["reach"].rows()) == reach(states[batch])
        owed = db.owed(f"feed:{tmp_path}/feed")
        assert len(owed) <= 1, "every version is published before the next one is begun"
        if not owed:
            assert folded(tmp_path / "feed") == reach(states[batch])
    assert batch < 8, "it was in the middle"
    killed_after(tmp_path, 9 - batch, 0)
    expected = reach(states[-1])
    assert folded(tmp_path / "feed") == stored(tmp_path / "rows") == expected
    table = deltalake.DeltaTable(str(tmp_path / "delta")).to_pyarrow_table().to_pylist()
    assert {tuple(row.values()) for row in table} == expected and len(table) == len(expected)
