"""Several processes at once: they wait for each other, nothing is lost, nothing is done twice, and nobody waits for
ever."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headwater as hw
from headwater.errors import HeadwaterError, SketchError
from headwater.sketch.tables import parquet_table
from headwater.sketch.tables.parquet_table import ParquetTable
from headwater.sketch.tables.sql_backend import SqlBackend

UPDATER = Path(__file__).with_name("sketch_updater.py")


def made(address: str) -> None:
    backend = SqlBackend(address)
    with backend.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (g BIGINT, v BIGINT, x BIGINT)")
    backend.close()


def run(words: list[list[str]]) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, str(UPDATER), *each], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for each in words
    ]
    for process in processes:
        out, error = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, b"done\n"), error.decode()


def check(address: str, state: Path, numbers: set[int]) -> None:
    with hw.sketches(address, state) as sketches:
        sketches.table("t", partition="x", ranges=10)
        assert set(sketches.ask("SELECT x FROM t").rows.column("x").to_pylist()) == numbers
        assert sketches.backend.version("t") == 2 * len(numbers)


def test_processes_that_change_a_table_of_postgresql(tmp_path: Path, postgres: Any):
    """Each with a folder of its own: their transactions meet in the database."""
    address = postgres.new_database()
    made(address)
    run([[address, str(tmp_path / str(first)), str(first), "4", "1"] for first in (100, 200)])
    check(address, tmp_path / "other", {first + n for first in (100, 200) for n in range(4)})


def test_processes_that_share_a_file_of_duckdb(tmp_path: Path):
    """Two share a folder as well, the third has its own: one at a time has the file, the others wait."""
    address = f"duckdb:///{tmp_path}/t.db"
    made(address)
    folders = {100: "state", 200: "state", 300: "own"}
    run([[address, str(tmp_path / name), str(first), "2", "1"] for first, name in folders.items()])
    check(address, tmp_path / "state", {first + n for first in folders for n in range(2)})


def test_threads_that_change_a_table_of_duckdb(tmp_path: Path):
    """Transactions that meet in one process."""
    backend = SqlBackend(f"duckdb:///{tmp_path}/t.db")
    with backend.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (g BIGINT, v BIGINT, x BIGINT)")
    backend.table("t")
    failed: list[BaseException] = []

    def write(first: int) -> None:
        try:
            for n in range(first, first + 8):
                backend.update("t", pa.table({"g": [1], "v": [2], "x": [n]}), None)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and backend.version("t") == 24 and backend.rows("t") == 24
    assert backend.changes("t", 0, 24).size == 24
    backend.close()


def test_patience_ends(tmp_path: Path):
    """Whoever waits for a folder or a file is told who has it when time is over."""
    address = f"duckdb:///{tmp_path}/t.db"
    made(address)
    opened = f"sketches = hw.sketches({address!r}, {str(tmp_path / 'held')!r}); sketches.table('t')"
    code = f"import headwater as hw, sys; {opened}; print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"1\n"
        for folder, refused in (("held", "locked"), ("own", "database-in-use")):
            started = time.monotonic()
            with pytest.raises(HeadwaterError) as caught:
                hw.sketches(address, tmp_path / folder, patience=0.3).table("t")
            assert caught.value.code == refused and 0.3 <= time.monotonic() - started < 20
        holder.kill()
    with hw.sketches(address, tmp_path / "held", patience=0.3) as sketches:
        sketches.table("t")


def test_patience_is_a_number_of_seconds(tmp_path: Path):
    with pytest.raises(SketchError, match="bad-patience"):
        hw.sketches("duckdb:///x", tmp_path / "state", patience=-1)


def test_what_another_writer_left_half_done_is_ended_by_one_who_had_the_table_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "t" / "part-0.parquet")
    ours, theirs = (ParquetTable(tmp_path / "t", tmp_path / "record") for _ in range(2))
    first = ours.version()

    def ends(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(parquet_table, "sync_folder", ends)
        theirs.update(pa.table({"x": [3, 1]}), np.array([1, -1]))
    assert ours.update(pa.table({"x": [4]}), np.array([1])) == first + 2
    assert sorted(ours.rows().column("x").to_pylist()) == [2, 3, 4]
    rows, signs = ours.changes(first, first + 2)
    assert sorted(zip(rows.column("x").to_pylist(), signs.tolist(), strict=True)) == [(1, -1), (3, 1), (4, 1)]


def killed_before_renaming(table: ParquetTable, rows: pa.Table, signs: list[int]) -> None:
    """A change whose writer ends right after the intention was written down."""

    def ends(intention: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(table, "_carried_out", ends)
        table.update(rows, np.array(signs))


def one_file(folder: Path) -> ParquetTable:
    (folder / "t").mkdir()
    pq.write_table(pa.table({"x": [1, 2]}), folder / "t" / "part-0.parquet")
    table = ParquetTable(folder / "t", folder / "record")
    assert table.version() == 0
    return table


def values(table: ParquetTable) -> list[int]:
    return sorted(table.rows().column("x").to_pylist())


def test_what_others_append_before_a_change_is_ended_is_a_change_of_its_own(tmp_path: Path):
    table = one_file(tmp_path)
    killed_before_renaming(table, pa.table({"x": [3]}), [1])
    pq.write_table(pa.table({"x": [7]}), tmp_path / "t" / "part-1.parquet")
    table.version()
    assert values(table) == [1, 2, 3, 7]
    rows, signs = table.changes(0, table.version())
    assert sorted(zip(rows.column("x").to_pylist(), signs.tolist(), strict=True)) == [(3, 1), (7, 1)]


def test_what_others_wrote_anew_is_not_removed_by_a_change_that_was_left(tmp_path: Path):
    table = one_file(tmp_path)
    killed_before_renaming(table, pa.table({"x": [3, 1]}), [1, -1])
    pq.write_table(pa.table({"x": [8, 9, 10]}), tmp_path / "t" / "part-0.parquet")
    again = ParquetTable(tmp_path / "t", tmp_path / "record")
    version = again.version()
    assert values(again) == [8, 9, 10]
    with pytest.raises(SketchError, match="no-changes"):
        again.changes(0, version)
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["part-0.parquet"]


def test_a_change_that_was_left_and_then_emptied_away_is_not_recorded_as_what_changed(tmp_path: Path):
    table = one_file(tmp_path)
    killed_before_renaming(table, pa.table({"x": [3]}), [1])
    for path in (tmp_path / "t").iterdir():
        path.unlink()
    pq.write_table(pa.table({"x": [5]}), tmp_path / "t" / "part-0.parquet")
    version = table.version()
    with pytest.raises(SketchError, match="no-changes"):
        table.changes(0, table.version())
    assert values(table) == [5] and version > 0


def test_records_of_one_path_on_two_machines_do_not_remove_files_of_each_other(tmp_path: Path):
    """The folder above the records is moved away, as another machine has another one there."""
    table = one_file(tmp_path)
    killed_before_renaming(table, pa.table({"x": [3, 1]}), [1, -1])
    (tmp_path / "record").rename(tmp_path / "elsewhere")
    other = ParquetTable(tmp_path / "t", tmp_path / "record")
    assert other.update(pa.table({"x": [4]}), np.array([1])) == 1
    (tmp_path / "record").rename(tmp_path / "theirs")
    (tmp_path / "elsewhere").rename(tmp_path / "record")
    again = ParquetTable(tmp_path / "t", tmp_path / "record")
    again.version()
    assert values(again) == [2, 3, 4]


def test_what_others_write_anew_while_rows_are_deleted_is_neither_removed_nor_doubled(tmp_path: Path):
    table = one_file(tmp_path)
    stage = ParquetTable._stage

    def staged_late(self: ParquetTable, names: dict[str, str], version: int, rows: pa.Table) -> None:
        stage(self, names, version, rows)
        pq.write_table(pa.table({"x": [1, 2, 9]}), tmp_path / "t" / "part-0.parquet")

    with pytest.MonkeyPatch.context() as patched, pytest.raises(SketchError, match="table-changed"):
        patched.setattr(ParquetTable, "_stage", staged_late)
        table.update(pa.table({"x": [1]}), np.array([-1]))
    assert values(table) == [1, 2, 9]
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["part-0.parquet"]
    table.update(pa.table({"x": [1]}), np.array([-1]))
    assert values(table) == [2, 9]
