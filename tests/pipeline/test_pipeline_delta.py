"""Delta tables that the deltalake wheel writes, with and without a change data feed; and Delta sinks."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pipeline_support import PROGRAM, random_links, reach

import headwater as hw
from headwater.pipeline import DeltaSink, History, Snapshot, delta_table

deltalake = pytest.importorskip("deltalake")
pytestmark = pytest.mark.xdist_group("spark")

FEED_ON = {"delta.enableChangeDataFeed": "true"}


def arrow(links) -> pa.Table:
    rows = sorted(links)
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []]
    schema = pa.schema([("src", pa.string()), ("dst", pa.string()), ("cost", pa.int64())])
    return pa.table(columns, schema=schema)


def rows_of(path) -> set:
    return {tuple(row.values()) for row in deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pylist()}


def test_random_commits_of_another_writer_are_followed_by_their_changes(spark, tmp_path):
    rng = random.Random(5)
    path = str(tmp_path / "links")
    deltalake.write_deltalake(path, arrow(random_links(rng, 10)), configuration=FEED_ON)
    db = hw.connect(tmp_path / "state", spark=spark)
    db.define(PROGRAM)
    pipeline = db.pipeline(
        [History("link", delta_table(path))], [DeltaSink("reach", str(tmp_path / "reach"))]
    )
    for turn in range(6):
        for _ in range(rng.randint(0, 3) if turn else 0):
            table = deltalake.DeltaTable(path)
            kind = rng.choice(["append", "delete", "update", "optimize"])
            if kind == "append":
                deltalake.write_deltalake(path, arrow(random_links(rng, 3) - rows_of(path)), mode="append")
            elif kind == "delete":
                table.delete(f"src = 'n{rng.randrange(8)}' AND cost > {rng.randint(1, 4)}")
            elif kind == "update":
                table.update(updates={"cost": "cost + 10"}, predicate=f"dst = 'n{rng.randrange(8)}'")
            else:
                table.optimize.compact()
        done = pipeline.run()
        links = rows_of(path)
        assert set(db["link"].rows()) == links
        assert set(db["reach"].rows()) == reach(links) == rows_of(tmp_path / "reach")
        assert db.marks[f"delta:{path}"]["version"] == deltalake.DeltaTable(path).version()
        assert done.notes == (), "only the first time it is read whole"
    version = db.version
    pipeline.run()
    assert db.version == version and pipeline.report(look=True).sources[0].behind == ""
    for _ in range(2):
        deltalake.DeltaTable(path).update(updates={"cost": "cost + 1"})
    assert pipeline.report(look=True).sources[0].behind == "2 commits"


def test_without_a_change_feed_the_table_is_compared_as_a_whole_and_that_is_said(spark, tmp_path):
    path = str(tmp_path / "links")
    deltalake.write_deltalake(path, arrow({("a", "b", 1), ("b", "c", 1)}))
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    pipeline = db.pipeline([History("link", delta_table(path, wheel=True), where="cost < 5")])
    pipeline.run()
    deltalake.write_deltalake(path, arrow({("a", "b", 1), ("c", "d", 1), ("x", "y", 9)}), mode="overwrite")
    done = pipeline.run()
    assert set(db["link"].rows()) == {("a", "b", 1), ("c", "d", 1)}
    assert any("was read whole: its change data feed is off" in note for note in done.notes)


def test_a_table_that_is_not_there_is_named(spark, tmp_path):
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    with pytest.raises(hw.PipelineError) as refused:
        db.pipeline([History("link", delta_table(str(tmp_path / "none")))]).run()
    assert refused.value.code == "missing-source" and "none" in refused.value.message


@pytest.mark.parametrize("mode", ["merge", "full", "feed"])
def test_a_version_published_twice_is_there_once(spark, tmp_path, mode):
    links = [("a", "b", 1), ("b", "c", 1), ("c", "a", 1)]
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    sink = DeltaSink("reach", str(tmp_path / "out"), mode)
    source = Snapshot("link", lambda s: s.createDataFrame(links, "src string, dst string, cost int"))
    pipeline = db.pipeline([source], [sink])
    pipeline.run()
    links.pop()
    db.apply(delete={"link": [("c", "a", 1)]})
    owed = db.owed(sink.name)
    assert [one.version for one in owed] == [3]
    from headwater.pipeline.sink import Publication

    to = Publication(db, lambda: spark, "reach", db.subscriptions[sink.name].identity)
    for _ in range(3):
        sink.publish(owed, to)
    pipeline.run()
    table = deltalake.DeltaTable(str(tmp_path / "out")).to_pyarrow_table().to_pylist()
    if mode == "feed":
        kinds = [(row["_commit_version"], row["_change_type"]) for row in table]
        assert sorted(set(kinds)) == [(2, "insert"), (3, "delete")]
        assert (kinds.count((2, "insert")), kinds.count((3, "delete"))) == (9, 6)
    else:
        assert {(row["X"], row["Y"]) for row in table} == reach(links) and len(table) == 3


def test_the_table_of_somebody_else_is_not_touched(spark, tmp_path):
    path = str(tmp_path / "out")
    deltalake.write_deltalake(path, pa.table({"X": ["mine"], "Y": ["mine"]}))
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    with pytest.raises(hw.PipelineError) as refused:
        db.pipeline([], [DeltaSink("reach", path)]).run()
    assert refused.value.code == "other-output"
    assert rows_of(path) == {("mine", "mine")}
