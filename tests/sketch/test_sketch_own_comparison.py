"""Columns whose values only the database can compare: answers stay right, sketches of them are captured anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.errors import SketchError

IN_DUCKDB = {
    "a constant is rounded to 32 bits": ("k REAL, x INTEGER", "k = 0.1", (0.1, 45)),
    "case is disregarded": ("k VARCHAR COLLATE NOCASE, x INTEGER", "k = 'q'", ("Q", 45)),
}
IN_POSTGRES = {
    "strings are padded": ("k CHAR(10), x INTEGER", "k = 'BUILDING'", ("BUILDING", 45)),
    "fewer digits are shown than compared": ("k REAL, x INTEGER", "k <> 0.1", (0.1, 45)),
    "case is disregarded": ("k TEXT COLLATE nocase, x INTEGER", "k = 'q'", ("Q", 45)),
}


def opened(address: str, folder: Path, columns: str, *before: str) -> Any:
    sketches = hw.sketches(address, folder)
    with sketches.backend.engine.begin() as connection:
        for text in before:
            connection.exec_driver_sql(text)
        connection.exec_driver_sql(f"CREATE TABLE t ({columns})")
        for x in range(40):
            connection.exec_driver_sql(f"INSERT INTO t (x) VALUES ({x})")
    sketches.table("t", partition="x", ranges=8)
    return sketches


def check(sketches: Any, condition: str, row: tuple[Any, ...]) -> None:
    text = f"SELECT x FROM t WHERE {condition}"
    with sketches:
        assert sketches.ask(text, way="capture").rows.to_pylist() == []
        sketches.maintain()
        sketches.update("t", insert=[row])
        with pytest.raises(SketchError, match=r"not-maintained.*t\.k"):
            sketches.ask(text, way="maintain")
        answer = sketches.ask(text)
        assert answer.rows.to_pylist() == [{"x": 45}] and answer.decision.way == "capture"
        assert sketches.ask(text, way="use").rows.to_pylist() == [{"x": 45}]


@pytest.mark.parametrize("name", IN_DUCKDB)
def test_what_duckdb_compares_in_a_way_of_its_own(name: str, tmp_path: Path):
    columns, condition, row = IN_DUCKDB[name]
    check(opened(f"duckdb:///{tmp_path}/t.db", tmp_path / "state", columns), condition, row)


@pytest.mark.parametrize("name", IN_POSTGRES)
def test_what_postgresql_compares_in_a_way_of_its_own(name: str, tmp_path: Path, postgres: Any):
    columns, condition, row = IN_POSTGRES[name]
    nocase = "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    check(opened(postgres.new_database(), tmp_path / "state", columns, nocase), condition, row)


def test_what_is_only_shown_does_not_matter(tmp_path: Path):
    sketches = opened(f"duckdb:///{tmp_path}/t.db", tmp_path / "state", "k REAL, x INTEGER")
    with sketches:
        sketches.ask("SELECT k FROM t WHERE x > 38", way="capture")
        sketches.update("t", insert=[(0.5, 50)])
        found = sketches.ask("SELECT k FROM t WHERE x > 38", way="maintain").rows.to_pylist()
        assert found == [{"k": None}, {"k": 0.5}]


def test_strings_with_a_collation_have_no_ranges(tmp_path: Path):
    sketches = opened(f"duckdb:///{tmp_path}/t.db", tmp_path / "state", IN_DUCKDB["case is disregarded"][0])
    with sketches, pytest.raises(SketchError, match="unordered-attribute"):
        sketches.table("t", partition="k")
        sketches.ask("SELECT k FROM t WHERE x > 3", way="capture")
