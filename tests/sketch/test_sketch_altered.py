"""Tables of databases that get other columns, and names that are long or must be quoted."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sketch_queries import LARGER, answered, does

import headwater as hw
from headwater.errors import SqlError


def test_a_column_that_is_added_is_recorded_from_then_on(address: str, tmp_path: Path):
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2)")
        sketches.table("t", partition="x", ranges=4)
        answered(sketches, way="capture")
        sketches.update("t", insert=[(3,)])
        does(sketches, "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 7")
        sketches.table("t", partition="x", ranges=4)
        assert answered(sketches) == [(2,), (3,)]  # what changed meanwhile is not known
        sketches.update("t", insert=[(4, 8)], delete=[(3, 7)])
        assert answered(sketches, way="maintain") == [(2,), (4,)]
        assert answered(sketches, "SELECT z FROM t") == [(7,), (7,), (8,)]
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.update("t", insert=[{"z": 9, "x": 5}])
        assert answered(sketches, way="maintain") == [(2,), (4,), (5,)]


def test_writers_of_postgresql_go_on_after_a_column_was_added(postgres: Any, tmp_path: Path):
    address = postgres.new_database()
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2)")
        sketches.table("t", partition="x", ranges=4)
        does(sketches, "ALTER TABLE t ADD COLUMN z BIGINT")
    with hw.sketches(address, tmp_path / "state") as sketches:
        answered(sketches, way="capture")
        does(sketches, "INSERT INTO t VALUES (3, 9)", "DELETE FROM t WHERE x = 2")
        assert answered(sketches, way="maintain") == [(3,)]


def test_dots_and_quotes_may_be_in_the_names_of_columns(address: str, tmp_path: Path):
    text = 'SELECT r."a.b" FROM r, s WHERE r."a.b" = s."a.b" AND s."c""$1" > 1'
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, 'CREATE TABLE r ("a.b" INTEGER)', "INSERT INTO r VALUES (1), (2)")
        does(
            sketches, 'CREATE TABLE s ("a.b" INTEGER, "c""$1" INTEGER)', "INSERT INTO s VALUES (1, 1), (2, 2)"
        )
        sketches.table("r", partition="a.b", ranges=4)
        sketches.table("s", partition='c"$1', ranges=4)
        assert answered(sketches, text, "capture") == [(2,)]
        sketches.maintain()
        sketches.update("s", insert=[(1, 5)], delete=[(2, 2)])
        assert answered(sketches, text, "maintain") == [(1,)]


def test_tables_with_long_names_are_recorded_each_for_itself(address: str, tmp_path: Path):
    """PostgreSQL cuts names after 63 bytes: of triggers with one name the last would be the only one."""
    sales = "sales_of_all_the_shops_in_the_north_and_the_south_2024"
    text = f"SELECT x FROM {sales} WHERE x > 1"
    with hw.sketches(address, tmp_path / "state") as sketches:
        for name in (sales, f"{sales}_again"):
            does(sketches, f"CREATE TABLE {name} (x INTEGER)", f"INSERT INTO {name} VALUES (1), (2)")
            sketches.table(name, partition="x", ranges=4)
        assert answered(sketches, text, "capture") == [(2,)]
        sketches.update(f"{sales}_again", insert=[(7,)])
        sketches.update(sales, insert=[(5,)], delete=[(2,)])
        assert answered(sketches, text, "maintain") == [(5,)]
        if sketches.backend.dialect == "postgres":
            does(sketches, f"INSERT INTO {sales} VALUES (6)", f"UPDATE {sales} SET x = 9 WHERE x = 1")
            assert answered(sketches, text, "maintain") == [(5,), (6,), (9,)]


@pytest.mark.parametrize("ask", [None, "capture", "plain"])
def test_a_table_with_other_columns_is_taken_in_again(address: str, tmp_path: Path, ask: str | None):
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2)")
        sketches.table("t", partition="x", ranges=4)
        answered(sketches, way="capture")
        does(
            sketches, "DROP TABLE t", "CREATE TABLE t (y VARCHAR, x BIGINT)", "INSERT INTO t VALUES ('a', 4)"
        )
        assert answered(sketches, "SELECT y FROM t WHERE x > 1", ask) == [("a",)]
        assert answered(sketches, way=ask) == [(4,)]
        sketches.update("t", insert=[("b", 5)])
        assert answered(sketches) == [(4,), (5,)]
        assert "next:" in sketches.explain(LARGER)


def test_a_column_that_is_dropped_is_missed_by_the_queries_that_read_it(address: str, tmp_path: Path):
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER, y INTEGER)", "INSERT INTO t VALUES (1, 1), (2, 2)")
        sketches.table("t", partition="y", ranges=4)
        answered(sketches, way="capture")
        answered(sketches, "SELECT y FROM t WHERE x > 1")
        does(sketches, "ALTER TABLE t DROP COLUMN x")
        with pytest.raises(SqlError) as found:
            sketches.ask(LARGER)
        assert found.value.code == "unknown-column"
        assert [each.way for each in sketches.maintain().values()] in ([], ["plain"])
        assert answered(sketches, "SELECT y FROM t") == [(1,), (2,)]


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize(
    "change", ["ALTER TABLE t DROP COLUMN y", "ALTER TABLE t ALTER COLUMN y TYPE VARCHAR"]
)
def test_sketches_by_an_attribute_that_is_another_now_begin_again(
    address: str, tmp_path: Path, change: str, is_open: bool
):
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER, y INTEGER)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
        sketches.table("t", partition="y", ranges=4)
        assert answered(sketches, way="capture") == [(2,), (3,)]
        if is_open:
            does(sketches, change)
            sketches.maintain()
    if not is_open:
        with hw.sketches(address, tmp_path / "other") as others:
            does(others, change)
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=4)
        assert not sketches.list()
        assert answered(sketches, way="capture") == [(2,), (3,)]
        assert str(sketches.list()[0].newest).startswith("t.x: ")


def database_of(path: Path, values: str) -> str:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT x::INTEGER AS x FROM (VALUES {values}) AS v(x)")
    return f"duckdb:///{path}"


def test_another_database_is_not_answered_from_sketches_of_the_first(tmp_path: Path):
    first, second = database_of(tmp_path / "a.db", "(1), (2)"), database_of(tmp_path / "b.db", "(1), (9)")
    with hw.sketches(first, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=4)
        assert answered(sketches, way="capture") == [(2,)]
    with hw.sketches(second, tmp_path / "state") as sketches:
        assert answered(sketches) == [(9,)]
        assert answered(sketches, way="capture") == [(9,)]
    shutil.copy(tmp_path / "a.db", tmp_path / "b.db")  # it comes with its records
    with hw.sketches(second, tmp_path / "state") as sketches:
        assert answered(sketches) == [(2,)]


def test_a_database_that_was_restored_and_changed_is_not_answered_from_old_sketches(tmp_path: Path):
    address = database_of(tmp_path / "t.db", "(1), (2)")
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=4)
        sketches.update("t", insert=[(3,)])
    shutil.copy(tmp_path / "t.db", tmp_path / "backup.db")
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.update("t", insert=[(4,)])
        assert answered(sketches, way="capture") == [(2,), (3,), (4,)]
        assert answered(sketches, way="maintain") == [(2,), (3,), (4,)]
    shutil.copy(tmp_path / "backup.db", tmp_path / "t.db")
    with hw.sketches(address, tmp_path / "other") as sketches:
        sketches.table("t")
        sketches.update("t", insert=[(100,)])
    with hw.sketches(address, tmp_path / "state") as sketches:
        assert sketches.backend.version("t") == 2
        sketches.explain(LARGER)
        assert answered(sketches) == [(2,), (3,), (100,)]


def test_other_attributes_and_ranges_begin_again(address: str, tmp_path: Path):
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER, y INTEGER)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
        for partition in ("x", "y", "y"):
            sketches.table("t", partition=partition, ranges=4)
            assert answered(sketches, way="capture") == [(2,), (3,)]
            assert str(sketches.list()[0].newest).startswith(f"t.{partition}: ")
        sketches.table("t", partition="y", ranges=4)
        assert sketches.list()[0].newest is not None
        sketches.table("t", partition="y", ranges=2)
        assert sketches.list()[0].newest is None


def test_ctrl_c_in_a_query_of_duckdb_is_ctrl_c(tmp_path: Path):
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t AS SELECT range::INTEGER AS x FROM range(20000)")
        sketches.table("t", partition="x", ranges=4)
        text = "SELECT count(*) AS n FROM t AS a, t AS b WHERE a.x * b.x % 7 = 3"
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                sketches.ask(text)
        finally:
            timer.cancel()
        assert answered(sketches, "SELECT x FROM t WHERE x < 1") == [(0,)]
