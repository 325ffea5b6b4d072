"""Change feeds: read from behind the last commit, netted on Spark, each commit once."""

from __future__ import annotations

import random

import pytest
from pipeline_support import PROGRAM, reach

import headwater as hw
from headwater.pipeline import Feed, FeedFolder, Snapshot, feed_folder, table_changes
from headwater.pipeline.iceberg import changelog_call, from_changelog
from headwater.pipeline.refusals import refusals

pytestmark = pytest.mark.xdist_group("spark")

SHAPE = "src string, dst string, cost bigint, _change_type string, _commit_version bigint"


def random_commits(rng: random.Random, count: int):
    """Commits of a table as a feed says them, and the table after each."""
    table: set = set()
    rows, states = [], []
    for commit in range(count):
        new = set(table)
        for _ in range(rng.randint(0, 4)):
            link = (f"n{rng.randrange(4)}", f"n{rng.randrange(4)}", rng.randint(1, 2))
            if link in new and rng.random() < 0.7:
                other = (*link[:2], 3 - link[2])
                if other not in new and other not in table and link in table:
                    new = new - {link} | {other}
                    rows += [(*link, "update_preimage", commit), (*other, "update_postimage", commit)]
                elif link in table:
                    new -= {link}
                    rows.append((*link, "delete", commit))
            elif link not in new and link not in table:
                new |= {link}
                rows.append((*link, "insert", commit))
        table = new
        states.append(table)
    return rows, states


@pytest.mark.parametrize("seed", [1, 2])
def test_random_commits_in_random_order_of_lines(spark, tmp_path, seed):
    rng = random.Random(seed)
    rows, states = random_commits(rng, 12)
    rng.shuffle(rows)
    seen = 0

    def frame(session, last):
        return session.createDataFrame([row for row in rows if row[-1] < seen], SHAPE)

    db = hw.connect(tmp_path / "state", spark=spark)
    db.define(PROGRAM)
    for seen in (1, 2, 5, 12):
        pipeline = db.pipeline([Feed("link", frame)])
        pipeline.run()
        assert set(db["link"].rows()) == states[seen - 1]
        assert set(db["reach"].rows()) == reach(states[seen - 1])
        version = db.version
        assert pipeline.run().versions <= 1
        assert db.version == version, "commits that were applied make no further version"
        db.close()
        db = hw.connect(tmp_path / "state", spark=spark)


def test_what_goes_and_comes_in_one_commit_is_there_in_the_end(spark):
    rows = [("a", "b", 1, "insert", 7), ("a", "b", 1, "delete", 7), ("a", "c", 1, "INSERT", 7)]
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    db.pipeline([Feed("link", lambda s, last: s.createDataFrame(rows, SHAPE))]).run()
    assert set(db["link"].rows()) == {("a", "b", 1), ("a", "c", 1)}
    assert db.marks["feed:link"]["commit"] == 7


@pytest.mark.parametrize(
    ("rows", "schema", "code", "words"),
    [
        ([("a", "b", 1, "upsert", 1)], SHAPE, "change-type", "'upsert'"),
        ([("a", "b", 1, None, 1)], SHAPE, "change-type", "'null'"),
        ([("a", "b", 1)], "src string, dst string, cost int", "no-change-type", "no column _change_type"),
        (
            [("a", "b", "x", "insert", 1)],
            SHAPE.replace("bigint", "string", 1),
            "schema-drift",
            "cost is string",
        ),
    ],
)
def test_what_is_no_feed_is_refused(spark, rows, schema, code, words):
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    with pytest.raises(hw.PipelineError) as refused:
        db.pipeline([Feed("link", lambda s, last: s.createDataFrame(rows, schema), name="f")]).run()
    assert refused.value.code == code and words in refused.value.message
    assert (db.version, db.marks) == (1, {})


def test_the_feed_of_one_pipeline_is_the_source_of_the_next(spark, tmp_path):
    first, second = hw.connect(spark=spark), hw.connect(spark=spark)
    first.define(PROGRAM)
    second.define("reach(x: string, y: string). loop(X) :- reach(X, X).")
    links = [("a", "b", 1), ("b", "a", 1), ("b", "c", 1)]
    writing = first.pipeline(
        [Snapshot("link", lambda s: s.createDataFrame(links, "src string, dst string, cost int"))],
        [FeedFolder("reach", str(tmp_path / "feed"))],
    )
    reading = second.pipeline(
        [Feed("reach", feed_folder(str(tmp_path / "feed")), columns={"x": "X", "y": "Y"})]
    )
    with pytest.raises(hw.PipelineError) as refused:
        reading.run()
    assert refused.value.code == "missing-source"
    for gone, loops in ((None, {("a",), ("b",)}), (("b", "a", 1), set())):
        if gone is not None:
            links.remove(gone)
        writing.run()
        reading.run()
        assert set(second["reach"].rows()) == set(first["reach"].rows())
        assert set(second["loop"].rows()) == loops
    version = second.version
    reading.run()
    assert second.version == version


def test_the_changelog_of_iceberg_has_the_one_shape(spark):
    """Its jar is not here; a table of the same columns is."""
    columns = "src string, dst string, cost int, _change_type string, _change_ordinal int, _commit_snapshot_id bigint"
    rows = [
        ("a", "b", 1, "INSERT", 0, 11),
        ("a", "b", 1, "UPDATE_BEFORE", 1, 12),
        ("a", "b", 2, "UPDATE_AFTER", 1, 12),
        ("c", "d", 1, "INSERT", 1, 12),
        ("c", "d", 1, "DELETE", 2, 13),
    ]
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    db.pipeline([Feed("link", lambda s, last: from_changelog(s.createDataFrame(rows, columns)))]).run()
    assert db["link"].rows() == [("a", "b", 2)]
    call = changelog_call("lake.net.link", 11, 13)
    assert call.startswith("CALL lake.system.create_changelog_view(table => 'lake.net.link'")
    assert "map('start-snapshot-id', '11', 'end-snapshot-id', '13')" in call


def test_a_catalog_without_changes_refuses_them_in_our_words(spark):
    spark.sql("CREATE TABLE plain (src string, dst string, cost bigint) USING parquet")
    try:
        with pytest.raises(hw.HeadwaterError) as refused, refusals("changes:plain"):
            table_changes("plain")(spark, None)
        assert refused.value.code in ("bad-sql", "spark-failed", "no-changes")
        assert "changes:plain" in refused.value.message or "plain" in refused.value.message
    finally:
        spark.sql("DROP TABLE plain")
