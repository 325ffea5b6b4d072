"""A process that changes Delta and Parquet tables on Spark, captures and maintains their sketches, and is killed at
any moment: between a change and its record, in a capture, while state is written. What it leaves is right."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle_lockstep import FIGURES, examples
from sketch_queries import bag

import headwater as hw

pytestmark = pytest.mark.xdist_group("spark")

ROWS = 6
"""Each change has so many rows."""
QUERIES = {
    "d": "SELECT g, sum(v) AS s FROM d GROUP BY g HAVING sum(v) > 25",
    "p": "SELECT x, max(v) AS m FROM p WHERE v > 3 GROUP BY x HAVING count(*) > 1",
}
WRITER = Path(__file__).with_name("spark_killed_writer.py")


def random_rows(table: str, number: int) -> pa.Table:
    """The rows of one change, which they name."""
    source = random.Random(f"{table} {number}")
    rows = [
        {"n": number, "g": source.randint(0, 9), "v": source.randint(0, 9), "x": source.randint(0, 60)}
        for _ in range(ROWS)
    ]
    return pa.Table.from_pylist(rows, pa.schema([(name, pa.int64()) for name in "ngvx"]))


def begin(spark: Any, folder: Path) -> None:
    deltalake.write_deltalake(str(folder / "d"), random_rows("d", -1))
    (folder / "p").mkdir()
    pq.write_table(random_rows("p", -1), folder / "p" / "first.parquet")
    with hw.sketches(spark, folder / "state") as sketches:
        sketches.table("d", folder / "d", partition="x", ranges=12)
        sketches.table("p", folder / "p", format="parquet", partition="x", ranges=12)
        for text in QUERIES.values():
            sketches.ask(text, way="capture")


def check(spark: Any, folder: Path) -> None:
    """Changes are there as a whole, sketches cover what a capture gives, and answers are plain answers."""
    with hw.sketches(spark, folder / "state") as sketches:
        for table, text in QUERIES.items():
            present = sketches.ask(f"SELECT n FROM {table}", way="plain").rows.column("n").to_pylist()
            assert set(Counter(present).values()) <= {ROWS}
            plain = bag(sketches.ask(text, way="plain").rows)
            assert bag(sketches.ask(text).rows) == plain
            kept = next(each for each in sketches.list() if each.text == text).newest
            captured = sketches.ask(text, way="capture")
            assert bag(captured.rows) == plain
            fresh = next(each for each in sketches.list() if each.text == text).newest
            if kept is not None and kept.versions == fresh.versions:
                assert kept.covers(fresh)


@pytest.mark.parametrize("seed", range(examples(5)))
def test_a_killed_process_leaves_sketches_to_go_on_with(spark: Any, tmp_path: Path, seed: int):
    source = random.Random(seed)
    begin(spark, tmp_path)
    for _ in range(2 if "HEADWATER_KILLS" in os.environ else 1):
        with subprocess.Popen(
            [sys.executable, str(WRITER), str(tmp_path)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        ) as process:  # fmt: skip
            assert process.stdout is not None and process.stdout.readline() == "begun\n"
            time.sleep(source.random() * 4)
            os.killpg(process.pid, signal.SIGKILL)  # Java with it
            process.wait()
        check(spark, tmp_path)
        FIGURES["killed writers of sketches on Spark"] += 1
