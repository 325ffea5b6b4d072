"""Every type of Spark goes in, becomes what docs/types.md says, and comes back."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from headwater.spark.frames import arrow_of
from headwater.values.codec import infer_types
from tests.values.type_cells import REFUSED, SPARK

pytestmark = pytest.mark.xdist_group("spark")
TAKEN = [cell for cell in SPARK if cell.ours != REFUSED]
UNHELD = [cell for cell in SPARK if cell.ours == REFUSED]


def database() -> hw.Database:
    db = hw.connect()
    columns = [f"c{number}: {cell.ours}?" for number, cell in enumerate(TAKEN) if cell.ours != "_"]
    db.define(f"r(n: int, {', '.join(columns)}).")
    return db


def test_every_type_of_spark_comes_back(spark: Any) -> None:
    """All types in one row, and a row of nulls: a job of Spark for all, not one for each."""
    spark.conf.set("spark.sql.timeType.enabled", "true")
    cells = [(number, cell) for number, cell in enumerate(TAKEN) if cell.ours != "_"]
    given = ", ".join(f"{cell.make()} AS c{number}" for number, cell in cells)
    frame = spark.sql(f"SELECT 1 AS n, {given} UNION ALL SELECT 2, {', '.join('NULL' for _ in cells)}")
    for number, cell in cells:
        assert frame.schema[f"c{number}"].dataType.simpleString() == cell.written
    types = dict(zip(frame.columns, infer_types(arrow_of(frame))[0], strict=True))
    assert {f"c{number}": str(types[f"c{number}"]) for number, _ in cells} == {
        f"c{number}": cell.ours for number, cell in cells
    }
    rows = [(1, *(cell.values[0] for _, cell in cells)), (2, *(None for _ in cells))]
    db = database()
    db.apply(insert={"r": frame})
    assert sorted(db["r"].rows(), key=lambda row: row[0]) == rows
    back = db["r"].spark()
    for number, cell in cells:
        assert back.schema[f"c{number}"].dataType.simpleString() == cell.back
    other = database()
    other.apply(insert={"r": back})
    assert sorted(other["r"].rows(), key=lambda row: row[0]) == rows
    asked = db["r"].where(n=1).spark()
    assert asked.dtypes == back.dtypes
    third = database()
    third.apply(insert={"r": asked})
    assert third["r"].rows() == rows[:1]


def test_answers_of_a_question_with_the_texts_of_labelled_nulls(spark: Any) -> None:
    db = hw.connect(spark=spark)
    db.define("e(1). e(2). q(X, ?f(X)) :- e(X), X > 1. q(X, X) :- e(X), X < 2.")
    frame = db.query("q(X, Y)").spark(labels=True)
    assert frame.sparkSession is spark
    assert {tuple(row) for row in frame.select("X", "Y", "`Y?`").collect()} == {
        (1, 1, None),
        (2, None, "?f(2)"),
    }


def test_a_column_of_nothing(spark: Any) -> None:
    db = hw.connect()
    db.define("r(n: int, x: int?).")
    db.apply(insert={"r": spark.sql("SELECT 1 AS n, NULL AS x")})
    assert db["r"].rows() == [(1, None)]


@pytest.mark.parametrize("cell", UNHELD, ids=[cell.written for cell in UNHELD])
def test_what_no_column_holds(spark: Any, cell: Any) -> None:
    frame = spark.sql(f"SELECT {cell.make()} AS x")
    assert frame.schema["x"].dataType.simpleString() == cell.written
    with pytest.raises(hw.HeadwaterError) as caught:
        hw.connect().apply(insert={"r": frame})
    assert caught.value.code == "unsupported-type" and caught.value.hint == cell.also


def test_times_of_day_need_a_session_that_has_them(spark: Any) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "false")
    db = hw.connect(spark=spark)
    db.define('p(time("10:30:00")).')
    try:
        with pytest.raises(hw.HeadwaterError) as caught:
            db["p"].spark().count()
    finally:
        spark.conf.set("spark.sql.timeType.enabled", "true")
    assert caught.value.code == "unsupported-type" and "timeType" in caught.value.hint


def test_times_with_nanoseconds_are_not_cut(spark: Any) -> None:
    db = hw.connect(spark=spark)
    db.define('p(timestamp_ntz("2024-01-31T10:00:00.123456789")).')
    with pytest.raises(hw.HeadwaterError) as caught:
        db["p"].spark()
    assert caught.value.code == "unsupported-type"
