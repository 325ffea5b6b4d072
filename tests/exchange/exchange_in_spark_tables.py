"""A program of its own: peers whose relations are tables of a real Spark's catalog, which Spark edits.

Called by the tests. What Spark appends, overwrites and reads is compared with what the peers say, after every
exchange; then all is opened again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from quick_java import quick

import headwater as hw
from headwater.spark.session import spark_session

SETTINGS = """
mappings = '''
m1: G(i, c, n) -> B(i, n).
m3: B(i, n) -> exists c U(n, c).
'''
[peer.GUS]
relations.G = "id: int, can: int, nam: int"
database = "parquet://gus"

[peer.BioSQL]
relations.B = "id: int, nam: int"
database = "parquet://biosql"

[peer.uBio]
relations.U = "nam: int, can: int"
database = "parquet://ubio"
"""
PEERS = ("GUS", "BioSQL", "uBio")


def run(folder: Path) -> int:
    """How many rows were compared."""
    (folder / "bio.toml").write_text(SETTINGS)
    spark = spark_session("local[2]", conf=quick())
    compared = 0
    with hw.exchange(folder / "bio.toml") as found:
        for name in PEERS:
            _ = found[name]  # the tables are made
        for name, relation in (("gus", "G"), ("biosql", "B"), ("ubio", "U")):
            spark.sql(f"CREATE TABLE {relation} USING parquet LOCATION '{folder / name / relation}'")
        spark.sql("INSERT INTO G VALUES (1, 2, 3), (3, 5, 2)")
        spark.sql("INSERT INTO B VALUES (3, 5)")
        compared += exchanged(found, spark)
        assert read(spark, "B") == {(1, 3), (3, 2), (3, 5)}
        assert {nam for nam, *_ in read(spark, "U")} == {2, 3, 5}
        left = [(3, 5, 2), (4, 4, 4)]
        spark.createDataFrame(left, "id long, can long, nam long").write.mode("overwrite").insertInto("G")
        compared += exchanged(found, spark)
        assert read(spark, "B") == {(3, 2), (3, 5), (4, 4)}
    with hw.exchange(folder / "bio.toml") as found:
        spark.sql("INSERT INTO G VALUES (6, 6, 6)")
        compared += exchanged(found, spark)
        assert (6, 6) in read(spark, "B")
        assert (6, None, "?m3_c(6)") in read(spark, "U")
    spark.stop()
    return compared


def exchanged(found: Any, spark: Any) -> int:
    """Everybody publishes and updates; Spark reads what the peers say."""
    for name in PEERS:
        found[name].publish()
    for name in PEERS:
        found[name].update()
    compared = 0
    for name, relation in zip(PEERS, ("G", "B", "U"), strict=True):
        said = {tuple(row) for row in found[name][relation].rows(nulls=True)}
        if relation == "U":  # an unknown value is NULL, with its text in a column beside
            said = {(nam, None, str(can)) for nam, can in said}
        assert said == read(spark, relation), relation
        compared += len(said)
    return compared


def read(spark: Any, relation: str) -> set[tuple[Any, ...]]:
    spark.catalog.refreshTable(relation)
    return {tuple(row) for row in spark.table(relation).collect()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(f"{run(Path(name))} rows the same in Spark's tables")
