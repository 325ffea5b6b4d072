"""Sinks as what watches do: the rows of a goal with a condition, on Spark, once a version."""

from __future__ import annotations

import pytest
from pipeline_support import PROGRAM, folded

import headwater as hw
from headwater.pipeline import Callback, FeedFolder, RowsFolder, TableSink, feed_stream

pytestmark = pytest.mark.xdist_group("spark")
LINKS = [("a", "b", 1), ("b", "c", 1), ("x", "y", 1)]


def opened(path, **options):
    db = hw.connect(path, **options)
    if db.version == 0:
        db.define(PROGRAM)
    return db


def test_a_folder_of_changes_of_a_goal_that_a_stream_reads(spark, tmp_path):
    """Structured Streaming gets each version once: before a restart, missed, and after it."""
    feed = str(tmp_path / "feed")
    goal = {"goal": "reach(X, Y)", "when": "X = 'a'", "do": FeedFolder("reach", feed), "name": "from a"}
    with opened(tmp_path / "state", spark=spark) as db:
        db.watch(**goal)
        db.apply(insert={"link": LINKS})
    with opened(tmp_path / "state") as db:
        db.apply(delete={"link": [("b", "c", 1)]})  # nobody is attached
    with opened(tmp_path / "state", spark=spark) as db:
        db.watch(**goal)
        db.apply(insert={"link": [("b", "d", 1)]})
        assert db.watches["from a"].state == "following"
        expected = {row for row in db["reach"].rows() if row[0] == "a"}
    assert folded(feed) == expected == {("a", "b"), ("a", "d")}
    query = (
        feed_stream(spark, feed)
        .writeStream.format("memory")
        .queryName("told")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    told = spark.sql("SELECT X, Y, _change_type, _commit_version FROM told").collect()
    assert sorted(map(tuple, told)) == [
        ("a", "b", "insert", 2),
        ("a", "c", "delete", 3),
        ("a", "c", "insert", 2),
        ("a", "d", "insert", 4),
    ]


def test_a_table_of_spark(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spark.sql("DROP TABLE IF EXISTS watched_changes")
    try:
        with opened(tmp_path / "state", spark=spark) as db:
            db.watch(
                "cheapest(X, _, C)", TableSink("cheapest", "watched_changes", "feed"), when="C > 1", name="t"
            )
            db.apply(insert={"link": LINKS})
            db.apply(insert={"link": [("a", "c", 1)]})
            assert db.watches["t"].error is None
        rows = spark.sql("SELECT X, Y, C, _change_type, _commit_version FROM watched_changes").collect()
        assert sorted(map(tuple, rows)) == [("a", "c", 2, "delete", 3), ("a", "c", 2, "insert", 2)]
    finally:
        spark.sql("DROP TABLE IF EXISTS watched_changes")


def test_a_callback_of_a_pipeline_and_a_frame_of_an_event(spark, tmp_path):
    calls, frames = [], []
    with opened(None) as db:
        db.watch("reach", Callback("reach", lambda version, table: calls.append((version, table.num_rows))))
        db.watch(
            "reach", lambda event: frames.append(spark.createDataFrame(event.arrow().to_pandas()).count())
        )
        db.apply(insert={"link": LINKS})
    assert calls == [(2, 4)] and frames == [4]


@pytest.mark.parametrize(
    ("goal", "sink"),
    [
        ("link", FeedFolder("reach", "feed")),
        ("reach", RowsFolder("reach", "rows")),
        ("reach", TableSink("reach", "t")),
    ],
)
def test_sinks_that_cannot_be_what_a_watch_does(goal, sink):
    with opened(None) as db, pytest.raises(hw.PipelineError) as caught:
        db.watch(goal, sink)
    assert caught.value.code == "bad-sink"
