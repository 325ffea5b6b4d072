"""Tables on Spark that lose all rows or some at once (TRUNCATE, INSERT OVERWRITE, partitions and files that go), and
those that are made anew. Answers are those of plain Spark; sketches follow or are captured again."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sketch_queries import bag

import headwater as hw
from headwater.errors import HeadwaterError

pytestmark = pytest.mark.xdist_group("spark")
GROUPS = "SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 20"
FIRST = "SELECT x, v FROM t ORDER BY v DESC, x LIMIT 3"
QUERIES = (GROUPS, FIRST, "SELECT x, v, g FROM t WHERE x > 50")
Alter = Callable[[Any, Path], object]


def values(seed: int, count: int, columns: str = "vxg") -> str:
    source = random.Random(seed)
    most = {"g": 4, "v": 9, "x": 99}
    rows = ([str(source.randint(0, most[name])) for name in columns] for _ in range(count))
    return "VALUES " + ", ".join(f"({', '.join(row)})" for row in rows)


@pytest.fixture
def place(spark: Any, tmp_path: Path) -> Iterator[Path]:
    """Where the table is; if Spark is to choose, that is in a folder of the test, too."""
    spark.sql(f"CREATE DATABASE emptying LOCATION '{tmp_path / 'database'}'")
    spark.sql("USE emptying")
    yield tmp_path / "files"
    spark.sql("USE default")
    spark.sql("DROP DATABASE emptying CASCADE")


def made(spark: Any, place: Path, more: str = "", columns: str = "v INT, x INT, g INT") -> None:
    spark.sql("DROP TABLE IF EXISTS emptied")
    shutil.rmtree(place, ignore_errors=True)
    spark.sql(f"CREATE TABLE emptied ({columns}) USING parquet {more} LOCATION '{place}'")


def made_by_spark(spark: Any, more: str = "") -> None:
    """Only such a table can be truncated."""
    spark.sql(f"CREATE TABLE emptied (v INT, x INT, g INT) USING parquet {more}")


def check(sketches: Any) -> None:
    """Every query, by the way that is decided, then over a sketch of these versions."""
    spark = sketches.backend.session
    spark.catalog.refreshTable("emptied")
    wanted = {text: bag(spark.sql(text.replace("FROM t", "FROM emptied")).toArrow()) for text in QUERIES}
    for text in QUERIES:
        assert bag(sketches.ask(text).rows) == wanted[text], text
    sketches.maintain()
    for text in QUERIES:
        assert bag(sketches.ask(text, way="use").rows) == wanted[text], text


def check_first(sketches: Any, wanted: list[dict[str, int]]) -> None:
    """By the way that is decided, plainly, and over a sketch of these versions."""
    for way in (None, "plain"):
        assert sketches.ask(FIRST, way=way).rows.to_pylist() == wanted
    sketches.maintain()
    assert sketches.ask(FIRST, way="use").rows.to_pylist() == wanted


def sql(*texts: str) -> Alter:
    return lambda spark, place: [spark.sql(text) for text in texts]


def elsewhere(spark: Any, place: Path) -> None:
    spark.createDataFrame([(9, 60), (9, 1)], "v int, x int").write.mode("overwrite").parquet(f"{place}-other")
    spark.sql(f"ALTER TABLE emptied ADD IF NOT EXISTS PARTITION (g = 77) LOCATION '{place}-other'")


def of_nobody(spark: Any, place: Path) -> None:
    """Files of a partition that nobody has added to the table: Spark does not read them."""
    spark.createDataFrame([(9, 60), (9, 1)], "v int, x int").write.mode("append").parquet(f"{place}/g=88")


ALTERED: dict[str, Alter] = {
    "TRUNCATE": sql("TRUNCATE TABLE emptied"),
    "TRUNCATE by another session": lambda spark, place: spark.newSession().sql(
        "TRUNCATE TABLE emptying.emptied"
    ),
    "INSERT OVERWRITE": sql(f"INSERT OVERWRITE emptied {values(9, 20)}"),
    "INSERT OVERWRITE by nothing": sql("INSERT OVERWRITE emptied SELECT 1, 1, 1 WHERE 1 > 2"),
    "DROP and CREATE": lambda spark, place: (
        made(spark, place),
        spark.sql(f"INSERT INTO emptied {values(3, 20)}"),
    ),
    "DROP and CREATE without rows": made,
    "the directory goes": lambda spark, place: shutil.rmtree(place),
}
OF_PARTITIONS: dict[str, Alter] = {
    "TRUNCATE": sql("TRUNCATE TABLE emptied"),
    "TRUNCATE PARTITION": sql("TRUNCATE TABLE emptied PARTITION (g = 1)"),
    "INSERT OVERWRITE": sql(f"INSERT OVERWRITE emptied {values(9, 20)}"),
    "INSERT OVERWRITE PARTITION": sql("INSERT OVERWRITE emptied PARTITION (g = 1) VALUES (9, 99), (8, 3)"),
    "DROP PARTITION": sql("ALTER TABLE emptied DROP IF EXISTS PARTITION (g = 1)"),
    "DROP of all partitions": sql(
        *(f"ALTER TABLE emptied DROP IF EXISTS PARTITION (g = {key})" for key in range(5))
    ),
    "a partition elsewhere": elsewhere,
    "files of no partition": of_nobody,
}


@pytest.mark.parametrize("what", ALTERED)
def test_a_table_loses_rows(spark: Any, place: Path, tmp_path: Path, what: str):
    made_by_spark(spark) if "TRUNCATE" in what else made(spark, place)
    followed(spark, place, tmp_path, ALTERED[what])


@pytest.mark.parametrize("what", OF_PARTITIONS)
def test_a_table_with_partitions_loses_rows(spark: Any, place: Path, tmp_path: Path, what: str):
    """Dropped partitions of a table with a LOCATION leave their files."""
    by = "PARTITIONED BY (g)"
    made_by_spark(spark, by) if "TRUNCATE" in what else made(spark, place, by)
    followed(spark, place, tmp_path, OF_PARTITIONS[what])


def followed(spark: Any, place: Path, tmp_path: Path, alter: Alter) -> None:
    spark.sql(f"INSERT INTO emptied {values(1, 30)}")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", "emptied", format="table", partition="x", ranges=6)
        for text in QUERIES:
            sketches.ask(text, way="capture")
            sketches.ask(text, way="maintain")
        alter(spark, place)
        check(sketches)
        spark.sql(f"INSERT INTO emptied {values(7, 10)}")
        check(sketches)


def test_a_truncated_table_is_captured_again_and_cut_as_it_was(spark: Any, place: Path, tmp_path: Path):
    """Rows that come later are in ranges that were made for those before; they are changes that are known."""
    made_by_spark(spark)
    spark.sql(f"INSERT INTO emptied {values(1, 30)}")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", "emptied", format="table", partition="x", ranges=6)
        sketches.ask(FIRST, way="capture")
        sketches.maintain()
        (before,) = sketches.list()[0].newest.parts
        spark.sql("TRUNCATE TABLE emptied")
        (done,) = sketches.maintain().values()
        assert done.way == "capture" and "files were rewritten or removed" in done.reason
        assert done.sketch == f"t.x: 0 of {before.ranges.count} fragments"
        spark.sql("INSERT INTO emptied VALUES (1, 2, 3)")
        (done,) = sketches.maintain().values()
        assert done.way == "maintain" and sketches.list()[0].newest.parts[0].ranges == before.ranges


def test_a_table_without_rows_can_be_named(spark: Any, place: Path, tmp_path: Path):
    """Its columns are in the catalog; there is no directory yet. It is not captured before it has rows."""
    made(spark, place)
    assert not place.exists()
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", "emptied", format="table", partition="x", ranges=6)
        assert [sketches.ask(FIRST).rows.num_rows for _ in range(3)] == [0, 0, 0]
        assert sketches.last is not None and "no rows" in sketches.last.reason
        assert sketches.update("t", insert=[(5, 6, 7)]) == 1
        assert sketches.ask(FIRST).rows.to_pylist() == [{"x": 6, "v": 5}]
        assert sketches.last.way == "capture" and spark.table("emptied").count() == 1


def test_a_table_that_is_made_anew_with_other_columns_is_named_again(spark: Any, place: Path, tmp_path: Path):
    made(spark, place)
    spark.sql(f"INSERT INTO emptied {values(1, 30)}")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", "emptied", format="table", partition="x", ranges=6)
        sketches.ask(FIRST, way="capture")
        made(spark, place, columns="v BIGINT, x BIGINT, z STRING")
        assert sketches.maintain() == {} and sketches.list() == ()
        assert sketches.ask("SELECT z, x, v FROM t", way="plain").rows.num_rows == 0
        spark.sql("INSERT INTO emptied VALUES (1, 2, 'a')")
        assert sketches.ask(FIRST, way="capture").rows.to_pylist() == [{"x": 2, "v": 1}]
        with pytest.raises(HeadwaterError, match="unknown-column"):
            sketches.ask(GROUPS)
        spark.sql("DROP TABLE emptied")
        spark.sql(f"CREATE TABLE emptied (v INT) USING csv LOCATION '{place}'")
        with pytest.raises(HeadwaterError, match="unknown-format"):
            sketches.ask(FIRST)


def test_columns_are_those_of_the_catalog(spark: Any, place: Path, tmp_path: Path):
    """In its order, with those that no file has yet, and values of partitions in its types."""
    made(spark, place, "PARTITIONED BY (c)", "v INT, x INT, c STRING")
    spark.sql("INSERT INTO emptied VALUES (1, 1, '01'), (2, 2, '1'), (3, 3, NULL)")
    text = "SELECT c, v FROM t ORDER BY v DESC LIMIT 2"
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", "emptied", format="table", partition="c", ranges=3)
        sketches.ask(text, way="capture")
        sketches.ask(text, way="maintain")
        spark.sql("INSERT INTO emptied VALUES (9, 9, '001')")
        answer = sketches.ask(text, way="maintain")
        assert answer.decision.changed == 1
        assert answer.rows.to_pylist() == [{"c": "001", "v": 9}, {"c": None, "v": 3}]
        spark.sql("ALTER TABLE emptied ADD COLUMNS (y INT)")
        assert sketches.ask("SELECT * FROM t WHERE y IS NULL").rows.column_names == ["v", "x", "y", "c"]
        sketches.ask("SELECT y FROM t WHERE x > 2", way="capture")
        sketches.maintain()
        spark.sql("INSERT INTO emptied VALUES (4, 4, 5, '4')")
        found = sketches.ask("SELECT y FROM t WHERE x > 2", way="maintain").rows.column("y").to_pylist()
        assert sorted(found, key=str) == [5, None, None]


def test_a_dropped_table_stops_nobody_else(spark: Any, place: Path, tmp_path: Path):
    made(spark, place)
    pq.write_table(pa.table({"k": [1, 2, 3]}), tmp_path / "others.parquet")
    (tmp_path / "o").mkdir()
    (tmp_path / "others.parquet").rename(tmp_path / "o" / "0.parquet")
    spark.sql(f"INSERT INTO emptied {values(1, 30)}")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", "emptied", format="table", partition="x", ranges=6)
        sketches.table("o", tmp_path / "o", format="parquet", partition="k", ranges=2)
        sketches.ask(FIRST, way="capture")
        sketches.ask("SELECT k FROM o WHERE k > 2", way="capture")
        spark.sql("DROP TABLE emptied")
        assert sorted(done.way for done in sketches.maintain().values()) == ["maintain", "plain"]
    with hw.sketches(spark, tmp_path / "state") as sketches:
        assert sketches.ask("SELECT k FROM o WHERE k > 2").rows.to_pylist() == [{"k": 3}]
        with pytest.raises(HeadwaterError, match="unknown-table"):
            sketches.ask(FIRST)


def test_a_directory_without_files_is_a_table_without_rows(spark: Any, tmp_path: Path):
    """Once it was seen with some; also for who comes later. One that is gone is none."""
    path = tmp_path / "t"
    path.mkdir()
    rows = pa.table({name: pa.array(range(40), pa.int32()) for name in "gvx"})
    with hw.sketches(spark, tmp_path / "state") as sketches:
        with pytest.raises(HeadwaterError, match="missing-source"):
            sketches.table("t", path, format="parquet")
        pq.write_table(rows, path / "0.parquet")
        sketches.table("t", path, format="parquet", partition="x", ranges=6)
        sketches.ask(FIRST, way="capture")
        sketches.ask(FIRST, way="maintain")
        (path / "0.parquet").unlink()
        check_first(sketches, [])
        assert sketches.cluster("t", "x") == 1
    with hw.sketches(spark, tmp_path / "state") as sketches:
        assert sketches.ask(FIRST, way="use").rows.num_rows == 0
        pq.write_table(rows[:1], path / "1.parquet")
        assert sketches.ask(FIRST, way="maintain").rows.to_pylist() == [{"x": 0, "v": 0}]
        (path / "1.parquet").unlink()
        check_first(sketches, [])
        sketches.update("t", insert=rows[7:8])
        check_first(sketches, [{"x": 7, "v": 7}])
        shutil.rmtree(path)
        with pytest.raises(HeadwaterError, match="missing-source"):
            sketches.ask(FIRST)


FILES: dict[str, tuple[str, ...]] = {
    "names do not say that they are Parquet": ("0.parquet", "new"),
    "directories below": ("0.parquet", "below/new.parquet"),
    "names that begin with _": ("0.parquet", "_new.parquet"),
    "columns that begin with _": ("_k=1/0.parquet", "_k=2/new.parquet"),
    "values, and none": ("0.parquet", "k=2/new.parquet"),
    "dates": ("on=2024-05-01/0.parquet", "on=2024-05-02/new.parquet"),
}


@pytest.mark.parametrize("what", FILES)
def test_the_files_of_a_directory_are_those_that_spark_reads(spark: Any, tmp_path: Path, what: str):
    """The rows that come are the first by their order: who does not see them, or should not, answers wrongly."""
    for name in FILES[what]:
        (tmp_path / "t" / name).parent.mkdir(parents=True, exist_ok=True)
    first, then = (tmp_path / "t" / name for name in FILES[what])
    pq.write_table(pa.table({"v": range(40), "x": range(40)}), first)
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", tmp_path / "t", format="parquet", partition="x", ranges=6)
        sketches.ask(FIRST, way="capture")
        sketches.ask(FIRST, way="maintain")
        pq.write_table(pa.table({"v": range(100, 140), "x": range(40)}), then)
        spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("as_spark_reads_it")
        wanted = bag(spark.sql(FIRST.replace("FROM t", "FROM as_spark_reads_it")).toArrow())
        for way in (None, "plain", None):
            assert bag(sketches.ask(FIRST, way=way).rows) == wanted, way


@pytest.mark.parametrize("format", ["table", "parquet"])
def test_instants_that_spark_wrote_are_instants(spark: Any, place: Path, tmp_path: Path, format: str):
    """As INT96, by default. Rows that are given are written so that Spark reads them."""
    made(spark, place, columns="x INT, at TIMESTAMP")
    spark.sql(
        "INSERT INTO emptied VALUES (1, timestamp'2024-01-01 00:00:00'), (2, timestamp'2024-06-01 00:00:00')"
    )
    text = "SELECT x FROM t ORDER BY at LIMIT 1"
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table(
            "t", "emptied" if format == "table" else place, format=format, partition="at", ranges=2
        )
        sketches.ask(text, way="capture")
        sketches.ask(text, way="maintain")
        spark.sql("INSERT INTO emptied VALUES (3, timestamp'2020-01-01 00:00:00')")
        assert sketches.ask(text, way="maintain").rows.to_pylist() == [{"x": 3}]
        sketches.update(
            "t",
            insert=spark.sql("SELECT 4 AS x, timestamp'2019-01-01 00:00:00' AS at"),
            delete=spark.sql("SELECT 3 AS x, timestamp'2020-01-01 00:00:00' AS at"),
        )
        for way in ("maintain", "use", "plain"):
            assert sketches.ask(text, way=way).rows.to_pylist() == [{"x": 4}], way
        spark.catalog.refreshTable("emptied")
        assert spark.sql("SELECT x FROM emptied ORDER BY at").toArrow().column("x").to_pylist() == [4, 1, 2]


def test_sketches_of_a_table_that_is_there_again_as_another_one_outlive_the_process(
    spark: Any, tmp_path: Path
):
    def made(rows: pa.Table) -> None:
        (tmp_path / "t").mkdir()
        pq.write_table(rows, tmp_path / "t" / "0.parquet")

    made(pa.table({"x": [1, 2, 3]}))
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", tmp_path / "t", format="parquet", partition="x", ranges=2)
    shutil.rmtree(tmp_path / "t")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        made(pa.table({"x": [1, 2, 3], "y": [1, 2, 3]}))
        assert bag(sketches.ask("SELECT x FROM t WHERE x > 1", way="capture").rows) == [(2,), (3,)]
    with hw.sketches(spark, tmp_path / "state") as sketches:
        (kept,) = sketches.list()
        assert kept.newest is not None
