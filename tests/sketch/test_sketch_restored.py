"""Tables that went back to an older version and changed in another way since: numbers of versions come again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headwater as hw

LARGE = "SELECT x FROM t WHERE g = 1 AND x > 32"


def changed_otherwise(address: str, folder: Path) -> None:
    """Somebody else makes the next version: with one row less and another row more."""
    with hw.sketches(address, folder) as others:
        others.table("t")
        others.update("t", insert=[(33, 1)], delete=[(99, 1)])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i::INTEGER AS x, (i = 99)::INTEGER AS g FROM range(100) r(i)"
        )
    return tmp_path / "t.db"


def named_and_copied(table: Path) -> str:
    """The address of the table's database, of which there is a copy from before anything was asked."""
    address = f"duckdb:///{table}"
    with hw.sketches(address, table.parent / "state") as sketches:
        sketches.table("t", partition="x", ranges=10)
    shutil.copy(table, table.parent / "backup.db")
    return address


@pytest.fixture
def restored(table: Path, tmp_path: Path) -> Callable[..., Any]:
    """Sketches of a query at version 1 of a table, whose other version 1 has one row less and another row more."""

    def opened(text: str = LARGE) -> Any:
        address = named_and_copied(table)
        with hw.sketches(address, tmp_path / "state") as sketches:
            sketches.update("t", insert=[(200, 1)])
            assert len(sketches.ask(text, way="capture").rows) > 0
        shutil.copy(tmp_path / "backup.db", table)
        changed_otherwise(address, tmp_path / "other")
        return hw.sketches(address, tmp_path / "state")

    return opened


def test_another_query_does_not_borrow_the_sketch(restored: Callable[..., Any]):
    with restored() as sketches:
        larger = LARGE.replace("32", "31")
        assert "\nnext: plain: asked for the first time" in sketches.explain(larger)
        assert sketches.ask(larger).rows.to_pylist() == [{"x": 33}]
        assert sketches.ask(LARGE.replace("32", "98")).decision.way == "plain"


def test_maintaining_captures_it_again(restored: Callable[..., Any]):
    with restored() as sketches:
        (done,) = sketches.maintain().values()
        assert (done.way, done.reason) == ("capture", "the sketch was of other rows with these versions")
        assert sketches.ask(LARGE, way="use").rows.to_pylist() == [{"x": 33}]


@pytest.mark.parametrize("way", [None, "plain"])
def test_a_version_that_is_asked_for_by_its_number_is_the_one_that_is_there(
    restored: Callable[..., Any], way: str | None
):
    with restored() as sketches:
        assert sketches.ask(LARGE, way=way, versions={"t": 1}).rows.to_pylist() == [{"x": 33}]


def test_an_older_version_that_comes_again_is_another_one_too(table: Path, tmp_path: Path):
    """Its sketch is not the newest one."""
    address = named_and_copied(table)
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.update("t", insert=[(200, 1)])
        sketches.ask(LARGE, way="capture")
        sketches.update("t", insert=[(201, 1)])
        sketches.ask(LARGE, way="maintain")
    shutil.copy(tmp_path / "backup.db", table)
    changed_otherwise(address, tmp_path / "other")
    with hw.sketches(address, tmp_path / "state") as sketches:
        assert sketches.backend.version("t") == 1
        assert sketches.ask(LARGE).rows.to_pylist() == [{"x": 33}]


def test_state_that_was_written_before_a_crash_is_of_the_version_that_there_was(table: Path, tmp_path: Path):
    """What maintains a sketch is newer than the sketch that was written last."""
    address = f"duckdb:///{table}"
    with hw.sketches(address, tmp_path / "state", memory=0) as sketches:
        sketches.table("t", partition="x", ranges=10)
        sketches.update("t", insert=[(200, 1)])
        sketches.ask(LARGE, way="capture")
        sketches.maintain()
        sketches.backend.close()
        shutil.copy(table, tmp_path / "backup.db")
        sketches.update("t", insert=[(201, 1)])
        sketches.ask(LARGE, way="maintain")
        sketches.ask("SELECT x FROM t WHERE g = 1", way="capture")
        sketches.maintain()
        shutil.copytree(tmp_path / "state", tmp_path / "left")
    shutil.copy(tmp_path / "backup.db", table)
    changed_otherwise(address, tmp_path / "other")
    with hw.sketches(address, tmp_path / "left") as sketches:
        assert sketches.backend.version("t") == 2
        assert sorted(row["x"] for row in sketches.ask(LARGE).rows.to_pylist()) == [33, 200]


def test_marks_of_earlier_releases_are_those_of_the_newest_sketch(
    restored: Callable[..., Any], tmp_path: Path
):
    restored().close()
    (path,) = (tmp_path / "state" / "queries").glob("[!.]*.json")
    said = json.loads(path.read_text())
    del said["check"]
    (said["marks"]["t"],) = said["marks"]["t"].values()
    path.write_text(json.dumps(said))
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        assert sketches.ask(LARGE).rows.to_pylist() == [{"x": 33}]


def test_state_is_not_believed_when_the_file_that_it_belongs_to_was_removed(table: Path, tmp_path: Path):
    """As the hint for a damaged one says."""
    address = named_and_copied(table)
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.update("t", insert=[(50, 1)])
        sketches.ask(LARGE, way="capture")
        sketches.maintain()
    (path,) = (tmp_path / "state" / "queries").glob("[!.]*.json")
    path.unlink()
    shutil.copy(tmp_path / "backup.db", table)
    with hw.sketches(address, tmp_path / "other") as others:
        others.table("t")
        others.update("t", insert=[(33, 1), (50, 0)], delete=[(33, 0)])  # so that ranges are the same
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.ask(LARGE, way="capture")
        sketches.update("t", insert=[(45, 1)])
        rows = sketches.ask(LARGE, way="maintain").rows.to_pylist()
        assert sorted(row["x"] for row in rows) == [33, 45, 99]


def test_a_cluster_that_counts_its_transactions_again_gives_other_marks(postgres: Any, tmp_path: Path):
    """After a restore, the transaction that makes a version again may well have the number of the first one."""
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE t (x INTEGER)")
        sketches.table("t")
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO t VALUES (1)")
            connection.exec_driver_sql("INSERT INTO t VALUES (2)")
            number = connection.exec_driver_sql("SELECT txid_current()").scalar()
        assert sketches.backend.version("t") == 1
        assert sketches.backend.marks({"t": 1})["t"] != number
