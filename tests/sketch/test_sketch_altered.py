"""Tables of databases that get other columns, and names that are long or must be quoted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headwater as hw

TEXT = "SELECT x FROM t WHERE x > 1"


@pytest.fixture(params=["duckdb", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "duckdb":
        return f"duckdb:///{tmp_path}/t.db"
    return request.getfixturevalue("postgres").new_database()


def does(sketches: Any, *texts: str) -> None:
    with sketches.backend.engine.begin() as connection:
        for text in texts:
            connection.exec_driver_sql(text)


def answered(sketches: Any, text: str = TEXT, way: str | None = None) -> list[Any]:
    return sorted(tuple(row.values()) for row in sketches.ask(text, way=way).rows.to_pylist())


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
