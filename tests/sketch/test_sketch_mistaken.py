"""Whose sketch a query may take: facts that broke unseen, names that are alike, calls that come too late."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headwater as hw
from headwater.errors import HeadwaterError, SketchError, SqlError
from headwater.sketch.kept import KeptTable
from headwater.sketch.tables.opening import open_spark_table
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
        (lambda sketches: sketches.update("t", insert=[(1, 2.7, 1)]), "wrong-type"),
        (lambda sketches: sketches.update("t", delete=[(1, 10.5, 1)]), "wrong-type"),
        (lambda sketches: sketches.ask("SELECT sum(*) AS z FROM t"), "unsupported-sql"),
        (lambda sketches: sketches.ask("SELECT count(DISTINCT *) AS z FROM t"), "unsupported-sql"),
        (lambda sketches: sketches.ask("SELECT"), "wrong-columns"),
        (lambda sketches: sketches.explain(None), "sql-syntax"),
        (lambda sketches: sketches.ask(["SELECT 1"]), "sql-syntax"),
        (lambda sketches: sketches.ask("SELECT '\ud800' AS a FROM t"), "sql-syntax"),
        (lambda sketches: sketches.ask(LARGE, versions=["t"]), "wrong-type"),
        (lambda sketches: sketches.table(None), "wrong-type"),
        (lambda sketches: sketches.table("t", 1), "wrong-type"),
        (lambda sketches: sketches.table("t", None, b"delta"), "unknown-format"),
        (lambda sketches: sketches.table("t", partition=1), "wrong-type"),
        (lambda sketches: sketches.table("t", partition=[None]), "wrong-type"),
        (lambda sketches: sketches.table("t", ranges="4"), "wrong-type"),
        (lambda sketches: sketches.table("t", ranges=float("inf")), "wrong-type"),
        (lambda sketches: sketches.update(["t"], insert=[(1, 1, 1)]), "wrong-type"),
        (lambda sketches: sketches.drop(b"a"), "wrong-type"),
        (lambda sketches: sketches.maintain(7), "wrong-type"),
    ],
)
def test_what_is_no_row_and_no_query_is_refused(tmp_path: Path, call: Callable[[Any], Any], code: str):
    with opened(tmp_path) as sketches, pytest.raises(HeadwaterError) as raised:
        call(sketches)
    assert raised.value.code == code


def test_rows_of_text_that_is_none_are_refused(tmp_path: Path):
    with opened(tmp_path) as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE s (v varchar)")
        sketches.table("s")
        with pytest.raises(HeadwaterError) as raised:
            sketches.update("s", insert=[("\ud800",)])
        assert raised.value.code == "wrong-type"


def test_a_table_that_was_gone_is_said_and_found_again(tmp_path: Path):
    opened(tmp_path).close()
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("ALTER TABLE d RENAME TO away")
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        for call in (sketches.ask, sketches.explain, sketches.advise):
            with pytest.raises(SqlError) as raised:
                call("SELECT n FROM d")
            assert (raised.value.code, raised.value.hint) == (
                "unknown-table",
                "named, but not where it was, or a partition now: d",
            )
        with pytest.raises(SqlError) as raised:
            sketches.ask("SELECT n FROM nosuch")
        assert "named" not in (raised.value.hint or "")
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE away RENAME TO d")
        assert sketches.ask("SELECT n FROM d").rows.num_rows


def test_a_table_that_was_gone_is_changed_when_it_is_there_again(tmp_path: Path):
    opened(tmp_path).close()
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("ALTER TABLE d RENAME TO away")
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        for table, said in (("d", "d is not where it was"), ("e", "no table e was named")):
            with pytest.raises(SketchError, match=said) as raised:
                sketches.update(table, delete=[(1, 1)])
            assert raised.value.code == "unknown-table"
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE away RENAME TO d")
        sketches.update("d", delete=[(1, 1)])
        assert sketches.ask("SELECT n FROM d").rows.to_pylist() == [{"n": 2}]


def test_a_table_that_is_dropped_is_said_and_stops_no_others(tmp_path: Path):
    with opened(tmp_path) as sketches:
        sketches.ask("SELECT n FROM d WHERE n > 1", way="capture")
        sketches.ask("SELECT g FROM t WHERE x > 1", way="capture")
        sketches.update("t", insert=[(7, 7, 7)])
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE d")
        for call in (sketches.ask, sketches.explain):
            with pytest.raises(SketchError, match="there is no table d any more") as raised:
                call("SELECT n FROM d WHERE n > 1")
            assert raised.value.code == "unknown-table"
        assert sorted(each.way for each in sketches.maintain().values()) == ["maintain", "plain"]
        assert groups(sketches, "SELECT g FROM t WHERE x > 1", way="use") == [1, 2, 7]


def test_a_change_is_no_error_where_another_table_of_a_query_is_gone(tmp_path: Path):
    with opened(tmp_path, eager=1) as sketches:
        sketches.ask("SELECT t.g FROM t JOIN d ON t.g = d.g WHERE t.x > 1", way="capture")
        sketches.maintain()
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE d")
        sketches.update("t", insert=[(7, 7, 7)])
        assert sketches.ask("SELECT g FROM t WHERE x = 7").rows.num_rows == 1


@pytest.mark.parametrize("backend", [None, 5, b"duckdb:///t.db", Path("t.db")])
def test_a_backend_is_a_session_or_an_address(tmp_path: Path, backend: Any):
    with pytest.raises(HeadwaterError) as raised:
        hw.sketches(backend, tmp_path / "state")
    assert raised.value.code == "wrong-type"
    assert not (tmp_path / "state").exists()


def test_a_folder_that_is_taken_tells_of_no_readers(tmp_path: Path):
    with opened(tmp_path), pytest.raises(HeadwaterError) as raised:
        opened(tmp_path)
    assert raised.value.code == "locked"
    assert "mode='r'" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"backend": None}, "wrong-type"),
        ({"path": None}, "wrong-type"),
        ({"path": ""}, "wrong-type"),
        ({"eager": None}, "wrong-type"),
        ({"memory": "1 GB"}, "wrong-type"),
        ({"shrink": "no"}, "wrong-type"),
        ({"progress": 1}, "wrong-type"),
        ({"patience": "long"}, "bad-patience"),
    ],
)
def test_options_of_other_types_are_refused(tmp_path: Path, options: dict[str, Any], code: str):
    with pytest.raises(HeadwaterError) as raised:
        hw.sketches(**{"backend": f"duckdb:///{tmp_path}/t.db", "path": tmp_path / "state", **options})
    assert raised.value.code == code
    assert not (tmp_path / "state").exists()


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
        done = {texts[name]: decision.way for name, decision in sketches.maintain().items()}
        assert done == {LARGE: "maintain"}


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
    assert (raised.value.code, sketches.list()) == ("damaged-state", ())
    assert raised.value.hint == "remove that file, and name the tables again: sketches.table(...)"


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


@pytest.mark.parametrize("cell", [Decimal("1.5"), np.float32(1.5), float("nan"), Decimal("NaN"), 1e30])
def test_numbers_that_are_not_whole_are_no_integers(tmp_path: Path, cell: object):
    with opened(tmp_path) as sketches:
        sketches.update("d", insert=[(np.float64(7), Decimal(7))])
        for row in ((cell, 0), (0, cell)):
            with pytest.raises(HeadwaterError, match="wrong-type"):
                sketches.update("d", insert=[row])
        answer = sketches.ask("SELECT n FROM d WHERE n = g AND g = 7").rows
        assert answer.to_pylist() == [{"n": 7}]


NO_DATES = [
    *(5, 1.5, True, Decimal(5), np.int64(5), np.float32(5), pd.NaT),
    *(np.datetime64("2024-01-01"), datetime.datetime(2024, 1, 1, 5)),
]


@pytest.mark.parametrize("cell", NO_DATES, ids=repr)
def test_numbers_and_times_are_no_dates(tmp_path: Path, cell: object):
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t (d DATE)")
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state", patience=10**400) as sketches:
        sketches.table("t")
        with pytest.raises(HeadwaterError, match="wrong-type"):
            sketches.update("t", insert=[(cell,)])


NO_COLUMNS_OF_DATES = {
    "times": pa.table({"d": pa.array([datetime.datetime(2024, 1, 1, 5)], pa.timestamp("us"))}),
    "numbers": pa.table({"d": pa.array([5], pa.int32())}),
    "times of pandas": pd.DataFrame({"d": [datetime.datetime(2024, 1, 1, 5)]}),
    "anything": pd.DataFrame({"d": [datetime.date(2024, 1, 1), "a"]}),
}


@pytest.mark.parametrize("rows", NO_COLUMNS_OF_DATES.values(), ids=NO_COLUMNS_OF_DATES)
def test_columns_of_numbers_and_times_are_no_dates(tmp_path: Path, rows: Any):
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t (d DATE)")
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        sketches.table("t")
        with pytest.raises(HeadwaterError, match="wrong-type"):
            sketches.update("t", insert=rows)
        midnight = pd.DataFrame({"d": [datetime.datetime(2024, 1, 1)]})
        sketches.update("t", insert=midnight)
        assert sketches.ask("SELECT d FROM t").rows.to_pylist() == [{"d": datetime.date(2024, 1, 1)}]


def test_times_are_refused_of_which_the_end_would_be_cut_off(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t (d TIMESTAMP)")
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        sketches.table("t")
        with pytest.raises(HeadwaterError, match="wrong-type"):
            sketches.update("t", insert=[(pd.Timestamp("2024-01-01 05:00:00.000001001"),)])
        sketches.update("t", insert=[(pd.Timestamp("2024-01-01 05:00:00.000001"),), (None,)])
        found = sketches.ask("SELECT d FROM t WHERE d IS NOT NULL").rows.to_pylist()
        assert found == [{"d": datetime.datetime(2024, 1, 1, 5, 0, 0, 1)}]


def test_a_query_with_one_other_digit_is_damage(tmp_path: Path):
    with opened(tmp_path) as sketches:
        sketches.ask(LARGE, way="capture")
        (kept,) = sketches.list()
    for file in (tmp_path / "state" / "queries" / f"{kept.name}.json", tmp_path / "state" / "tables.json"):
        said = file.read_text()
        file.write_text(said.replace('"format": 1', '"format": 0'))
        with pytest.raises(SketchError) as raised:
            hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state")
        assert raised.value.code == "damaged-state" and "checksum" in raised.value.message
        file.write_text(said)
    hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state").close()


def test_parameters_without_values_are_refused(tmp_path: Path):
    with opened(tmp_path) as sketches, pytest.raises(SketchError) as raised:
        sketches.ask("SELECT n FROM d WHERE g > :least")
    assert raised.value.code == "unbound-parameter" and "least" in raised.value.message


def test_a_delta_table_is_no_directory_of_parquet_files(tmp_path: Path):
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    table = KeptTable("t", str(tmp_path / "t"), "parquet")
    with pytest.raises(SketchError, match="unknown-format"):
        open_spark_table(None, table, tmp_path / "record")  # type: ignore[arg-type]
