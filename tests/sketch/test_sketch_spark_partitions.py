"""Delta tables whose partitions are directories: values are those of the log, whatever Spark reads in names."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sketch_queries import bag

import headwater as hw
from headwater.errors import SketchError

pytestmark = pytest.mark.xdist_group("spark")

INSTANTS = [datetime.datetime(2024, 3, 10, hour, 30, tzinfo=datetime.timezone.utc) for hour in range(4)]
PARTITIONS = {
    "text beyond ASCII": pa.array(["Köln ", "日", None, "b"]),
    "text with marks": pa.array(["a b", "100%", "x=y/z", "01"]),
    "nothing at all": pa.array(["", "a", None, "b"]),
    "instants": pa.array(INSTANTS, pa.timestamp("us", "UTC")),
    "floats": pa.array([1.5, float("inf"), None, 0.1]),
    "days": pa.array([datetime.date(2024, 1, day) for day in (1, 2, 3)] + [None]),
}


@pytest.mark.parametrize("kind", PARTITIONS)
def test_values_of_partitions_are_those_of_the_log(spark: Any, tmp_path: Path, kind: str):
    path, rows = str(tmp_path / "t"), pa.table({"x": [1, 2, 3, 4], "p": PARTITIONS[kind]})
    deltalake.write_deltalake(path, rows, partition_by=["p"])
    text = "SELECT p, x, count(*) AS n FROM t GROUP BY p, x HAVING count(*) > 0"
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition="x", ranges=2)
        for way in ("plain", "capture", "use", "maintain"):
            expected = deltalake.DeltaTable(path).to_pyarrow_table().select(["p", "x"])
            found = sketches.ask(text, way=way).rows.select(["p", "x"])
            assert bag(found) == bag(expected), way
        sketches.update("t", insert=rows.slice(0, 1), delete=rows.slice(1, 1))
        counted = sketches.ask(text, way="maintain").rows.select(["x", "n"])
        assert bag(counted) == bag(pa.table({"x": [1, 3, 4], "n": [2, 1, 1]}))


def test_rows_of_files_that_delta_rewrote_are_found(spark: Any, tmp_path: Path):
    """The wheel writes strings as views then, which Arrow does not compare with strings."""
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, pa.table({"s": ["a", "b", "c"], "x": [1, 2, 3]}))
    deltalake.DeltaTable(path).update(updates={"x": "x + 1"})
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition="x", ranges=2)
        sketches.update("t", delete=[("a", 2)])
        assert bag(sketches.ask("SELECT s, x FROM t").rows) == bag(pa.table({"s": ["b", "c"], "x": [3, 4]}))


def test_files_are_left_out_by_what_spark_reads_in_names(spark: Any, tmp_path: Path):
    """Names that others escaped byte by byte have other values for Spark."""
    for name, number in (("K%C3%B6ln", 1), ("Kz", 2), ("a%20b", 3)):
        (tmp_path / "t" / f"city={name}").mkdir(parents=True)
        pq.write_table(pa.table({"x": [number]}), tmp_path / "t" / f"city={name}" / "0.parquet")
    text = "SELECT city, x FROM t WHERE x = 1"
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", tmp_path / "t", format="parquet", partition="city", ranges=3)
        plain = bag(sketches.ask(text, way="plain").rows)
        assert len(plain) == 1
        for way in ("capture", "use", "maintain", "maintain"):
            assert bag(sketches.ask(text, way=way).rows) == plain, way


def test_names_of_partitions_may_be_escaped(spark: Any, tmp_path: Path):
    (tmp_path / "t" / "the%20city=1").mkdir(parents=True)
    pq.write_table(pa.table({"x": [5]}), tmp_path / "t" / "the%20city=1" / "0.parquet")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", tmp_path / "t", format="parquet", partition="the city", ranges=3)
        for way in ("plain", "capture", "use"):
            found = sketches.ask("SELECT `the city`, x FROM t WHERE x = 5", way=way).rows
            assert bag(found) == [(1, 5)], way


def test_a_table_is_not_clustered_by_its_partitions(spark: Any, tmp_path: Path):
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, pa.table({"g": [1, 2], "x": [1, 2]}), partition_by=["g"])
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path)
        with pytest.raises(SketchError, match="not-clustered"):
            sketches.cluster("t", "g")
        assert sketches.cluster("t", "x") == 1
