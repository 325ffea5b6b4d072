"""A process that maintains a sketch and is killed at any moment: what it leaves can be gone on with, and is right."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from oracle_lockstep import FIGURES, examples

from headwater.language.sql.parser import parse
from headwater.sketch.captured import captured
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.sql_backend import SqlBackend

SLOT = Slot("r", "x")
NUMBERS = FragmentNumbers((SlotRanges(SLOT, Ranges("x", tuple(range(5, 100, 5)))),))
TEXT = "SELECT g, sum(v) FROM r GROUP BY g HAVING sum(v) > 40 AND min(v) < 3"
WRITER = Path(__file__).with_name("killed_writer.py")


def opened(folder: Path) -> tuple[SqlBackend, Maintainer]:
    """The table and the sketch as they are in a folder; a new one is filled and captured."""
    backend = SqlBackend(f"duckdb:///{folder}/r.db")
    with backend.engine.connect() as connection:
        raw = connection.connection.driver_connection
        raw.execute("CREATE TABLE IF NOT EXISTS r (g BIGINT, v BIGINT, x BIGINT)")
        connection.commit()
    backend.table("r")
    return backend, Maintainer(parse(TEXT, backend.schemas()).plan, NUMBERS, backend)


def random_rows(seed: int) -> pa.Table:
    source = random.Random(seed)
    rows = [
        {"g": source.randint(0, 9), "v": source.randint(0, 9), "x": source.randint(0, 120)} for _ in range(6)
    ]
    return pa.Table.from_pylist(rows, pa.schema([("g", pa.int64()), ("v", pa.int64()), ("x", pa.int64())]))


@pytest.mark.parametrize("seed", range(examples(5)))
def test_a_killed_writer_leaves_a_sketch_to_go_on_with(tmp_path: Path, seed: int):
    source = random.Random(seed)
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, str(WRITER), str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None and process.stdout.readline() == "begun\n"
            time.sleep(source.random() * 0.5)
            process.send_signal(signal.SIGKILL)
            process.wait()
        backend, maintainer = opened(tmp_path)
        assert maintainer.restore(tmp_path / "state")
        maintainer.maintain()
        assert maintainer.sketch == captured(backend, maintainer.plan, {0: (NUMBERS.ranges[SLOT],)}).sketch
        backend.engine.dispose()
        FIGURES["killed writers of sketches"] += 1
