"""Whose sketch a query may take: facts that broke unseen, names that are alike, calls that come too late."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headwater as hw
from headwater.errors import HeadwaterError, SketchError
from headwater.sketch.tables.parquet_table import ParquetTable

LARGE = "SELECT g FROM t GROUP BY g HAVING sum(v) > 9"
OUTER = "SELECT t.g FROM t LEFT JOIN d ON t.g = d.g GROUP BY t.g HAVING sum(t.v) > 9"
"""Safe while no `v` is negative, and not maintained."""
BREAKING = [(2, 10, 1), (2, -100, 9)]


def opened(folder: Path, **options: Any) -> Any:
    if not (folder / "t.db").exists():
        with duckdb.connect(str(folder / "t.db")) as connection:
            connection.execute(
                "CREATE TABLE t AS FROM (VALUES (1, 10, 1), (1, 1, 2), (2, 3, 2)) AS r(g, v, x)"
            )
            connection.execute("CREATE TABLE d AS FROM (VALUES (1, 1), (2, 2)) AS r(g, n)")
    sketches = hw.sketches(f"duckdb:///{folder}/t.db", folder / "state", **options)
    sketches.table("t", partition="x", ranges=8)
    sketches.table("d", partition="n", ranges=8)
    return sketches


def groups(sketches: Any, text: str, **options: Any) -> list[int]:
    return sorted(row["g"] for row in sketches.ask(text, **options).rows.to_pylist())


def test_a_query_that_is_not_maintained_is_captured_by_facts_of_now(tmp_path: Path):
    with opened(tmp_path) as sketches:
        assert groups(sketches, OUTER, way="capture") == [1]
        sketches.update("t", insert=BREAKING)
        assert groups(sketches, OUTER) == groups(sketches, OUTER) == [1]
        with pytest.raises(SketchError) as raised:
            sketches.ask(OUTER, way="use")
        assert raised.value.code == "not-safe"


def test_changes_that_nobody_saw_may_have_broken_facts(tmp_path: Path):
    with opened(tmp_path) as sketches:
        assert groups(sketches, LARGE, way="capture") == [1]
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", BREAKING)
    with opened(tmp_path) as sketches:
        assert groups(sketches, LARGE) == [1]
        assert sketches.list()[0].newest is None


def test_a_capture_looks_facts_up_again(tmp_path: Path):
    with opened(tmp_path) as sketches:
        sketches.ask(LARGE, way="capture")
        sketches.update("t", insert=BREAKING)
        with pytest.raises(SketchError) as raised:
            sketches.ask(LARGE, way="capture")
        assert raised.value.code == "not-safe"
        assert sketches.maintain()[sketches.list()[0].name].way == "plain"


def test_queries_that_differ_in_blanks_of_strings_are_others(tmp_path: Path):
    with opened(tmp_path) as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql(
                "CREATE TABLE s AS FROM (VALUES (1, 'a b', 1), (2, 'a  b', 5)) AS r(g, v, x)"
            )
        sketches.table("s", partition="x", ranges=8)
        assert groups(sketches, "SELECT g FROM s WHERE v = 'a b'", way="capture") == [1]
        assert groups(sketches, "SELECT g FROM s WHERE v = 'a  b'", way="capture") == [2]
        assert groups(sketches, "SELECT g FROM s -- all\nWHERE x > 2", way="capture") == [2]
        assert groups(sketches, "SELECT g FROM s -- all WHERE x > 2", way="capture") == [1, 2]
        assert len(sketches.list()) == 4


def test_strings_that_are_read_as_numbers_have_no_sign(tmp_path: Path):
    text = "SELECT g FROM s GROUP BY g HAVING sum(CAST(v AS INT)) > 6"
    with opened(tmp_path) as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql(
                "CREATE TABLE s AS FROM (VALUES (1, '10', 1, true), (1, '-5', 2, false), (2, '7', 2, true))"
                " AS r(g, v, x, b)"
            )
        sketches.table("s", partition="x", ranges=8)
        assert [groups(sketches, text) for _ in range(2)] == [[2], [2]]
        marked = "SELECT g FROM s GROUP BY g HAVING sum(CAST(b AS INT)) > 0"
        assert groups(sketches, marked, way="capture") == [1, 2]
        assert sketches.list()[-1].facts == frozenset()


def test_tables_of_which_only_the_number_of_rows_matters_are_followed(tmp_path: Path):
    text = "SELECT t.g FROM t CROSS JOIN (SELECT count(*) AS n FROM d) AS q WHERE n < 4 AND v > 5"
    with opened(tmp_path) as sketches:
        sketches.ask(text, way="capture"), sketches.ask(text, way="maintain")
        sketches.update("d", insert=[(3, 3)])
        sketches.update("d", insert=[(4, 4)])
        assert groups(sketches, text, way="maintain") == []
        sketches.update("d", insert=[(5, 5)], delete=[(3, 3), (4, 4)])
        assert groups(sketches, text, way="maintain") == [1]


def test_versions_of_tables_that_nobody_named_are_refused(tmp_path: Path):
    with opened(tmp_path) as sketches:
        for versions, code in (
            ({"s": 0}, "unknown-table"),
            ({"T": 7}, "no-such-version"),
            ({"t": "0"}, "no-such-version"),
            ({"t": -1}, "no-such-version"),
        ):
            with pytest.raises(SketchError) as raised:
                sketches.ask(LARGE, versions=versions)
            assert raised.value.code == code
        assert groups(sketches, LARGE, versions={"T": 0, "d": 0}) == [1]


@pytest.mark.parametrize(
    "call",
    [
        lambda sketches: sketches.ask(LARGE),
        lambda sketches: sketches.update("t", insert=[(1, 1, 1)]),
        lambda sketches: sketches.table("t"),
        lambda sketches: sketches.maintain(),
        lambda sketches: sketches.explain(LARGE),
    ],
)
def test_closed_sketches_leave_the_folder_to_others(tmp_path: Path, call: Callable[[Any], Any]):
    sketches = opened(tmp_path)
    sketches.close()
    sketches.close()
    with pytest.raises(SketchError) as raised:
        call(sketches)
    assert raised.value.code == "closed"


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda sketches: sketches.update("t", insert=[(2**70, 1, 1)]), "wrong-type"),
        (lambda sketches: sketches.ask("SELECT"), "wrong-columns"),
        (lambda sketches: sketches.explain(None), "sql-syntax"),
    ],
)
def test_what_is_no_row_and_no_query_is_refused(tmp_path: Path, call: Callable[[Any], Any], code: str):
    with opened(tmp_path) as sketches, pytest.raises(HeadwaterError) as raised:
        call(sketches)
    assert raised.value.code == code


def test_queries_of_columns_that_are_gone_do_not_stop_others(tmp_path: Path):
    with opened(tmp_path) as sketches:
        sketches.ask("SELECT n FROM d WHERE g > 1", way="capture")
        sketches.ask(LARGE, way="capture")
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("DROP TABLE d")
        connection.execute("CREATE TABLE d AS FROM (VALUES (1), (2)) AS r(m)")
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state", eager=1) as sketches:
        assert sketches.ask("SELECT m FROM d WHERE m > 1").rows.to_pylist() == [{"m": 2}]
        sketches.update("d", insert=[(3,)])
        texts = {kept.name: kept.text for kept in sketches.list()}
        done = {texts[name]: decision for name, decision in sketches.maintain().items()}
        assert done["SELECT n FROM d WHERE g > 1"].reason == "there is no column g"
        assert done[LARGE].way == "maintain"


@pytest.mark.parametrize(
    "wrong",
    [
        '{"format": 1}',
        '{"format": 1, "backend": 5, "tables": []}',
        '{"format": 1, "backend": null, "tables": [{"nosuch": 1}]}',
        '{"format": 1, "backend": null, "tables": [{"name": 5, "path": "t", "format": "delta"}]}',
        '{"format": 1, "backend": null, "tables": [{"name": "t", "path": "t", "format": "delta", "partition": 5}]}',
    ],
)
def test_tables_that_are_described_otherwise_are_damage(tmp_path: Path, wrong: str):
    with opened(tmp_path) as sketches:
        file = tmp_path / "state" / "tables.json"
    file.write_text(wrong)
    with pytest.raises(SketchError) as raised:
        hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state")
    assert raised.value.code == "damaged-state" and sketches.list() == ()


def test_a_query_that_is_no_text_is_damage(tmp_path: Path):
    with opened(tmp_path) as sketches:
        sketches.ask(LARGE)
        (kept,) = sketches.list()
    file = tmp_path / "state" / "queries" / f"{kept.name}.json"
    file.write_text(
        '{"format": 1, "text": 5, "sketches": [], "facts": [], "costs": {}, "asked": 0, "refused": ""}'
    )
    with pytest.raises(SketchError) as raised:
        hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state")
    assert raised.value.code == "damaged-state"


def test_a_parquet_directory_of_which_all_rows_are_gone_is_a_table(tmp_path: Path):
    (tmp_path / "t").mkdir()
    rows = pa.table({"g": pa.array([1, 2], pa.int32()), "v": [3, None]})
    pq.write_table(rows, tmp_path / "t" / "a.parquet")
    table = ParquetTable(tmp_path / "t", tmp_path / "record")
    first = table.update(rows, np.array([-1, -1]))
    assert table.schema() == rows.schema
    assert pq.read_table(tmp_path / "t").num_rows == 0
    assert table.update(rows, np.array([1, 2])) == first + 1
    assert pq.read_table(tmp_path / "t").num_rows == 3
