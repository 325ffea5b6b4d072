"""Rows that cannot be taken from a source: what is said about them, and what becomes of them."""

from __future__ import annotations

import json
import logging

import pytest
from pipeline_support import PROGRAM, write_csv

import headwater as hw
from headwater.pipeline import Feed, FeedFolder, Files, Snapshot, Stream

pytestmark = pytest.mark.xdist_group("spark")
SCHEMA = "src string, dst string, cost int"
ROWS = [("a", "b", 1), ("b", None, 2), ("c", "d", 3), (None, "e", None)]


def database(spark, path=None):
    db = hw.connect(path, spark=spark)
    if db.version == 0:
        db.define(PROGRAM)
    return db


def refused(db, source) -> hw.HeadwaterError:
    version = db.version
    with pytest.raises(hw.HeadwaterError) as caught:
        db.pipeline([source]).run()
    assert db.version == version and len(db["link"]) == 0
    return caught.value


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# ------------------------------------------------------------------ what is said


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["a,b,1", "b,c,ten"], "csv:links, row 2, column cost: 'ten' is no int"),
        (["a,b,1.5"], "row 1, column cost: '1.5' is no int"),
        (["a,b,1", "b,c,99999999999999999999"], "row 2, column cost: '99999999999999999999' is no int"),
    ],
)
def test_a_text_that_is_no_value_is_named_with_row_and_column(spark, tmp_path, caplog, rows, words):
    write_csv(tmp_path / "links.csv", [tuple(row.split(",")) for row in rows])
    source = Files("link", str(tmp_path / "links.csv"), "csv", name="csv:links")
    with caplog.at_level(logging.ERROR):
        error = refused(database(spark), source)
    assert error.code == "bad-value" and words in error.message and "where" in str(error.hint)
    assert error.__cause__ is None and error.__suppress_context__, "no trace of Java"
    assert caplog.records == []


def test_rows_are_counted_before_they_are_filtered_and_over_all_partitions(spark, tmp_path):
    rows = [("n", "m", number if number != 37 else "x") for number in range(1, 41)]
    write_csv(tmp_path / "links.csv", rows)
    frame = spark.read.csv(str(tmp_path / "links.csv"), header=True)
    source = Files("link", str(tmp_path / "links.csv"), "csv", where="cost != '3'")
    assert "row 37, column cost: 'x' is no int" in refused(database(spark), source).message
    parts = frame.selectExpr("src", "dst", "try_cast(cost AS int) AS cost").repartitionByRange(
        3, "src", "cost"
    )
    found = [row["cost"] for row in parts.collect()]
    error = refused(database(spark), Snapshot("link", parts))
    assert f"row {found.index(None) + 1}, column cost: there is no value" in error.message


def test_debugging_keeps_the_traces(spark, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWATER_DEBUG", "1")
    write_csv(tmp_path / "links.csv", [("a", "b", "ten")])
    assert refused(database(spark), Files("link", str(tmp_path / "links.csv"), "csv")).__cause__ is not None


def test_a_missing_value_is_named_with_its_row(spark):
    error = refused(database(spark), Snapshot("link", spark.createDataFrame(ROWS, SCHEMA), name="links"))
    assert error.code == "null-value"
    assert error.message == "links, row 2, column dst: there is no value, in link('b', null, 2)"
    assert "on_null" in str(error.hint)


def test_names_that_differ_by_case_are_told(spark):
    frame = spark.createDataFrame([("a", "b", 1)], "Src string, dst string, cost int")
    error = refused(database(spark), Snapshot("link", frame))
    assert error.code == "schema-drift" and "src is written Src there" in str(error.hint)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a,b,1\nb,c,2\n", "header = false"),
        ("src;dst;cost\na;b;1\n", "separated by ';'"),
        ("src,src,cost\na,b,1\n", "two of its columns are called src"),
        ("", "the file is empty"),
        ("source,target,price\na,b,1\n", "say where columns come from"),
    ],
)
def test_files_that_are_not_what_they_should_be(spark, tmp_path, text, hint):
    (tmp_path / "links.csv").write_text(text)
    error = refused(database(spark), Files("link", str(tmp_path / "links.csv"), "csv"))
    assert error.code == "schema-drift" and hint in str(error.hint)


@pytest.mark.parametrize("record", ["b,c", "b,c,1,2,3", '"b,c,1'])
def test_a_record_that_is_none_is_shown_with_its_row(spark, tmp_path, record):
    (tmp_path / "links.csv").write_text(f"src,dst,cost\na,b,1\n{record}\n")
    error = refused(database(spark), Files("link", str(tmp_path / "links.csv"), "csv", name="links"))
    assert error.code == "bad-row" and "links, row 2: '" in error.message and record in error.message
    assert "is no row with src, dst, cost" in error.message


def test_bytes_that_are_no_utf8_are_refused_and_not_replaced(spark, tmp_path):
    path = tmp_path / "links.csv"
    path.write_bytes("src,dst,cost\nä,b,1\n".encode("latin1"))
    error = refused(database(spark), Files("link", str(path), "csv"))
    assert error.code == "not-utf8" and "byte 14 of" in error.message and "encoding" in str(error.hint)
    db = database(spark)
    db.pipeline([Files("link", str(path), "csv", options={"encoding": "ISO-8859-1"})]).run()
    assert list(db["link"]) == [("ä", "b", 1)]
    path.write_text("src,dst,cost\n\ufffd,b,1\n")
    db.pipeline([Files("link", str(path), "csv")]).run()
    assert list(db["link"]) == [("\ufffd", "b", 1)]


def test_an_expression_that_fails_is_named_by_its_column(spark):
    frame = spark.createDataFrame([("a", "b", "x")], "src string, dst string, price string")
    source = Snapshot("link", frame, name="links", columns={"cost": "cast(price AS int)"})
    error = refused(database(spark), source)
    assert error.code == "bad-value" and "links, column cost: The value 'x'" in error.message


def test_options_that_spark_would_ignore_are_refused():
    with pytest.raises(hw.PipelineError, match="no option heder for CSV") as caught:
        Files("link", "links.csv", "csv", options={"heder": "false"})
    assert caught.value.hint == "did you mean header?"
    Files("link", "links.csv", "csv", options={"HEADER": "false", "myCatalogOption": "x"})


def test_a_place_that_cannot_be_written_is_the_sinks(spark, tmp_path):
    (tmp_path / "out").write_text("a file")
    db = database(spark, tmp_path / "state")
    frame = spark.createDataFrame([("a", "b", 1)], SCHEMA)
    sink = FeedFolder("reach", str(tmp_path / "out" / "changes"), name="changes")
    with pytest.raises(hw.PipelineError, match="changes: ") as caught:
        db.pipeline([Snapshot("link", frame)], [sink]).run()
    assert caught.value.code == "cannot-write"
    (tmp_path / "out").unlink()
    assert db.pipeline([Snapshot("link", frame)], [sink]).run().sinks[0].changes == 1


def test_names_that_nobody_declared_leave_columns_to_their_order(spark):
    db = hw.connect(spark=spark)
    db.define("reach(X, Y) :- link(X, Y).")
    db.pipeline([Snapshot("link", spark.createDataFrame([("a", "b")], "one string, two string"))]).run()
    assert list(db["reach"]) == [("a", "b")]


def test_a_csv_file_without_a_header(spark, tmp_path):
    (tmp_path / "links.csv").write_text("a,b,1\n")
    path = str(tmp_path / "links.csv")
    assert refused(database(spark), Files("link", path, "csv")).code == "schema-drift"
    db = database(spark)
    db.pipeline([Files("link", path, "csv", header=False)]).run()
    assert list(db["link"]) == [("a", "b", 1)]
    with pytest.raises(hw.PipelineError, match="only CSV"):
        Files("link", path, "json", header=True)


# ------------------------------------------------------------------ what becomes of them


def test_rows_without_a_value_are_dropped_or_put_aside(spark, tmp_path):
    frame = spark.createDataFrame(ROWS, SCHEMA).coalesce(1)
    for way in ("drop", str(tmp_path / "aside" / "refused.jsonl")):
        db = database(spark)
        report = db.pipeline([Snapshot("link", frame, name="links", on_null=way)]).run()
        assert sorted(db["link"]) == [("a", "b", 1), ("c", "d", 3)]
        assert (report.read, report.changes, report.sources[0].refused) == (4, 2, 2)
    assert lines(tmp_path / "aside" / "refused.jsonl") == [
        {
            "version": 2,
            "source": "links",
            "relation": "link",
            "row": 2,
            "column": "dst",
            "reason": "there is no value",
            "values": {"src": "b", "dst": None, "cost": 2},
        },
        {
            "version": 2,
            "source": "links",
            "relation": "link",
            "row": 4,
            "column": "src",
            "reason": "there is no value",
            "values": {"src": None, "dst": "e", "cost": None},
        },
    ]


def test_rows_without_a_value_are_kept(spark):
    db = database(spark)
    source = Snapshot("link", spark.createDataFrame(ROWS, SCHEMA), name="links", on_null="keep")
    assert db.pipeline([source]).run().changes == 4
    assert set(db["link"]) == set(ROWS) and db.info("link").nullable == (True, True, True)
    fewer = Snapshot("link", spark.createDataFrame(ROWS[:2], SCHEMA), name="links")
    assert db.pipeline([fewer]).run().changes == 2
    assert set(db["link"]) == set(ROWS[:2])


def test_what_was_put_aside_is_not_put_aside_again(spark, tmp_path):
    path = tmp_path / "refused.jsonl"
    rows = list(ROWS)
    source = Snapshot("link", lambda s: s.createDataFrame(rows, SCHEMA), name="links", on_null=str(path))
    db = database(spark, tmp_path / "state")
    pipeline = db.pipeline([source])
    pipeline.run()
    assert pipeline.run().versions == 0 and len(lines(path)) == 2
    rows.append(("x", "y", 9))
    assert pipeline.run().versions == 1 and len(lines(path)) == 2
    rows.append((None, "y", 9))
    assert pipeline.run().versions == 1
    assert [line["version"] for line in lines(path)] == [2, 2, 4, 4, 4]


def test_an_attempt_that_failed_leaves_no_line_twice(spark, tmp_path):
    path = tmp_path / "refused.jsonl"
    db = database(spark, tmp_path / "state")
    frame = spark.createDataFrame(ROWS, SCHEMA).coalesce(1)
    pipeline = db.pipeline([Snapshot("link", frame, name="links", on_null=str(path))])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(db), "apply", _failing)
        with pytest.raises(RuntimeError):
            pipeline.run()
    assert len(lines(path)) == 2
    pipeline.run()
    assert [(line["version"], line["row"]) for line in lines(path)] == [(2, 2), (2, 4)]


def _failing(*_, **__):
    raise RuntimeError("the process stops here")


def test_feeds_and_streams_put_rows_aside_too(spark, tmp_path):
    def feed(session, last):
        schema = f"{SCHEMA}, _change_type string, _commit_version long"
        rows = [("a", "b", 1, "insert", 1), ("b", None, 2, "insert", 1), ("c", None, 2, "delete", 1)]
        return session.createDataFrame(rows, schema).coalesce(1)

    path = tmp_path / "refused.jsonl"
    db = database(spark)
    db.pipeline([Feed("link", feed, name="feed", on_null=str(path))]).run()
    assert list(db["link"]) == [("a", "b", 1)]
    assert [(line["source"], line["row"], line["column"]) for line in lines(path)] == [("feed", 2, "dst")]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"src": "x", "dst": "y", "cost": 1}\n{"src": "x", "cost": 2}\n')
    stream = Stream(
        "link",
        lambda session: session.readStream.schema(SCHEMA).json(str(tmp_path / "in")),
        name="stream",
        on_null=str(path),
    )
    db = database(spark)
    db.pipeline([stream], [FeedFolder("reach", str(tmp_path / "out"))]).run()
    assert list(db["link"]) == [("x", "y", 1)]
    assert [(line["source"], line["row"]) for line in lines(path)] == [("feed", 2), ("stream", 2)]


def test_nan_is_missing_where_the_source_says_so(spark):
    frame = spark.createDataFrame([("a", float("nan")), ("b", 1.0)], "k string, v double").coalesce(1)
    db = hw.connect(spark=spark)
    db.define("m(k: string, v: float).")
    with pytest.raises(hw.DataError, match="row 1, column v: there is no value"):
        db.pipeline([Snapshot("m", frame, nan="null")]).run()
    db.pipeline([Snapshot("m", frame, nan="null", on_null="drop")]).run()
    assert list(db["m"]) == [("b", 1.0)]
    db.pipeline([Snapshot("m", frame)]).run()
    assert len(db["m"]) == 2


@pytest.mark.parametrize(
    ("key", "value"), [("on_null", "dorp"), ("on_null", 3), ("nan", "NaN"), ("nan", None)]
)
def test_ways_that_do_not_exist_are_refused(spark, key, value):
    with pytest.raises(hw.HeadwaterError) as caught:
        Snapshot("link", lambda session: None, **{key: value})
    assert caught.value.code in ("unknown-option", "wrong-type") and caught.value.hint
