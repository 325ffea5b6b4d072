"""Snapshots: after each run a relation holds what its source holds, and views and feeds follow."""

from __future__ import annotations

import datetime
import json
import random
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pipeline_support import PROGRAM, edited, folded, random_links, reach, stored, write_csv

import headwater as hw
from headwater import FrozenMap, Months, Struct
from headwater.pipeline import FeedFolder, Files, RowsFolder, Snapshot, Table
from headwater.pipeline.file_source import fingerprint, settled

pytestmark = pytest.mark.xdist_group("spark")


def write(format: str, folder, links) -> None:
    rows = sorted(links)
    if format == "csv":
        write_csv(folder / "part.csv", rows)
    elif format == "json":
        folder.mkdir(exist_ok=True)
        lines = [json.dumps({"cost": cost, "src": src, "dst": dst}) for src, dst, cost in rows]
        (folder / "part.json").write_text("\n".join(lines) + "\n")
    else:
        folder.mkdir(exist_ok=True)
        columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
        schema = pa.schema([("src", pa.string()), ("dst", pa.string()), ("cost", pa.int32())])
        pq.write_table(pa.table([list(column) for column in columns], schema=schema), folder / "part.parquet")


@pytest.mark.parametrize("format", ["csv", "parquet", "json"])
def test_random_edits_of_files_are_followed(spark, tmp_path, format):
    rng = random.Random(format)
    db = hw.connect(tmp_path / "state", spark=spark)
    db.define(PROGRAM)
    pipeline = db.pipeline(
        [Files("link", str(tmp_path / "in"), format)],
        [FeedFolder("reach", str(tmp_path / "feed")), RowsFolder("reach", str(tmp_path / "rows"))],
    )
    links = random_links(rng, 12)
    for _ in range(5):
        write(format, tmp_path / "in", links)
        if not links and format == "json":  # a JSON file without lines has no columns
            links = random_links(rng, 3)
            write(format, tmp_path / "in", links)
        pipeline.run()
        assert set(db["link"].rows()) == links
        expected = reach(links)
        assert set(db["reach"].rows()) == expected
        assert folded(tmp_path / "feed") == expected
        assert stored(tmp_path / "rows") == expected
        links = edited(rng, links)


def test_files_that_did_not_change_are_not_read_and_make_no_version(spark, tmp_path):
    write_csv(tmp_path / "in" / "a.csv", [("a", "b", 1)])
    db = hw.connect(tmp_path / "state", spark=spark)
    db.define(PROGRAM)
    source = Files("link", str(tmp_path / "in"), "csv")
    assert db.pipeline([source]).run().read == 1
    version = db.version
    db.close()
    with hw.connect(tmp_path / "state", spark=spark) as db:
        assert db.pipeline([source]).run().read == 0
        write_csv(tmp_path / "in" / "b.csv", [("b", "c", 2)])
        done = db.pipeline([source]).run()
        assert (done.read, done.changes, db.version) == (2, 1, version + 1)
        assert done.notes == (f"csv:{tmp_path}/in was read whole, to compare it with the 1 rows of link",)


def test_a_file_of_this_moment_is_looked_at_until_no_write_can_go_unnoticed(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("1")
    before = settled(str(file))
    file.write_text("2")
    assert before is not None
    assert settled(str(file)) != before
    assert fingerprint("s3://somewhere/a.csv") is None
    (tmp_path / "_SUCCESS").touch()
    assert [name for name, *_ in fingerprint(str(tmp_path))] == ["a.csv"]


def test_columns_and_filters_are_spark_sql_and_are_pushed_down(spark, tmp_path):
    columns = {
        "a": ["x", "y", "z"],
        "b": ["Y", "Z", "W"],
        "price": [1.0, 2.0, 3.0],
        "up": [True, True, False],
    }
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    source = Files(
        "link",
        str(tmp_path / "in.parquet"),
        "parquet",
        columns={"src": "a", "dst": "lower(b)", "cost": "cast(price AS bigint)"},
        where="up AND price < 3",
    )
    db.pipeline([source]).run()
    assert set(db["link"].rows()) == {("x", "y", 1), ("y", "z", 2)}

    from headwater.pipeline.projection import Projection

    frame = spark.read.parquet(str(tmp_path / "in.parquet")).drop("b").withColumnRenamed("a", "src")
    info = hw.connect()
    info.define("one(src: string).")
    plan = Projection({}, "price < 3").apply(frame, info.info("one"), "x")
    text = plan._jdf.queryExecution().executedPlan().toString()
    assert "LessThan(price,3.0)" in text and "up" not in text.split("ReadSchema")[1]


def test_a_dataframe_and_a_table_of_the_catalog_are_sources(spark, tmp_path):
    db = hw.connect(spark=spark)
    db.define("p(x: int, y: string). q(x: int). r(X, Y) :- p(X, Y), q(X).")
    spark.createDataFrame([(1,), (2,)], "x bigint").write.mode("overwrite").saveAsTable("numbers")
    rows = [(1, "a"), (3, "c")]
    pipeline = db.pipeline(
        [
            Snapshot("p", lambda session: session.createDataFrame(rows, "x int, y string")),
            Table("q", "numbers"),
        ]
    )
    pipeline.run()
    assert db["r"].rows() == [(1, "a")]
    rows.append((2, "b"))
    spark.createDataFrame([(2,), (3,)], "x bigint").write.mode("overwrite").saveAsTable("numbers")
    pipeline.run()
    assert set(db["r"].rows()) == {(2, "b"), (3, "c")}
    spark.sql("DROP TABLE numbers")


UTC = datetime.timezone.utc
ALL_TYPES = """all(i: int, f: float, s: string, b: bool, d: date, t: timestamp, n: timestamp_ntz, p: decimal(12,2),
    w: decimal(38,0)?, y: binary, v: interval, m: interval_months, l: list[int], r: {a: int, b: string}?,
    k: map[string, int])."""


def test_values_of_all_types_come_through_unchanged(spark):
    db = hw.connect(spark=spark)
    db.define(ALL_TYPES)
    clock = datetime.datetime(2024, 11, 3, 5, 30, 1, 123456)  # where New York's hour comes twice
    moment, early = clock.replace(tzinfo=UTC), datetime.datetime(1900, 1, 1, tzinfo=UTC)
    day, hour, wide = datetime.date(9999, 12, 31), datetime.timedelta(hours=1), Decimal(10**37 + 1)
    more = (
        Decimal("12.50"),
        wide,
        b"\0\xff",
        hour,
        Months(14),
        (1, None),
        Struct({"a": 1, "b": None}),
        FrozenMap({"k": 1}),
    )
    less = (Decimal("-0.01"), None, b"", -hour, Months(-1), (), None, FrozenMap({}))
    rows = [
        (1, 0.5, "ä", True, datetime.date(1, 1, 1), moment, clock, *more),
        (-(2**63), float("nan"), "", False, day, early, early.replace(tzinfo=None), *less),
    ]
    db.apply(insert={"all": rows})
    frame = db["all"].spark()
    other = hw.connect(spark=spark)
    other.define(ALL_TYPES)
    for _ in range(2):
        other.pipeline([Snapshot("all", frame)]).run()
        assert list(map(repr, sorted(other["all"].rows()))) == list(map(repr, sorted(rows)))
    assert other.version == 2
    for written in ("TIMESTAMP'2024-11-03 05:30:01.123456Z'", "TIMESTAMP_NTZ'2024-11-03 05:30:01.123456'"):
        instants = frame.selectExpr("* EXCEPT (t)", f"{written} AS t")
        other.pipeline([Snapshot("all", instants.where("i = 1"))]).run()
        assert other["all"].rows() == rows[:1]


def test_rows_of_a_dataframe_can_be_applied_as_they_are(spark):
    db = hw.connect()
    db.define(PROGRAM)
    frame = spark.createDataFrame([(1, "a", "b")], "cost int, src string, dst string")
    db.apply(insert={"link": frame})
    assert db["link"].rows() == [("a", "b", 1)]
