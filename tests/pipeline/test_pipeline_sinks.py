"""Sinks: what is published is what was committed, once, wherever the process stopped in between."""

from __future__ import annotations

import json
import random

import pytest
from pipeline_support import PROGRAM, folded, random_links, reach, stored

import headwater as hw
from headwater.pipeline import Callback, DeltaSink, FeedFolder, RowsFolder, Snapshot, TableSink

pytestmark = pytest.mark.xdist_group("spark")


class Stopped(BaseException):
    """Stands for the end of the process at this point."""


def source(links):
    return Snapshot("link", lambda s: s.createDataFrame(sorted(links), "src string, dst string, cost int"))


def connect(tmp_path, spark):
    db = hw.connect(tmp_path / "state", spark=spark)
    if db.version == 0:
        db.define(PROGRAM)
    return db


@pytest.mark.parametrize("moment", ["before", "in the middle", "after"])
def test_a_stop_between_commit_and_acknowledgement_is_made_good_at_the_next_start(
    spark, tmp_path, moment, monkeypatch
):
    from headwater.pipeline.folders import Destination

    links = random_links(random.Random(1), 12)
    feed, rows = str(tmp_path / "feed"), str(tmp_path / "rows")
    sinks = [FeedFolder("reach", feed), RowsFolder("reach", rows), FeedFolder("cheapest", feed + "2")]
    db = connect(tmp_path, spark)
    db.pipeline([source(links)], sinks).run()
    published = folded(feed)
    links -= set(sorted(links)[:4])

    def stop(*_):
        raise Stopped

    put = Destination.put
    with monkeypatch.context() as patch:
        if moment == "before":
            patch.setattr(FeedFolder, "publish", stop)
        elif moment == "in the middle":
            patch.setattr(Destination, "put", lambda *a: (put(*a), stop()))
        else:
            patch.setattr(type(db), "acknowledge", stop)
        with pytest.raises(Stopped):
            db.pipeline([source(links)], sinks).run()
    expected, version = reach(links), db.version
    assert set(db["reach"].rows()) == expected != published
    db.close()
    db = connect(tmp_path, spark)
    again = db.pipeline([], sinks)
    assert [sink.owed for sink in again.report().sinks] == [1, 1, 1]
    again.run()
    assert db.version == version
    assert [sink.owed for sink in again.report().sinks] == [0, 0, 0]
    assert folded(feed) == stored(rows) == expected
    assert folded(feed + "2") == set(db["cheapest"].rows())
    assert json.loads((tmp_path / "feed" / "_headwater.json").read_text())["version"] == version


def test_versions_made_without_the_pipeline_are_owed_to_it_too(spark, tmp_path):
    sinks = [FeedFolder("reach", str(tmp_path / "feed"))]
    with connect(tmp_path, spark) as db:
        db.pipeline([], sinks).run()
    with hw.connect(tmp_path / "state") as db:
        db.apply(insert={"link": [("a", "b", 1)]})
        db.apply(insert={"link": [("b", "c", 1)]})
        db.checkpoint()
        db.define("reach(X, X) :- link(X, _, _).")
        expected = set(db["reach"].rows())
    with connect(tmp_path, spark) as db:
        done = db.pipeline([], sinks).run()
        assert (done.sinks[0].versions, done.sinks[0].owed) == (3, 0)
    assert folded(tmp_path / "feed") == expected
    versions = {path.name for path in (tmp_path / "feed").glob("_commit_version=*")}
    assert versions == {"_commit_version=2", "_commit_version=3", "_commit_version=4"}


def test_a_callback_is_called_once_a_version_and_again_only_for_what_it_did_not_finish(spark, tmp_path):
    calls = []

    def call(version, table):
        calls.append((version, table.num_rows, table.column("_commit_version").unique().to_pylist()))
        if fail:
            raise Stopped

    fail = False
    db = connect(tmp_path, spark)
    sink = Callback("reach", call)
    db.pipeline([source({("a", "b", 1)})], [sink]).run()
    fail = True
    with pytest.raises(Stopped):
        db.pipeline([source({("a", "b", 1), ("b", "c", 1)})], [sink]).run()
    fail = False
    db.close()
    db = connect(tmp_path, spark)
    for _ in range(2):
        db.pipeline([], [sink]).run()
    assert calls == [(2, 1, [2]), (3, 2, [3]), (3, 2, [3])]


def test_tables_of_the_catalog_hold_rows_and_changes(spark, tmp_path):
    links = random_links(random.Random(4), 8)
    db = connect(tmp_path, spark)
    sinks = [TableSink("reach", "reach_now"), TableSink("reach", "reach_changes", "feed")]
    try:
        pipeline = db.pipeline([source(links)], sinks)
        pipeline.run()
        links.pop()
        for _ in range(2):
            db.pipeline([source(links)], sinks).run()
        from headwater.pipeline.sink import Publication

        db.apply(insert={"link": [("new", "n1", 1)]})
        owed = db.owed(sinks[1].name)
        for _ in range(2):
            sinks[1].publish(
                owed, Publication(db, lambda: spark, "reach", db.subscriptions[sinks[1].name].identity)
            )
        db.pipeline([], sinks).run()
        expected = set(db["reach"].rows())
        assert {tuple(row) for row in spark.table("reach_now").collect()} == expected
        rows: set = set()
        found = spark.table("reach_changes").orderBy("_commit_version").collect()
        for row in sorted(found, key=lambda row: (row["_commit_version"], row["_change_type"])):
            pair = row["X"], row["Y"]
            assert (pair in rows) == (row["_change_type"] == "delete")
            (rows.discard if row["_change_type"] == "delete" else rows.add)(pair)
        assert rows == expected
        other = hw.connect(spark=spark)
        other.define(PROGRAM)
        with pytest.raises(hw.PipelineError) as refused:
            other.pipeline([], [sinks[1]]).run()
        assert refused.value.code == "other-output"
    finally:
        spark.sql("DROP TABLE IF EXISTS reach_now")
        spark.sql("DROP TABLE IF EXISTS reach_changes")


def test_a_view_is_published_once_its_types_are_known(spark, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    db = hw.connect(tmp_path / "state", spark=spark)
    db.define("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
    sinks = [
        FeedFolder("reach", str(tmp_path / "feed")),
        DeltaSink("reach", str(tmp_path / "delta")),
        TableSink("reach", "untyped", "feed"),
    ]
    rows: list = []
    source = Snapshot("link", lambda s: s.createDataFrame(rows, "a int, b int"), columns={"X": "a", "Y": "b"})
    pipeline = db.pipeline([source], sinks)
    try:
        assert [sink.owed for sink in pipeline.run().sinks] == [1, 1, 1]
        rows += [(1, 2), (2, 3)]
        assert [sink.owed for sink in pipeline.run().sinks] == [0, 0, 0]
        expected = {(1, 2), (2, 3), (1, 3)}
        assert set(db["reach"].rows()) == folded(tmp_path / "feed") == expected
        table = deltalake.DeltaTable(str(tmp_path / "delta")).to_pyarrow_table().to_pylist()
        assert {tuple(row.values()) for row in table} == expected
        assert {(row["X"], row["Y"]) for row in spark.table("untyped").collect()} == expected
    finally:
        spark.sql("DROP TABLE IF EXISTS untyped")


def test_the_output_of_others_is_not_touched(spark, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    db = connect(tmp_path, spark)
    for sink in (FeedFolder("reach", str(tmp_path / "full")), RowsFolder("reach", str(tmp_path / "full"))):
        with pytest.raises(hw.PipelineError) as refused:
            db.pipeline([], [sink]).run()
        assert refused.value.code == "other-output"
    db.pipeline([], [FeedFolder("reach", str(tmp_path / "feed"))]).run()
    other = hw.connect(spark=spark)
    other.define(PROGRAM)
    with pytest.raises(hw.PipelineError) as refused:
        other.pipeline([], [FeedFolder("reach", str(tmp_path / "feed"))]).run()
    assert refused.value.code == "other-output"
    assert (tmp_path / "full" / "thesis.txt").read_text() == "mine"


def test_what_does_not_fit_together_is_refused_before_anything_runs():
    db = hw.connect()
    db.define(PROGRAM + 'some() :- link(_, _, _). fixed("a").')
    snapshot = source(())
    for sources, sinks, code in [
        ([snapshot, snapshot], [], "same-name"),
        ([snapshot, Snapshot("link", lambda s: None, name="other")], [], "two-sources"),
        ([Snapshot("fixed", lambda s: None)], [], "two-sources"),
        ([Snapshot("reach", lambda s: None)], [], "derived-relation"),
        ([Snapshot("nothing", lambda s: None)], [], "unknown-relation"),
        ([], [FeedFolder("some", "x")], "bad-sink"),
        ([], [FeedFolder("nothing", "x")], "unknown-relation"),
    ]:
        with pytest.raises(hw.HeadwaterError) as refused:
            db.pipeline(sources, sinks)
        assert refused.value.code == code
