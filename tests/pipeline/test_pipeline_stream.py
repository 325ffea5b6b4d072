"""Structured Streaming: each batch is one version, exactly once, whatever comes in between."""

from __future__ import annotations

import random
import shutil
import threading
import time

import pytest
from pipeline_support import PROGRAM, folded, reach, stored, write_csv

import headwater as hw
from headwater.pipeline import FeedFolder, RowsFolder, Stream, feed_stream

pytestmark = pytest.mark.xdist_group("spark")

SHAPE = "src string, dst string, cost bigint, _change_type string"


def source(folder, **options):
    def frame(session):
        return session.readStream.schema(SHAPE).option("header", "true").csv(str(folder))

    return Stream("link", frame, **options)


def drop_changes(folder, number, inserts=(), deletes=()):
    rows = [(*row, "insert") for row in inserts] + [(*row, "delete") for row in deletes]
    write_csv(folder / f"{number:04}.csv", rows, "src,dst,cost,_change_type")


def test_files_that_are_dropped_into_a_folder_with_a_restart_in_the_middle(spark, tmp_path):
    rng = random.Random(3)
    links: set = set()
    db = hw.connect(tmp_path / "state", spark=spark)
    db.define(PROGRAM)
    for turn in range(6):
        gone = set(rng.sample(sorted(links), min(len(links), 2)))
        new = {(f"n{rng.randrange(5)}", f"n{rng.randrange(5)}", 1) for _ in range(4)} - links
        drop_changes(tmp_path / "in", turn, new, gone)
        links = links - gone | new
        if turn in (0, 3):
            db.close()
            db = hw.connect(tmp_path / "state", spark=spark)
            pipeline = db.pipeline(
                [source(tmp_path / "in")],
                [FeedFolder("reach", str(tmp_path / "feed")), RowsFolder("reach", str(tmp_path / "rows"))],
            )
        done = pipeline.run()
        expected = reach(links)
        assert set(db["link"].rows()) == links
        assert set(db["reach"].rows()) == expected
        assert folded(tmp_path / "feed") == expected
        assert stored(tmp_path / "rows") == expected
        assert done.sources[0].mark["batch"] == turn
    version = db.version
    assert pipeline.run().version == version, "nothing new, no version"


def test_a_batch_that_comes_again_does_nothing(spark, tmp_path):
    """Spark's note that the second batch is done is taken away, as if the process had died before it."""
    db = hw.connect(tmp_path / "state", spark=spark)
    db.define(PROGRAM)
    pipeline = db.pipeline([source(tmp_path / "in")], [FeedFolder("reach", str(tmp_path / "feed"))])
    drop_changes(tmp_path / "in", 1, [("a", "b", 1)])
    pipeline.run()
    drop_changes(tmp_path / "in", 2, [("b", "c", 1)], [("a", "b", 1)])
    pipeline.run()
    version, notes = db.version, tmp_path / "state" / "streams" / "stream_link" / "commits"
    (notes / "1").unlink()
    (notes / ".1.crc").unlink(missing_ok=True)
    done = pipeline.run()
    assert (notes / "1").exists(), "the batch was handed over again"
    assert (db.version, done.versions) == (version, 0)
    assert set(db["link"].rows()) == {("b", "c", 1)}
    assert folded(tmp_path / "feed") == {("b", "c")}


def test_a_checkpoint_and_a_state_that_do_not_belong_together_are_refused(spark, tmp_path):
    checkpoint = str(tmp_path / "checkpoint")
    drop_changes(tmp_path / "in", 1, [("a", "b", 1)])
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    db.pipeline([source(tmp_path / "in", checkpoint=checkpoint)]).run()
    drop_changes(tmp_path / "in", 2, [("b", "c", 1)])

    other = hw.connect(spark=spark)
    other.define(PROGRAM)
    with pytest.raises(hw.PipelineError) as refused:
        other.pipeline([source(tmp_path / "in", checkpoint=checkpoint)]).run()
    assert refused.value.code == "stream-gap" and other.version == 1

    shutil.rmtree(checkpoint)
    with pytest.raises(hw.PipelineError) as refused:
        db.pipeline([source(tmp_path / "in", checkpoint=checkpoint)]).run()
    assert refused.value.code == "other-stream" and set(db["link"].rows()) == {("a", "b", 1)}


def test_a_stream_without_change_types_only_adds(spark, tmp_path):
    write_csv(tmp_path / "in" / "1.csv", [("a", "b", 1), ("a", "b", 1), ("b", "c", 2)])
    db = hw.connect(spark=spark)
    db.define(PROGRAM)

    def frame(session):
        reader = session.readStream.schema("src string, dst string, cost int").option("header", "true")
        return reader.csv(str(tmp_path / "in"))

    done = db.pipeline([Stream("link", frame, where="cost < 2", columns={"dst": "upper(dst)"})]).run()
    assert (db["link"].rows(), done.read) == ([("a", "B", 1)], 2)


def test_a_bad_row_stops_the_stream_and_leaves_the_state_as_it_was(spark, tmp_path):
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    drop_changes(tmp_path / "in", 1, [("a", "b", "")])
    with pytest.raises(hw.DataError) as refused:
        db.pipeline([source(tmp_path / "in")]).run()
    assert refused.value.code == "null-value" and db.version == 1


def test_views_chain_by_their_feeds(spark, tmp_path):
    first = hw.connect(tmp_path / "first", spark=spark)
    first.define(PROGRAM)
    second = hw.connect(tmp_path / "second", spark=spark)
    second.define("hop(x: string, y: string). both(X, Y) :- hop(X, Y), hop(Y, X).")
    writing = first.pipeline([source(tmp_path / "in")], [FeedFolder("reach", str(tmp_path / "feed"))])
    drop_changes(tmp_path / "in", 0, [("a", "b", 1), ("b", "c", 1), ("c", "a", 1)])
    writing.run()
    chained = Stream("hop", lambda s: feed_stream(s, str(tmp_path / "feed")), columns={"x": "X", "y": "Y"})
    reading = second.pipeline([chained], [FeedFolder("both", str(tmp_path / "last"))])
    for number, deletes in enumerate([(), [("c", "a", 1)], [("b", "c", 1)]], 1):
        drop_changes(tmp_path / "in", number, (), deletes)
        writing.run()
        reading.run()
        hops = set(first["reach"].rows())
        assert set(second["hop"].rows()) == hops
        expected = {(x, y) for x, y in hops if (y, x) in hops}
        assert set(second["both"].rows()) == expected == folded(tmp_path / "last")


def test_running_continuously_until_it_is_stopped(spark, tmp_path):
    (tmp_path / "in").mkdir()
    db = hw.connect(tmp_path / "state", spark=spark)
    db.define(PROGRAM)
    pipeline = db.pipeline([source(tmp_path / "in")], [FeedFolder("reach", str(tmp_path / "feed"))])
    turn = threading.Condition()
    reports = []

    def watch(report):
        with turn:
            reports.append(report)
            turn.notify_all()

    runner = threading.Thread(target=lambda: pipeline.run(continuous=True, every=0.05, watch=watch))
    runner.start()
    try:
        for number in range(3):
            drop_changes(tmp_path / "in", number, [(f"n{number}", f"n{number + 1}", 1)])
            with turn:
                arrived = turn.wait_for(
                    lambda wanted=number: reports and reports[-1].changes == wanted + 1, timeout=60
                )
            assert arrived
    finally:
        begun = time.monotonic()
        pipeline.stop()
        runner.join(60)
    assert not runner.is_alive() and time.monotonic() - begun < 60
    assert len(db["reach"]) == 6 and folded(tmp_path / "feed") == set(db["reach"].rows())
    assert pipeline.report().versions == 3
