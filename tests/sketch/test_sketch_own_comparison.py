"""Columns whose values only the database can compare: answers stay right, sketches of them are captured anew."""

from __future__ import annotations

import random
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
    "patterns see the blanks of padded strings": (
        "k CHAR(10), x INTEGER",
        "k LIKE 'BUILDING%'",
        ("BUILDING", 45),
    ),
    "padded strings have an order of their own": ("k CHAR(10), x INTEGER", "k > 'BUILD'", ("BUILDING", 45)),
    "padded strings with a collation": ("k CHAR(3) COLLATE nocase, x INTEGER", "k = 'q'", ("Q", 45)),
    "a single letter with a collation": ("k VARCHAR(1) COLLATE nocase, x INTEGER", "k = 'q'", ("Q", 45)),
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


PADDED = (
    "SELECT x FROM t WHERE k = 'ab'",
    "SELECT x FROM t WHERE k = 'ab  ' OR k IN ('c ', 'd')",
    "SELECT x FROM t WHERE k <> 'ab' AND o = ''",
    "SELECT x FROM t WHERE k = 'much longer than that'",
    "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > 3",
    "SELECT v, count(DISTINCT k) AS n FROM t GROUP BY v HAVING count(DISTINCT k) > 2",
    "SELECT o, max(x) AS m FROM t GROUP BY o, k HAVING max(x) > 25",
    "SELECT x, count(k) AS n FROM t WHERE k <> 'c' GROUP BY x ORDER BY n DESC, x LIMIT 2",
    "SELECT t.x FROM t, s WHERE t.k = s.k",
    "SELECT t.x FROM t, s WHERE t.v = s.k AND t.k <> s.k",
    "SELECT x FROM t WHERE k IN (SELECT k FROM s) AND k IS NOT NULL",
    "SELECT x FROM (SELECT k, x FROM t UNION ALL SELECT k, y AS x FROM s) AS u WHERE k = 'ab'",
)
"""Of strings with a fixed length, whose blanks at the end count for nothing."""


def test_padded_strings_that_are_compared_for_equality_are_followed(tmp_path: Path, postgres: Any):
    source = random.Random(5)
    words = ("ab", "ab ", "c", "", " ", "abc", None)
    sketches = hw.sketches(postgres.new_database(), tmp_path / "state")
    with sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE t (k CHAR(4), o CHAR(1), v TEXT, x BIGINT)")
            connection.exec_driver_sql("CREATE TABLE s (k CHAR(6), y BIGINT)")

        def row(table: str) -> tuple[Any, ...]:
            number = source.randint(0, 40)
            if table == "s":
                return source.choice(words), number
            return source.choice(words), source.choice(("", "a", " ", None)), source.choice(words), number

        there: dict[str, list[tuple[Any, ...]]] = {"t": [], "s": []}
        for table, partition in (("t", "x"), ("s", "y")):
            sketches.table(table, partition=partition, ranges=6)
        for version in range(7):
            for table, rows in there.items():
                come = [row(table) for _ in range(12 if version == 0 else 3)]
                gone = [rows.pop(source.randrange(len(rows))) for _ in range(2)] if version else []
                sketches.update(table, insert=come, delete=gone or None)
                rows += come
            for text in PADDED:
                asked = sketches.ask(text, way="maintain" if version else "capture")
                plain = sketches.ask(text, way="plain").rows.to_pylist()
                assert sorted(map(str, asked.rows.to_pylist())) == sorted(map(str, plain)), (version, text)
        assert {len(kept.sketches) for kept in sketches.list()} == {7}


def test_rows_with_padded_strings_go_as_they_are_shown(tmp_path: Path, postgres: Any):
    sketches = opened(postgres.new_database(), tmp_path / "state", "k CHAR(10), x INTEGER")
    with sketches:
        sketches.update("t", insert=[("a", 50)])
        shown = sketches.ask("SELECT k, x FROM t WHERE x = 50").rows.to_pylist()
        assert shown == [{"k": "a", "x": 50}]
        sketches.update("t", delete=[tuple(each.values()) for each in shown])
        assert sketches.ask("SELECT k, x FROM t WHERE x = 50").rows.num_rows == 0


def test_what_is_only_counted_does_not_matter(tmp_path: Path):
    sketches = opened(f"duckdb:///{tmp_path}/t.db", tmp_path / "state", "k REAL, x INTEGER")
    text = "SELECT x, count(k) AS n FROM t WHERE k IS NOT NULL GROUP BY x HAVING count(k) > 0"
    with sketches:
        assert sketches.ask(text, way="capture").rows.num_rows == 0
        sketches.update("t", insert=[(0.1, 45)])
        assert sketches.ask(text, way="maintain").rows.to_pylist() == [{"x": 45, "n": 1}]


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
