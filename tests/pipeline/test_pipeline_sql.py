"""Tables of other databases: over JDBC by Spark (Derby comes with it), over SQLAlchemy (SQLite), and sinks there."""

from __future__ import annotations

import random
import sqlite3

import pytest
from pipeline_support import PROGRAM, edited, random_links, reach

import headwater as hw
from headwater.pipeline import Jdbc, Snapshot, SqlAlchemy, SqlSink

pytest.importorskip("sqlalchemy")
pytestmark = pytest.mark.xdist_group("spark")


def fill(connection, links):
    connection.execute("CREATE TABLE IF NOT EXISTS link (src TEXT, dst TEXT, cost INTEGER, note TEXT)")
    connection.execute("DELETE FROM link")
    connection.executemany("INSERT INTO link VALUES (?, ?, ?, NULL)", sorted(links))
    connection.commit()


def test_a_table_is_followed_and_the_view_is_kept_in_another_one(spark, tmp_path):
    rng = random.Random(9)
    url, file = f"sqlite:///{tmp_path}/net.db", tmp_path / "net.db"
    db = hw.connect(tmp_path / "state", spark=spark)
    db.define(PROGRAM)
    pipeline = db.pipeline([SqlAlchemy("link", url, table="link")], [SqlSink("reach", url, "reach")])
    links = random_links(rng, 10)
    with sqlite3.connect(file) as connection:
        for _ in range(5):
            fill(connection, links)
            pipeline.run()
            assert set(db["link"].rows()) == links
            found = connection.execute("SELECT * FROM reach").fetchall()
            assert set(found) == reach(links) and len(found) == len(set(found))
            assert db.owed("sql:reach") == []
            links = edited(rng, links)


def test_a_query_chooses_in_the_database(spark, tmp_path):
    with sqlite3.connect(tmp_path / "net.db") as connection:
        fill(connection, {("a", "b", 1), ("b", "c", 9)})
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    query = "SELECT src, dst, cost FROM link WHERE cost < 5"
    db.pipeline([SqlAlchemy("link", f"sqlite:///{tmp_path}/net.db", query=query)]).run()
    assert db["link"].rows() == [("a", "b", 1)]


def test_a_publication_that_fails_leaves_the_table_as_it_was_and_is_made_later(spark, tmp_path):
    url = f"sqlite:///{tmp_path}/out.db"
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    links = {("a", "b", 1)}
    source = Snapshot("link", lambda s: s.createDataFrame(sorted(links), "src string, dst string, cost int"))
    pipeline = db.pipeline([source], [SqlSink("reach", url, "reach")])
    pipeline.run()
    with sqlite3.connect(tmp_path / "out.db") as connection:
        connection.execute("CREATE TRIGGER no BEFORE INSERT ON reach BEGIN SELECT RAISE(ABORT, 'full'); END")
        connection.commit()
        links.add(("b", "c", 1))
        links.discard(("a", "b", 1))
        with pytest.raises(hw.PipelineError) as refused:
            pipeline.run()
        assert refused.value.code == "sink-failed"
        assert connection.execute("SELECT * FROM reach").fetchall() == [("a", "b")]
        connection.execute("DROP TRIGGER no")
        connection.commit()
        pipeline.run()
        assert connection.execute("SELECT * FROM reach").fetchall() == [("b", "c")]


def test_addresses_and_names_that_are_wrong(spark, tmp_path):
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    for source, code in [
        (SqlAlchemy("link", f"sqlite:///{tmp_path}/net.db", table="nothing"), "missing-source"),
        (SqlAlchemy("link", "nonsense", table="link"), "bad-source"),
        (SqlAlchemy("link", f"sqlite:///{tmp_path}/net.db", query="SELEC 1"), "missing-source"),
    ]:
        with pytest.raises(hw.PipelineError) as refused:
            db.pipeline([source]).run()
        assert refused.value.code == code
    with pytest.raises(hw.PipelineError) as refused:
        SqlAlchemy("link", "sqlite://")
    assert refused.value.code == "bad-source"
    with pytest.raises(hw.PipelineError) as refused:
        db.pipeline([SqlAlchemy("link", "mystery://user:secret@host/db", table="link")]).run()
    assert "secret" not in str(refused.value)


def test_spark_reads_over_jdbc_and_pushes_the_filter_down(spark, tmp_path):
    url = f"jdbc:derby:{tmp_path}/derby;create=true"
    rows = [("a", "b", 1), ("b", "c", 2), ("c", "d", 30)]
    frame = spark.createDataFrame(rows, "SRC string, DST string, COST int")
    frame.write.format("jdbc").options(url=url, dbtable="LINK").save()
    db = hw.connect(spark=spark)
    db.define(PROGRAM)
    source = Jdbc(
        "link", url, "LINK", columns={"src": "SRC", "dst": "DST", "cost": "COST"}, where="COST < 10"
    )
    pipeline = db.pipeline([source])
    pipeline.run()
    assert set(db["link"].rows()) == set(rows[:2])
    spark.createDataFrame([("d", "e", 4)], "SRC string, DST string, COST int").write.format("jdbc").options(
        url=url, dbtable="LINK"
    ).mode("append").save()
    pipeline.run()
    assert set(db["link"].rows()) == {*rows[:2], ("d", "e", 4)}

    from headwater.pipeline.projection import Projection

    plan = Projection(source.columns, source.where).apply(source.frame(spark), db.info("link"), "jdbc")
    assert "PushedFilters: [*IsNotNull(COST), *LessThan(COST,10)]" in plan._jdf.queryExecution().toString()
