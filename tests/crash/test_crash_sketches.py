"""Writers of sketched tables that are killed, and several at once: a change is there as a whole or not at all."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headwater.sketch.tables.delta_table import DeltaFiles
from headwater.sketch.tables.parquet_table import ParquetTable

WRITER = Path(__file__).with_name("sketch_writer.py")


def test_a_parquet_directory_whose_writer_is_killed(tmp_path):
    """After each kill its rows are those of the version that it says, and its changes lead from one to the other."""
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"x": [0]}), tmp_path / "t" / "first.parquet")
    rng = random.Random(3)
    before = 0
    for _ in range(4):
        command = [sys.executable, str(WRITER), str(tmp_path / "t"), str(tmp_path / "record")]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(rng.randint(1, 12))]
        writer.kill()
        writer.wait()
        table = ParquetTable(tmp_path / "t", tmp_path / "record")
        version = table.version()
        assert version >= told[-1]
        rows = sorted(table._read_files(list(table._files())).column("x").to_pylist())
        assert rows == [*(2 * n + 1 for n in range(1, version)), 2 * version, 2 * version + 1]
        come, signs = table.changes(before, version)
        assert int(signs.sum()) == version - before
        assert come.num_rows == len(set(come.column("x").to_pylist()))
        before = version


def test_several_writers_of_a_delta_table(tmp_path):
    """Appends, deletes and others' commits at once: nothing is lost, nothing is done twice."""
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, pa.table({"x": list(range(40))}))
    failed: list[BaseException] = []

    def write(first: int) -> None:
        try:
            table = DeltaFiles(path)
            for number in range(first, first + 5):
                table.update(pa.table({"x": [1000 + number, number]}), np.array([1, -1]))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    gone = {number for first in (0, 10, 20) for number in range(first, first + 5)}
    found = sorted(deltalake.DeltaTable(path).to_pyarrow_table().column("x").to_pylist())
    assert found == sorted([*(n for n in range(40) if n not in gone), *(1000 + n for n in gone)])
    rows, signs = DeltaFiles(path).changes(0, DeltaFiles(path).version())
    assert sorted(zip(rows.column("x").to_pylist(), signs.tolist(), strict=True)) == sorted(
        [*((n, -1) for n in gone), *((1000 + n, 1) for n in gone)]
    )
