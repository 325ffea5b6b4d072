"""Rows that are hard to find again in a sink: NaN, and columns with the names that changes have themselves."""

from __future__ import annotations

import datetime
import decimal
import math
import sqlite3

import deltalake
import pytest

import headwater as hw
from headwater.errors import DataError, PipelineError
from headwater.pipeline import DeltaSink, FeedFolder, RowsFolder, SqlSink
from headwater.pipeline.settings import parse_settings
from headwater.pipeline.sink import Publication

UTC = datetime.timezone.utc

PROGRAM = """
.decl m(k: symbol, x: float)
v(K, X) :- m(K, X).
"""
ROWS = [("a", math.nan), ("b", 1.5), ("c", math.inf), ("d", -0.0)]


def publish(db, sink):
    """What a pipeline does after a version, without a session, which these sinks do not need."""
    identity = db.subscribe(sink.name, sink.view, rows=sink.rows).identity
    owed = db.owed(sink.name)
    sink.publish(owed, Publication(db, None, sink.view, identity))
    db.acknowledge(sink.name, owed[-1].version)


def test_rows_with_nan_are_deleted_from_a_database(tmp_path):
    db = hw.connect()
    db.define(PROGRAM)
    sink = SqlSink("v", f"sqlite:///{tmp_path}/out.db", "v")
    db.apply(insert={"m": ROWS})
    publish(db, sink)
    with sqlite3.connect(tmp_path / "out.db") as connection:
        assert len(connection.execute("SELECT * FROM v").fetchall()) == 4
        db.apply(delete={"m": ROWS[:1]}, insert={"m": [("b", math.nan)]})
        publish(db, sink)
        assert set(connection.execute("SELECT k, x FROM v").fetchall()) == {
            ("b", None), ("b", 1.5), ("c", math.inf), ("d", 0.0)
        }  # fmt: skip
        db.apply(delete={"m": [*ROWS, ("b", math.nan)]})
        publish(db, sink)
        assert connection.execute("SELECT * FROM v").fetchall() == []


NULLABLE = """
m(k: int, i: int?, s: string?, d: decimal(20,2)?, b: binary?, y: bool?, t: date?, u: timestamp?, n: timestamp_ntz?).
v(K, I, S, D, B, Y, T, U, N) :- m(K, I, S, D, B, Y, T, U, N).
"""
MOMENT = datetime.datetime(2024, 1, 31, 10, 30, 0, 7)
FULL = (
    7,
    "x",
    decimal.Decimal("123456789012345678.25"),
    b"\x00\xff",
    True,
    MOMENT.date(),
    MOMENT.astimezone(UTC),
    MOMENT,
)
WITH_NULLS = [
    (1, *FULL),
    (2, *(None for _ in FULL)),
    (3, None, *FULL[1:]),
    (4, *FULL[:1], *(None for _ in FULL[1:])),
]


def moment(value):
    """As SQLite has times: texts, without a zone."""
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    return value and str(value)


def test_rows_with_nulls_of_any_type_are_deleted_from_a_database(tmp_path):
    from sqlalchemy import create_engine, text

    db = hw.connect()
    db.define(NULLABLE)
    url = f"sqlite:///{tmp_path}/out.db"
    sink = SqlSink("v", url, "v")
    db.apply(insert={"m": WITH_NULLS})
    publish(db, sink)
    with create_engine(url).connect() as connection:
        found = connection.execute(text("SELECT * FROM v ORDER BY K")).fetchall()
        written = [
            (k, i, s, d and str(d), b, y, *map(moment, moments)) for k, i, s, d, b, y, *moments in WITH_NULLS
        ]
        assert [tuple(row) for row in found] == written
    db.apply(delete={"m": WITH_NULLS[1:]})
    publish(db, sink)
    with create_engine(url).connect() as connection:
        assert connection.execute(text("SELECT K FROM v")).fetchall() == [(1,)]


def test_rows_with_nulls_of_any_type_are_deleted_from_a_delta_table(tmp_path):
    db = hw.connect()
    db.define(NULLABLE)
    sink = DeltaSink("v", str(tmp_path / "delta"))
    db.apply(insert={"m": WITH_NULLS})
    publish(db, sink)
    db.apply(delete={"m": WITH_NULLS[1:3]})
    publish(db, sink)
    db.apply(insert={"m": WITH_NULLS[1:2]})
    publish(db, sink)
    found = deltalake.DeltaTable(str(tmp_path / "delta")).to_pyarrow_table().to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [WITH_NULLS[0], WITH_NULLS[1], WITH_NULLS[3]]


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [("postgresql", "v.x IS NOT DISTINCT FROM"), ("sqlite", "v.x IS ?"), ("mysql", "v.x <=> ")],
)
def test_only_floats_and_nullable_columns_are_compared_so_that_nulls_match(dialect, expected):
    """An index on the other columns still serves, since `=` is what indexes are made for."""
    import importlib

    from sqlalchemy import BigInteger, Column, Float, MetaData, Table

    from headwater.foreign.rows import same_row

    table = Table(
        "v", MetaData(), Column("k", BigInteger()), Column("n", BigInteger()), Column("x", Float(53))
    )
    made = importlib.import_module(f"sqlalchemy.dialects.{dialect}").dialect()
    text = str(table.delete().where(same_row(table, {"n"})).compile(dialect=made))
    assert expected in text and expected.replace("v.x", "v.n") in text and "v.k = " in text


def test_rows_with_nan_are_deleted_from_a_delta_table(tmp_path):
    db = hw.connect()
    db.define(PROGRAM)
    sink = DeltaSink("v", str(tmp_path / "delta"))
    db.apply(insert={"m": ROWS})
    publish(db, sink)
    db.apply(delete={"m": ROWS[:1]}, insert={"m": [("b", math.nan)]})
    publish(db, sink)
    found = deltalake.DeltaTable(str(tmp_path / "delta")).to_pyarrow_table().to_pylist()
    assert sorted((row["K"], str(row["X"])) for row in found) == [
        ("b", "1.5"), ("b", "nan"), ("c", "inf"), ("d", "0.0")
    ]  # fmt: skip


def test_rows_with_nan_that_come_and_go_are_netted(tmp_path):
    db = hw.connect()
    db.define(PROGRAM)
    sink = SqlSink("v", f"sqlite:///{tmp_path}/out.db", "v")
    db.subscribe(sink.name, "v")
    db.apply(insert={"m": ROWS})
    db.apply(delete={"m": ROWS})
    db.apply(insert={"m": ROWS[:1]})
    publish(db, sink)
    with sqlite3.connect(tmp_path / "out.db") as connection:
        assert connection.execute("SELECT * FROM v").fetchall() == [("a", None)]


@pytest.mark.parametrize("column", ["_change_type", "_commit_version", "_commit_timestamp", "_Change_Type"])
def test_columns_that_changes_have_themselves_are_refused_before_anything_is_published(tmp_path, column):
    db = hw.connect()
    db.define(
        f".decl m(k: symbol, {column}: symbol)\n.decl v(k: symbol, {column}: symbol)\nv(K, X) :- m(K, X)."
    )
    version = db.version
    for sink in (
        SqlSink("v", f"sqlite:///{tmp_path}/out.db", "v"),
        FeedFolder("v", str(tmp_path / "feed")),
        DeltaSink("v", str(tmp_path / "delta")),
    ):
        with pytest.raises(PipelineError, match=column) as caught:
            db.pipeline([], [sink]).run()
        assert caught.value.code == "reserved-column"
    assert db.version == version and list(tmp_path.iterdir()) == []
    db.apply(insert={"m": [("a", "b")]})
    publish(db, RowsFolder("v", str(tmp_path / "rows")))


def test_a_change_with_a_column_of_that_name_is_no_table():
    db = hw.connect()
    db.define(".decl m(k: symbol, _change_type: symbol)")
    changes = db.apply(insert={"m": [("a", "b")]})
    assert changes["m"].inserted == [("a", "b")]
    with pytest.raises(DataError, match="_change_type") as caught:
        changes["m"].arrow()
    assert caught.value.code == "reserved-column"
    with pytest.raises(DataError, match="_change_type"):
        db.subscribe("someone", "m")
    assert db.version == 2


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"[" * 50_000, b"\xff", b'{"identity": 1, "schema": 2, "version": "x"}']
)
def test_what_a_folder_says_of_itself_is_not_believed_blindly(tmp_path, text):
    db = hw.connect()
    db.define(PROGRAM)
    sink = FeedFolder("v", str(tmp_path / "feed"))
    db.apply(insert={"m": ROWS})
    publish(db, sink)
    (tmp_path / "feed" / "_headwater.json").write_bytes(text)
    db.apply(delete={"m": ROWS[:1]})
    with pytest.raises(PipelineError, match="is not what a sink wrote") as caught:
        publish(db, sink)
    assert caught.value.code == "unreadable" and len(db.owed(sink.name)) == 1


def test_settings_nested_without_end(tmp_path):
    with pytest.raises(PipelineError, match="nested too deeply"):
        parse_settings("a = " + "[" * 5000, tmp_path / "pipeline.toml")
