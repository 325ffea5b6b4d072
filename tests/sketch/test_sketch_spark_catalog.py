"""Queries over tables of Spark's catalog are planned once while neither files nor the catalog's record change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.language.sql.parser import parse
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import SketchPart
from headwater.sketch.tables.catalog_table import CatalogTable
from headwater.sketch.tables.spark_backend import SparkBackend

TEXT = "SELECT g, sum(x) AS s FROM t GROUP BY g"


@pytest.fixture
def name(spark: Any) -> Iterator[str]:
    yield "planned"
    spark.sql("DROP TABLE IF EXISTS planned")


def made(spark: Any, place: Path, columns: str = "g INT, x INT", more: str = "") -> None:
    spark.sql("DROP TABLE IF EXISTS planned")
    spark.sql(f"CREATE TABLE planned ({columns}) USING parquet {more} LOCATION '{place}'")


class Asked:
    """A table, its query, and how often that was planned."""

    def __init__(self, spark: Any, record: Path):
        self.backend = SparkBackend(spark)
        self.backend.table("t", CatalogTable(spark, "planned", record))
        self.plan = parse(TEXT, self.backend.schemas()).plan
        self.planned = 0
        plans: Any = self.backend._plans
        anew = plans._anew

        def counted(*given: Any, **options: Any) -> Any:
            self.planned += 1
            return anew(*given, **options)

        plans._anew = counted

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted(tuple(row.values()) for row in self.backend.run(self.plan).to_pylist())


def test_a_query_is_planned_again_when_files_change(spark: Any, name: str, tmp_path: Path):
    made(spark, tmp_path / "files")
    spark.sql("INSERT INTO planned VALUES (1, 1), (2, 2)")
    asked = Asked(spark, tmp_path / "record")
    assert [asked.rows() for _ in range(3)] == [[(1, 1), (2, 2)]] * 3
    assert asked.planned == 1
    spark.sql("INSERT INTO planned VALUES (1, 10)")
    assert [asked.rows() for _ in range(2)] == [[(1, 11), (2, 2)]] * 2
    assert asked.planned == 2
    spark.sql("INSERT OVERWRITE planned VALUES (3, 3)")
    assert [asked.rows() for _ in range(2)] == [[(3, 3)]] * 2
    assert asked.planned == 3
    asked.backend.update(
        "t", pa.table({"g": pa.array([3, 4], pa.int32()), "x": pa.array([4, 4], pa.int32())}), None
    )
    assert [asked.rows() for _ in range(2)] == [[(3, 7), (4, 4)]] * 2


def test_a_table_is_another_one_when_the_catalog_says_otherwise(spark: Any, name: str, tmp_path: Path):
    """The same files, of which another table shows other columns, or in another order; and a name that means other
    files. What it says of nothing that is read makes a new plan."""
    made(spark, tmp_path / "files")
    spark.sql("INSERT INTO planned VALUES (1, 1), (2, 2)")
    asked = Asked(spark, tmp_path / "record")
    assert asked.rows() == [(1, 1), (2, 2)]
    spark.sql("ALTER TABLE planned SET TBLPROPERTIES ('of' 'nothing')")
    assert (asked.rows(), asked.planned) == ([(1, 1), (2, 2)], 2)
    spark.sql("ALTER TABLE planned ADD COLUMNS (y INT)")
    with pytest.raises(hw.HeadwaterError, match="table-replaced"):
        asked.rows()
    asked = Asked(spark, tmp_path / "record")
    assert [column.name for column in asked.backend.schemas()["t"].columns] == ["g", "x", "y"]
    made(spark, tmp_path / "files", "x INT, g INT")
    with pytest.raises(hw.HeadwaterError, match="table-replaced"):
        asked.rows()
    asked = Asked(spark, tmp_path / "record")
    assert asked.rows() == [(1, 1), (2, 2)]
    made(spark, tmp_path / "others")
    spark.sql("INSERT INTO planned VALUES (7, 7)")
    with pytest.raises(hw.HeadwaterError, match="table-replaced"):
        asked.rows()


@pytest.mark.parametrize(
    ("columns", "more"),
    [
        ("x INT, g INT", "PARTITIONED BY (g)"),
        ("g INT, x INT, c CHAR(3)", ""),
        ("g INT, x INT", "OPTIONS ('mergeSchema' 'true')"),
    ],
)
def test_other_tables_are_looked_up_each_time(spark: Any, name: str, tmp_path: Path, columns: str, more: str):
    made(spark, tmp_path / "files", columns, more)
    shown = "x, g" if "PARTITIONED" in more else "g, x"
    spark.sql(f"INSERT INTO planned ({shown}) VALUES (1, 1), (2, 2)")
    asked = Asked(spark, tmp_path / "record")
    assert [asked.rows() for _ in range(2)] == [[(1, 1), (2, 2)]] * 2
    assert asked.planned == 2


def test_partitions_that_the_catalog_lets_go_of_are_not_read(spark: Any, name: str, tmp_path: Path):
    """Their files stay."""
    made(spark, tmp_path / "files", "x INT, g INT", "PARTITIONED BY (g)")
    spark.sql("INSERT INTO planned VALUES (1, 1), (2, 2)")
    asked = Asked(spark, tmp_path / "record")
    assert asked.rows() == [(1, 1), (2, 2)]
    spark.sql("ALTER TABLE planned DROP PARTITION (g = 2)")
    assert asked.rows() == [
        tuple(row) for row in spark.sql("SELECT g, sum(x) FROM planned GROUP BY g").collect()
    ]


def test_files_that_a_sketch_cannot_need_are_left_out(spark: Any, name: str, tmp_path: Path):
    made(spark, tmp_path / "files")
    for first in (0, 100, 200):
        spark.sql(f"INSERT INTO planned SELECT id % 3, id FROM range({first}, {first + 10})")
    text = "SELECT sum(x) AS s FROM t WHERE x > 150"
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", "planned", format="table", partition="x", ranges=6)
        for way in ("plain", "capture", "use"):
            assert sketches.ask(text, way=way).rows.to_pylist() == [{"s": 2045}]
        spark.sql("INSERT INTO planned VALUES (1, 1000), (1, 5)")
        for way in ("maintain", "use", "plain"):
            assert sketches.ask(text, way=way).rows.to_pylist() == [{"s": 3045}]
        table = sketches.backend.tables["t"]
        part = SketchPart("t", Ranges("x", (50, 150)), frozenset({2}))
        assert len(table.frame(spark, table.version(), ()).inputFiles()) == 8
        assert len(table.frame(spark, table.version(), (part,)).inputFiles()) == 3
