"""What a database keeps of earlier versions of its tables: marks that tell them from others with the same numbers,
and as many changes as are of use."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headwater as hw
from headwater.errors import SketchError
from headwater.sketch.sketches import Sketches
from headwater.sketch.tables import sql_changes, sql_history

LARGE = "SELECT x FROM t WHERE x > 90"
GROUPS = "SELECT g FROM t GROUP BY g HAVING count(*) > 10"
LOST = "SELECT unknown FROM headwater_versions"
ROWS = "CREATE TABLE t AS SELECT i AS x, mod(i, 10) AS g FROM generate_series(0, 99) AS r(i)"


@pytest.fixture(params=["duckdb", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with a table of a hundred rows."""
    if request.param == "duckdb":
        made = f"duckdb:///{tmp_path}/t.db"
    else:
        made = request.getfixturevalue("postgres").new_database()
    with hw.sketches(made, tmp_path / "making") as sketches, sketches.backend.engine.begin() as connection:
        connection.exec_driver_sql(ROWS)
    return made


@pytest.fixture
def all_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each change it is asked whether more are kept than are of use, also of small tables."""
    monkeypatch.setattr(sql_history, "FEWEST_CHANGES_KEPT", 0)
    monkeypatch.setattr(sql_changes, "CHANGES_BETWEEN", 1)


def asked(sketches: Sketches, text: str, way: Any = None) -> list[tuple[int, ...]]:
    return sorted(tuple(row.values()) for row in sketches.ask(text, way=way).rows.to_pylist())


def said(sketches: Sketches, text: str) -> Any:
    with sketches.backend.engine.begin() as connection:
        return connection.exec_driver_sql(text).scalar()


@pytest.mark.parametrize("later", [1, 3])
@pytest.mark.parametrize("text", [LARGE, GROUPS])
def test_a_database_that_was_restored_and_has_gone_beyond_a_sketch(tmp_path: Path, text: str, later: int):
    """What changed since is known, but not since the rows that the sketch is of."""
    address = f"duckdb:///{tmp_path}/t.db"
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute(ROWS)
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=10)
        sketches.update("t", insert=[(0, 5)])
    shutil.copy(tmp_path / "t.db", tmp_path / "backup.db")
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.update("t", insert=[(95, 3)])
        sketches.ask(text, way="capture")
        sketches.ask(text, way="maintain")
    shutil.copy(tmp_path / "backup.db", tmp_path / "t.db")
    with hw.sketches(address, tmp_path / "other") as sketches:
        sketches.table("t")
        sketches.update("t", insert=[(number, 1) for number in (1, 2, 93)], delete=[(95, 5)])
        for _ in range(later):
            sketches.update("t", insert=[(2, 8)])
        right = asked(sketches, text, "plain")
    with hw.sketches(address, tmp_path / "state") as sketches:
        (done,) = sketches.maintain().values()
        assert (done.way, done.reason) == ("capture", "the sketch was of other rows with these versions")
        assert asked(sketches, text, "use") == right


def test_every_version_has_a_mark(address: str, tmp_path: Path):
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t")
        seen = [sketches.backend.marks({"t": 0})["t"]]
        for version in (1, 2, 3):
            assert sketches.update("t", insert=[(200, version), (201, version)]) == version
            seen.append(sketches.backend.marks({"t": version})["t"])
        assert len(set(seen)) == 4
        assert [sketches.backend.marks({"t": version})["t"] for version in range(4)] == seen
        assert sketches.backend.marks({"t": 9}) == {}


def test_changes_that_are_of_no_use_are_forgotten(address: str, tmp_path: Path, all_looked_at: None):
    """No more are kept than the table has rows: who follows goes on, who is too far behind captures again."""
    rows = [(x, 7) for x in range(200, 210)]
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=10)
        for text in (LARGE, GROUPS):
            sketches.ask(text, way="capture")
            sketches.ask(text, way="maintain")
        ends = time.monotonic() + 30  # PostgreSQL counts what was changed about once a second
        while said(sketches, LOST) == 0 or sketches.backend.version("t") < 40:
            assert time.monotonic() < ends
            sketches.update("t", insert=rows)
            answer = sketches.ask(GROUPS, way="maintain")
            assert (answer.decision.changed, answer.rows.to_pylist()) == (10, [{"g": 7}])
            sketches.update("t", delete=rows)
            answer = sketches.ask(GROUPS, way="maintain")
            assert (answer.decision.changed, answer.rows.to_pylist()) == (10, [])
        version, lost = sketches.backend.version("t"), said(sketches, LOST)
        assert said(sketches, "SELECT min(_version) FROM headwater_changes_t") == lost + 1
        assert said(sketches, "SELECT count(*) FROM headwater_marks") == version - lost + 1
        with pytest.raises(SketchError, match="no-changes"):
            sketches.ask(LARGE, way="maintain")
        assert asked(sketches, LARGE) == [(x,) for x in range(91, 100)]
        assert sketches.ask(LARGE, way="capture").decision.way == "capture"


def test_a_writer_is_not_waited_for_where_changes_are_forgotten(
    postgres: Any, tmp_path: Path, all_looked_at: None
):
    with hw.sketches(postgres.new_database(), tmp_path / "state", patience=1) as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql(ROWS)
        sketches.table("t", partition="x", ranges=10)
        sketches.ask(GROUPS, way="capture")
        sketches.ask(GROUPS, way="maintain")
        with sketches.backend.engine.begin() as writer:
            writer.exec_driver_sql("INSERT INTO t SELECT i, 7 FROM generate_series(1, 500) AS r(i)")
            assert asked(sketches, GROUPS) == []
        assert asked(sketches, GROUPS, "maintain") == [(7,)]


def test_changes_are_found_without_looking_at_all_others(postgres: Any, tmp_path: Path):
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql(ROWS)
        sketches.table("t")
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql(
                "INSERT INTO headwater_changes_t SELECT i, 1, i, i FROM generate_series(1, 20000) AS r(i)"
            )
            connection.exec_driver_sql("ANALYZE headwater_changes_t")
            plan = connection.exec_driver_sql(
                "EXPLAIN SELECT * FROM headwater_changes_t WHERE _version > 19990 AND _version <= 20000"
            )
            assert "Index Scan" in plan.scalars().first()
