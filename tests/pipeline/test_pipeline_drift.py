"""Schemas that change under a source: more columns pass; what no longer fits is refused, with both schemas."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pipeline_support import PROGRAM, write_csv

import headwater as hw
from headwater.pipeline import Files, Snapshot

pytestmark = pytest.mark.xdist_group("spark")


def followed(spark, schemas, columns=None):
    """A relation that has followed frames with these rows and schemas, one after another."""
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    for rows, schema in schemas:
        frame = spark.createDataFrame(rows, schema)
        db.pipeline([Snapshot("link", frame, name="links", columns=columns or {})]).run()
    return db


def test_columns_that_are_added_or_moved_or_wider_than_needed_pass(spark):
    db = followed(
        spark,
        [
            ([("a", "b", 1)], "src string, dst string, cost smallint"),
            ([("x", 2, "a", "b")], "note string, cost bigint, src string, dst string"),
            ([(Decimal(3), "b", "c", True)], "cost decimal(18, 0), src string, dst string, up boolean"),
        ],
    )
    assert db["link"].rows() == [("b", "c", 3)]


@pytest.mark.parametrize(
    ("row", "schema", "words"),
    [
        (("a", "b"), "src string, dst string", "there is no column cost"),
        (("a", "b", "1"), "src string, dst string, cost string", "cost is string, and int is needed"),
        (("a", "b", 1.5), "src string, dst string, cost double", "cost is double, and int is needed"),
        (("a", 1, 1), "src string, dst int, cost int", "dst is int, and string is needed"),
        (("a", ["b"], 1), "src string, dst array<string>, cost int", "dst is array<string>"),
    ],
)
def test_what_no_longer_fits_is_refused_with_both_schemas(spark, row, schema, words):
    db = followed(spark, [([("a", "b", 1)], "src string, dst string, cost int")])
    version, frame = db.version, spark.createDataFrame([row], schema)
    with pytest.raises(hw.PipelineError) as refused:
        db.pipeline([Snapshot("link", frame, name="links")]).run()
    error = refused.value
    assert error.code == "schema-drift"
    assert words in error.message
    assert "link has:     src string, dst string, cost int" in error.message
    assert f"the source has: {schema}" in error.message
    assert "it had before:  src string, dst string, cost int" in error.message
    assert db["link"].rows() == [("a", "b", 1)] and db.version == version


def test_a_cast_that_is_meant_passes(spark):
    db = followed(
        spark, [([("a", "b", "7")], "src string, dst string, cost string")], {"cost": "cast(cost AS bigint)"}
    )
    assert db["link"].rows() == [("a", "b", 7)]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"columns": {"cost": "cast(prise AS int)"}}, "bad-sql", "prise"),
        ({"columns": {"price": "cost"}}, "unknown-column", "no column price"),
        ({"where": "cost <"}, "bad-sql", "links"),
        ({"where": "cost"}, "bad-sql", "links"),
    ],
)
def test_expressions_that_spark_refuses_are_the_users(spark, options, code, words):
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    frame = spark.createDataFrame([("a", "b", 1)], "src string, dst string, cost int")
    with pytest.raises(hw.PipelineError) as refused:
        db.pipeline([Snapshot("link", frame, name="links", **options)]).run()
    assert refused.value.code == code and words in str(refused.value)


def test_columns_without_names_are_taken_by_position_and_others_never_are(spark, tmp_path):
    (tmp_path / "links.csv").write_text("a,b,1\n")
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    db.pipeline([Files("link", str(tmp_path / "links.csv"), "csv", options={"header": "false"})]).run()
    assert db["link"].rows() == [("a", "b", 1)]
    frame = spark.createDataFrame([("a", "b", 1)], "x string, y string, z int")
    with pytest.raises(hw.PipelineError) as refused:
        db.pipeline([Snapshot("link", frame)]).run()
    assert (
        refused.value.code == "schema-drift" and "there is no column src, dst, cost" in refused.value.message
    )


def test_a_csv_file_is_text_that_must_be_what_the_relation_needs(spark, tmp_path):
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    source = Files("link", str(tmp_path / "links.csv"), "csv")
    with pytest.raises(hw.PipelineError) as refused:
        db.pipeline([source]).run()
    assert refused.value.code == "missing-source"
    write_csv(tmp_path / "links.csv", [("a", "b", "1")])
    db.pipeline([source]).run()
    write_csv(tmp_path / "links.csv", [("a", "b", "1"), ("b", "c", "much")])
    with pytest.raises(hw.PipelineError) as refused:
        db.pipeline([source]).run()
    assert refused.value.code == "bad-value" and "'much'" in refused.value.message
    write_csv(tmp_path / "links.csv", [("a", "b")], "src,dst")
    with pytest.raises(hw.PipelineError) as refused:
        db.pipeline([source]).run()
    assert refused.value.code == "schema-drift"
    assert db["link"].rows() == [("a", "b", 1)]
