"""Tables on Spark: Parquet directories and Delta tables, their versions, and plans over them."""

from __future__ import annotations

import datetime
import json
import random
import shutil
from decimal import Decimal

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sketch_queries import bag, random_rows
from test_sketch_capture import check

import headwater as hw
from headwater.errors import SketchError
from headwater.language.sql.algebra import Scan
from headwater.language.sql.parser import parse
from headwater.language.sql.scalars import Attribute
from headwater.sketch.captured import captured
from headwater.sketch.ranges import Ranges, equi_depth
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.delta_table import DeltaFiles
from headwater.sketch.tables.parquet_table import ParquetTable
from headwater.sketch.tables.spark_backend import SparkBackend
from headwater.sketch.use import sketched_plan
from headwater.spark.frames import arrow_of

pytestmark = pytest.mark.xdist_group("spark")


def parquet(folder, rows: pa.Table, files: int = 3) -> None:
    folder.mkdir()
    size = max(1, -(-rows.num_rows // files))
    for number in range(files):
        pq.write_table(rows.slice(number * size, size), folder / f"part-{number}.parquet")


def test_answers_over_captured_sketches_are_plain_answers_on_spark(spark, tmp_path):
    rng = random.Random(5)
    r, s = random_rows(rng, 40)
    parquet(tmp_path / "r", r)
    deltalake.write_deltalake(str(tmp_path / "s"), s)
    backend = SparkBackend(spark)
    backend.table("r", ParquetTable(tmp_path / "r", tmp_path / "record"))
    backend.table("s", DeltaFiles(str(tmp_path / "s")))
    for _ in range(5):
        check(backend, rng, {"r": r, "s": s})


KINDS = {
    "int": pa.array([3, -7, None, 12, 2**60, 5], pa.int64()),
    "float": pa.array([1.5, float("nan"), None, -2.25, float("inf"), 0.0]),
    "string": pa.array(["b", "", None, "Ä", "字", "abc"]),
    "date": pa.array(
        [datetime.date(1969, 5, 1), None, *(datetime.date(2024, 1, day) for day in (1, 2, 3, 9))]
    ),
    "instant": pa.array(
        [datetime.datetime(2024, 3, 10, hour, 30) for hour in range(5)] + [None], pa.timestamp("us", "UTC")
    ),
    "ntz": pa.array(
        [datetime.datetime(2024, 3, 10, hour, 30) for hour in range(5)] + [None], pa.timestamp("us")
    ),
    "decimal": pa.array([1, -3, None, 7, 2, 5], pa.int64()).cast(pa.decimal128(22, 2)),
}


def test_spark_finds_the_fragments_that_ranges_have(spark, tmp_path):
    """Of every kind of attribute, in a zone with a gap in March."""
    rows = pa.table({"row": list(range(6)), **KINDS})
    parquet(tmp_path / "t", rows, files=1)
    backend = SparkBackend(spark)
    backend.table("t", ParquetTable(tmp_path / "t", tmp_path / "record"))
    for name, column in KINDS.items():
        ranges = equi_depth(name, column, 4)
        assert ranges.count > 3
        scan = Scan("t", "t", 0, (Attribute(0, "row"), Attribute(1, f"_fragment_{name}")))
        found = backend.run(scan, fragments={Slot("t", name): ranges}).sort_by("row")
        assert found.column(1).to_pylist() == ranges.fragments(column).tolist(), name


def test_a_parquet_directory_has_versions(spark, tmp_path):
    rows = pa.table({"x": [1, 2, 2, None], "y": ["a", "b", "b", None]})
    parquet(tmp_path / "t", rows, files=2)
    table = ParquetTable(tmp_path / "t", tmp_path / "record")
    backend = SparkBackend(spark)
    backend.table("t", table)
    assert backend.version("t") == 0
    come, go = pa.table({"x": [9], "y": ["z"]}), pa.table({"x": [2, None], "y": pa.array(["b", None])})
    assert backend.update("t", come, go) == 1
    plan = parse("SELECT x, y FROM t", backend.schemas()).plan
    assert bag(backend.run(plan)) == bag(pa.table({"x": [1, 2, 9], "y": ["a", "b", "z"]}))
    delta = backend.changes("t", 0, 1)
    found = dict(zip(delta.rows.column("x").to_pylist(), delta.signs.tolist(), strict=True))
    assert found == {9: 1, 2: -1, None: -1}
    pq.write_table(pa.table({"x": [7], "y": ["w"]}), tmp_path / "t" / "appended.parquet")
    assert backend.version("t") == 2
    assert backend.changes("t", 1, 2).rows.to_pylist() == [{"x": 7, "y": "w"}]
    assert backend.changes("t", 0, 2).size == 4
    (tmp_path / "t" / "appended.parquet").unlink()
    assert backend.version("t") == 3
    with pytest.raises(SketchError, match="no-changes"):
        backend.changes("t", 2, 3)
    with pytest.raises(SketchError, match="no-such-version"):
        backend.run(plan, versions={"t": 1})
    with pytest.raises(SketchError, match="row-not-there"):
        backend.update("t", None, pa.table({"x": [1, 1], "y": ["a", "a"]}))
    assert backend.version("t") == 3


def test_a_change_that_was_intended_is_carried_out(tmp_path):
    """As after a crash at any step between the intention and the record."""
    parquet(tmp_path / "t", pa.table({"x": [1, 2]}), files=2)
    table = ParquetTable(tmp_path / "t", tmp_path / "record")
    table.version()
    intention = table._prepared(1, pa.table({"x": [1, 5]}), np.array([-1, 1]), table._files())
    table._keep_rows(1, pa.table({"x": [1, 5]}), np.array([-1, 1]))
    said = {"version": 1, "names": intention.names, "gone": list(intention.gone)}
    table._intention_file().write_text(json.dumps(said))
    again = ParquetTable(tmp_path / "t", tmp_path / "record")
    assert again.version() == 1
    assert sorted(again._read_files(list(again._files())).column("x").to_pylist()) == [2, 5]
    assert again.changes(0, 1)[0].num_rows == 2
    record = tmp_path / "record" / "00000001.json"
    listed = '{"version": 1, "files": [], "kept": false}'
    for damage in ("{", "{}", "[]", listed, record.read_text().replace('"version": 1', '"version": 0')):
        record.write_text(damage)
        with pytest.raises(SketchError, match="damaged-state"):
            again.version()


def test_a_delta_table_has_versions_that_stay(spark, tmp_path):
    """Rows of version 0 are read at version 2, through the sketch of version 0."""
    path = str(tmp_path / "t")
    rows = pa.table({"g": [1, 1, 2, 2, 3], "x": [1, 2, 11, 12, 21], "v": [5, 6, 1, 1, 9]})
    deltalake.write_deltalake(path, rows.slice(0, 2))
    deltalake.write_deltalake(path, rows.slice(2, 3), mode="append")
    backend = SparkBackend(spark)
    backend.table("t", DeltaFiles(path))
    plan = parse("SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 8", backend.schemas()).plan
    old = captured(backend, plan, {0: (Ranges("x", (10, 20)),)})
    assert old.sketch.versions == {"t": 1}
    assert set(old.sketch.parts[0].fragments) == {0, 2}
    deleted = pa.table({"g": [1], "x": [1], "v": [5]})
    version = backend.update("t", pa.table({"g": [2], "x": [13], "v": [9]}), deleted)
    assert version == 2
    delta = backend.changes("t", 1, 2)
    assert sorted(zip(delta.rows.column("x").to_pylist(), delta.signs.tolist(), strict=True)) == [
        (1, -1),
        (13, 1),
    ]
    new = captured(backend, plan, {0: (Ranges("x", (10, 20)),)})
    assert bag(new.answer) == [(2.0, 11.0), (3.0, 9.0)]
    used = sketched_plan(plan, old.sketch, {0})
    found = backend.frame(used, versions=old.sketch.versions, sketch=old.sketch)
    assert sorted(map(tuple, found.collect())) == [(1, 11), (3, 9)]
    layout = backend.layout("t", "x", 1)
    assert layout is not None
    assert layout.share_read(Ranges("x", (10, 20)), {0}) == pytest.approx(0.4)


def test_a_delta_table_may_be_named_by_a_relative_path(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    deltalake.write_deltalake("t", pa.table({"g": [1, 2], "x": [1, 2]}))
    with hw.sketches(spark, "state") as sketches:
        sketches.table("t", "t", partition="x", ranges=4)
        for number in range(3, 6):
            sketches.update("t", insert=[(number, number)])
            for way in ("plain", "capture", "use"):
                answer = sketches.ask("SELECT g FROM t WHERE x > 2", way=way)
                assert bag(answer.rows) == [(float(each),) for each in range(3, number + 1)]


def test_rows_that_are_there_twice_lose_one_copy(tmp_path):
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, pa.table({"x": [1, 1, 1, None, None], "y": [2.5, 2.5, 2.5, None, None]}))
    table = DeltaFiles(path)
    gone = pa.table({"x": [1, None], "y": [2.5, None]})
    assert table.update(gone, np.array([-2, -1])) == 1
    assert bag(deltalake.DeltaTable(path).to_pyarrow_table()) == [(1.0, 2.5), (None, None)]
    with pytest.raises(SketchError, match="row-not-there"):
        table.update(gone, np.array([-1, -2]))
    assert table.version() == 1


def test_queries_on_spark_are_answered_the_way_that_costs_least(spark, tmp_path):
    """A Delta table: captured, used, maintained, read as it was, and clustered without a change."""
    path = str(tmp_path / "t")
    rows = pa.table(
        {"g": [n // 100 for n in range(2000)], "x": list(range(2000)), "v": [n % 7 for n in range(2000)]}
    )
    deltalake.write_deltalake(path, rows.take(np.random.default_rng(1).permutation(2000)))
    text = "SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 300"
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, format="delta", partition="x", ranges=50)
        plain = sorted(map(tuple, sketches.sql(text, way="plain").collect()))
        assert sorted(map(tuple, sketches.sql(text, way="capture").collect())) == plain
        assert sketches.cluster("t", "x", files=8) == 1
        come = spark.createDataFrame([(3, 301, 500)], "g bigint, x bigint, v bigint")
        assert sketches.update("t", insert=come) == 2
        frame = sketches.sql(text, way="maintain")
        assert frame.decision.sketch.startswith("t.x: ")
        assert sketches.backend.changes("t", 0, 1).size == 0
        assert {tuple(row) for row in frame.collect()} == {*plain} - {row for row in plain if row[0] == 3} | {
            (3, sum(n % 7 for n in range(300, 400)) + 500)
        }
        old = sketches.ask(text, versions={"t": 0})
        assert sorted(bag(old.rows)) == [tuple(map(float, row)) for row in plain]
        assert old.decision.versions == {"t": 0}
        assert old.decision.way in ("use", "plain")


def test_answers_stay_with_spark(spark, tmp_path):
    """Whichever way: no row is in the plan of the DataFrame, as rows that came to the driver would be; order, NULLs
    and columns of one name are those of the query; two attributes are sketched."""
    path = str(tmp_path / "t")
    rows = pa.table(
        {"g": [n // 10 for n in range(90)] + [None], "x": range(91), "v": [n % 7 for n in range(91)]}
    )
    deltalake.write_deltalake(path, rows)
    text = "SELECT g, max(v) AS n, min(x) AS n FROM t WHERE x < 60 OR g IS NULL GROUP BY g"
    text += " ORDER BY g DESC NULLS FIRST"
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition=["x", "g"], ranges=9)
        expected = [(None, 6, 90), *((g, 6, 10 * g) for g in range(5, -1, -1))]
        for way in ("plain", "capture", "use", "maintain"):
            frame = sketches.sql(text, way=way)
            assert frame.columns == ["g", "n", "n"] and frame.decision.way == way
            assert "LocalRelation" not in frame._jdf.queryExecution().logical().toString()
            assert [tuple(row) for row in frame.collect()] == expected
        assert sketches.last.sketch.startswith("t.g: ") and "; t.x: " in sketches.last.sketch


def test_a_table_of_the_catalog(spark, tmp_path):
    spark.sql(f"CREATE TABLE sketched (g BIGINT, x BIGINT) USING parquet LOCATION '{tmp_path / 'c'}'")
    spark.sql("INSERT INTO sketched SELECT id % 3, id FROM range(30)")
    try:
        with hw.sketches(spark, tmp_path / "state") as sketches:
            sketches.table("c", "sketched", format="table", partition="x", ranges=5)
            text = "SELECT max(x) AS m FROM c WHERE g = 1"
            assert sketches.ask(text, way="capture").rows.to_pylist() == [{"m": 28}]
            sketches.update("c", insert=[(1, 99)], delete=[(1, 28)])
            assert sketches.ask(text, way="maintain").rows.to_pylist() == [{"m": 99}]
            assert spark.table("sketched").count() == 30
    finally:
        spark.sql("DROP TABLE sketched")


def test_a_table_that_is_clustered_by_nothing_safe_says_so(spark, tmp_path):
    rows = spark.range(4000).selectExpr("id % 40 AS brand", "id % 7 AS sold")
    rows.repartition(4).write.parquet(str(tmp_path / "sales"))
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("sales", tmp_path / "sales", format="parquet")
        text = "SELECT brand, sum(sold) AS n FROM sales GROUP BY brand HAVING sum(sold) < 299"
        assert "of no use [unclustered] at table (sales.brand): a sketch would be safe" in sketches.explain(
            text
        )
        plain, again = sketches.ask(text), sketches.ask(text)
        assert again.decision.reason == "no sketch is of use (unclustered)"
        sketches.cluster("sales", "brand")
        assert "safe: the answer over every sketch on sales.brand is the answer" in sketches.explain(text)
        assert bag(sketches.ask(text, way="capture").rows) == bag(plain.rows)


def test_a_column_that_is_added_is_read_though_no_file_changed(spark, tmp_path):
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, pa.table({"a": [1]}))
    table = DeltaFiles(path)
    assert table.frame(spark, table.version(), ()).columns == ["a"]
    deltalake.DeltaTable(path).alter.add_columns(
        [deltalake.Field("b", deltalake.schema.PrimitiveType("long"))]
    )
    assert table.frame(spark, table.version(), ()).columns == ["a", "b"]


def test_a_delta_table_made_anew_is_another_one(spark, tmp_path):
    """The new one has as many versions as the old one had: only its identity tells."""
    path, text = tmp_path / "sales", "SELECT g FROM sales GROUP BY g HAVING sum(v) > 10"

    def made(groups: list[int]) -> None:
        for group in groups:
            rows = pa.table({"g": [group, group], "v": [9, 9]})
            deltalake.write_deltalake(str(path), rows, mode="append")

    made([1, 2])
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("sales", path, partition="g", ranges=4)
        assert bag(sketches.ask(text, way="capture").rows) == bag(pa.table({"g": [1, 2]}))
        shutil.rmtree(path)
        made([5, 6])
        answer = sketches.ask(text)
        assert bag(answer.rows) == bag(pa.table({"g": [5, 6]})) and answer.decision.way == "plain"
        sketches.ask(text, way="capture")
    shutil.rmtree(path)
    made([7, 8])
    with hw.sketches(spark, tmp_path / "state") as sketches:
        assert sketches.list() == ()
        assert bag(sketches.ask(text).rows) == bag(pa.table({"g": [7, 8]}))
        sketches.ask(text, way="capture")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        assert len(sketches.list()) == 1
        deltalake.write_deltalake(str(tmp_path / "other"), pa.table({"g": [9, 9], "v": [9, 9]}))
        sketches.table("sales", tmp_path / "other", partition="g", ranges=4)
        assert sketches.list() == ()


def test_a_query_that_is_repeated_is_analysed_once_and_run_each_time(spark, tmp_path):
    deltalake.write_deltalake(str(tmp_path / "t"), pa.table({"x": [1, 2, 3], "g": [1, 1, 2]}))
    backend = SparkBackend(spark)
    backend.table("t", DeltaFiles(str(tmp_path / "t")))
    plan = parse("SELECT g, sum(x) AS s FROM t GROUP BY g", backend.schemas()).plan
    texts = []
    backend._plans.session = Watched(spark, lambda text: texts.append(text) or spark.sql(text))
    first, second = backend.frame(plan), backend.frame(plan)
    assert len(texts) == 1 and first is not second
    assert bag(arrow_of(first)) == bag(arrow_of(second))
    backend.update("t", pa.table({"x": [4], "g": [2]}), None)
    assert bag(backend.run(plan)) == bag(pa.table({"g": [1, 2], "s": [3, 7]})) and len(texts) == 1


def test_plans_over_rows_that_are_given_anew_each_time_are_not_kept(spark, tmp_path):
    """They would hold on to the rows and never be found again."""
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "t" / "a.parquet")
    backend = SparkBackend(spark)
    backend.table("t", ParquetTable(tmp_path / "t", tmp_path / "record"))
    plan = parse("SELECT x FROM t WHERE x > 1", backend.schemas()).plan
    for _ in range(2):
        assert bag(backend.run(plan, given={"t": pa.table({"x": [1, 3]})})) == bag(pa.table({"x": [3]}))
    assert len(backend._plans) == 0


def test_averages_of_decimals_are_captured_with_the_digits_that_they_have(spark, tmp_path):
    """One average is 5/3: what the condition says if it is rounded to 6 digits, and less if it is not."""
    for digits in (12, 30):
        path = str(tmp_path / f"t{digits}")
        prices = pa.array(map(Decimal, (1, 2, 2, 9)), pa.decimal128(digits, 2))
        deltalake.write_deltalake(path, pa.table({"g": [1, 1, 1, 2], "x": [1, 2, 3, 4], "w": prices}))
        text = "SELECT g, avg(w) AS a FROM t GROUP BY g HAVING avg(w) >= 1.666667"
        with hw.sketches(spark, tmp_path / f"state{digits}") as sketches:
            sketches.table("t", path, partition=["x", "g"], ranges=2)
            plain = sketches.ask(text, way="plain").rows
            assert plain.num_rows == 2
            for way in ("capture", "use", "maintain"):
                found = sketches.ask(text, way=way).rows
                assert found.schema.types == plain.schema.types and bag(found) == bag(plain), way


def test_groups_that_a_condition_keeps_are_ordered_by_another_aggregate(spark, tmp_path):
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, pa.table({"g": [1, 1, 2, 3], "x": [1, 2, 7, 4], "v": [5, 5, 1, 5]}))
    text = "SELECT g, max(x) AS s FROM t GROUP BY g HAVING sum(v) > 2 ORDER BY s DESC, g LIMIT 5"
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition="g", ranges=2)
        for way in ("plain", "capture", "use", "maintain"):
            assert sketches.ask(text, way=way).rows.to_pylist() == [{"g": 3, "s": 4}, {"g": 1, "s": 2}]


class Watched:
    """A session of which somebody is told what it is asked."""

    def __init__(self, session, sql):
        self._session, self.sql = session, sql

    def __getattr__(self, name):
        return getattr(self._session, name)
