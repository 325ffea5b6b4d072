"""`hw.sketches`: which way a query is answered, and that every way gives the plain answer."""

from __future__ import annotations

import random
import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import examples
from sketch_queries import bag, database, random_query, random_rows
from test_sketch_capture import SALES, TOP

import headwater as hw
from headwater.errors import DataError, SketchError, SqlError, StoreError
from headwater.sketch import asking


@pytest.fixture
def shop(tmp_path):
    address = database(tmp_path / "shop.db", {"sales": SALES})
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("sales", partition="price", ranges=4)
        yield sketches


def test_nothing_is_proved_about_sketches_of_queries_that_differ_in_more_than_constants(shop, monkeypatch):
    for number in range(5):
        shop.ask(f"SELECT brand, price + {number} AS p FROM sales WHERE price > 1000", way="capture")
    proved = []
    prove = asking.prove
    monkeypatch.setattr(asking, "prove", lambda *given: proved.append(given) or prove(*given))
    shop.ask("SELECT sid FROM sales WHERE numsold > 1")
    assert not proved
    answer = shop.ask("SELECT brand, price + 3 AS p FROM sales WHERE price > 1100")
    assert answer.decision.way == "use" and len(proved) == 2


def test_a_query_is_run_then_captured_then_used_then_maintained(shop):
    ways = []
    for _ in range(3):
        answer = shop.ask(TOP)
        assert bag(answer.rows) == [("Apple", 5074.0)]
        ways.append(answer.decision.way)
    assert ways == ["plain", "capture", "use"]
    s8 = (8, "HP", "650 G10", 1299, 1)
    assert shop.update("sales", insert=[s8]) == 1
    found = shop.ask(TOP, way="maintain")
    assert bag(found.rows) == [("Apple", 5074.0), ("HP", 6194.0)]
    shop.update("sales", delete=[s8])
    again = shop.ask(TOP, way="maintain")
    assert bag(again.rows) == [("Apple", 5074.0)]
    assert again.decision.changed == 1
    assert again.decision.versions == {"sales": 2}
    assert "maintain" in str(again.decision)
    assert shop.last == again.decision
    kept = shop.list()[0]
    assert [each.versions["sales"] for each in kept.sketches] == [0, 1, 2]


@pytest.mark.parametrize("partition", ["v, w", ["v", "w"]])
def test_a_sketch_over_several_attributes_of_a_table(tmp_path, partition):
    """Only rows in the fragments of both are read; both follow the table, and so does what is kept."""
    rows = pa.table(
        {"g": [n // 10 for n in range(60)], "v": range(60), "w": [n * 37 % 60 for n in range(60)]}
    )
    address = database(tmp_path / "t.db", {"t": rows})
    text = "SELECT g, sum(v) AS s FROM t WHERE w > 40 GROUP BY g HAVING sum(v) > 200"
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t", partition=partition, ranges=6)
        plain = bag(sketches.ask(text, way="plain").rows)
        assert bag(sketches.ask(text, way="capture").rows) == plain == [(5.0, 216.0)]
        assert sketches.last.sketch == "t.v: 1 of 7 fragments; t.w: 2 of 7 fragments"
        assert bag(sketches.ask(text, way="use").rows) == plain
        for insert, delete in (([(0, 1000, 50)], []), ([(5, 3, 45)], [(5, 51, 27)]), ([], [(0, 1000, 50)])):
            sketches.update("t", insert=insert, delete=delete)
            found = sketches.ask(text, way="maintain")
            assert bag(found.rows) == bag(sketches.ask(text, way="plain").rows)
            fresh = sketches.list()[0].newest
            sketches.ask(text, way="capture")
            assert sketches.list()[0].newest == fresh
    with hw.sketches(address, tmp_path / "state") as sketches:
        assert sketches._tables["t"].partition == ("v", "w")


def test_a_change_feed_changes_a_table(shop):
    shop.ask(TOP, way="capture")
    kinds = ["update_postimage", "insert", "update_preimage", "delete"]
    rows = [
        (6, "HP", "450 G9", 999, 5),
        (8, "HP", "new", 2000, 1),
        (6, "HP", "450 G9", 999, 4),
        (8, "HP", "new", 2000, 1),
    ]
    feed = pa.Table.from_pylist([dict(zip(SALES.column_names, row, strict=True)) for row in rows])
    assert shop.update("sales", changes=feed.append_column("_change_type", pa.array(kinds))) == 1
    assert bag(shop.ask(TOP, way="maintain").rows) == [("Apple", 5074.0), ("HP", 5894.0)]
    for wrong in (feed, feed.append_column("_change_type", pa.array(["upsert"] * 4)), [(1, 2)]):
        with pytest.raises(DataError):
            shop.update("sales", changes=wrong)


def test_a_sketch_answers_queries_with_other_constants(shop):
    """c2 >= c1 of a sum that never falls; not c2 < c1. A stale one is maintained first."""
    shop.ask(TOP, way="capture")
    higher = shop.ask(TOP.replace("5000", "5050"))
    assert (higher.decision.way, bag(higher.rows)) == ("use", [("Apple", 5074.0)])
    assert shop.list()[0].name in higher.decision.reason
    shop.update("sales", insert=[(8, "HP", "650 G10", 1299, 1)])
    assert bag(shop.ask(TOP.replace("5000", "5060")).rows) == [("Apple", 5074.0), ("HP", 6194.0)]
    lower = shop.ask(TOP.replace("5000", "1000"))
    assert lower.decision.way == "plain"
    assert len(lower.rows) == 4


def test_what_is_kept_survives(tmp_path):
    """Sketches and the state that maintains them are there again, and follow what happened meanwhile."""
    address = database(tmp_path / "shop.db", {"sales": SALES})
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("sales", partition="price", ranges=4)
        sketches.ask(TOP, way="capture")
        sketches.update("sales", insert=[(8, "HP", "650 G10", 1299, 1)])
        sketches.maintain()
    with hw.sketches(address, tmp_path / "state") as sketches:
        assert sketches.ask(TOP, way="use").decision.way == "use"
        sketches.update("sales", delete=[(3, "Apple", "Air 13-inch", 1199, 1)])
        found = sketches.ask(TOP, way="maintain")
        assert found.decision.changed == 1
        assert bag(found.rows) == [("HP", 6194.0)]
        name = sketches.list()[0].name
        sketches.drop(name)
        assert sketches.list() == ()
    assert not list((tmp_path / "state" / "queries").iterdir())


def test_what_is_not_maintained_is_captured_anew_and_says_so(tmp_path):
    """An outer join: asked for, renewed with all others, and as a lender to a query with another constant."""
    rows = pa.table({"g": [n // 5 for n in range(60)], "x": range(60)})
    address = database(tmp_path / "t.db", {"t": rows, "d": pa.table({"g": [1, 2, 2]})})
    text = "SELECT t.g, count(*) AS n FROM t LEFT JOIN d ON t.g = d.g GROUP BY t.g HAVING count(*) > 5"
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=12)
        sketches.table("d")
        assert bag(sketches.ask(text, way="capture").rows) == [(2.0, 10.0)]
        for number, ask in enumerate((lambda: sketches.ask(text).decision, sketches.maintain)):
            sketches.update("d", insert=[(3 + number,)] * 2)
            found = ask()
            decision = found if not isinstance(found, dict) else found[sketches.list()[0].name]
            assert decision.way == "capture" and "kind left is not maintained" in decision.reason
            assert len(sketches.ask(text, way="use").rows) == 2 + number
        sketches.update("d", insert=[(9,)] * 2)
        other = sketches.ask(text.replace("> 5", "> 7"))
        assert (other.decision.way, len(other.rows)) == ("plain", 4)


def test_a_sketch_whose_fact_broke_is_dropped(shop):
    """sum > 5000 is safe while nothing is negative; then a product is taken back at a loss."""
    shop.ask(TOP, way="capture")
    shop.update("sales", insert=[(8, "HP", "650 G10", 1299, 1)])
    shop.ask(TOP, way="maintain")
    shop.update("sales", insert=[(9, "HP", "loss", -3000, 1)])
    with pytest.raises(SketchError, match="fact-broken"):
        shop.ask(TOP, way="maintain")
    shop.update("sales", insert=[(10, "HP", "gift", 0, 1)])
    answer = shop.ask(TOP)
    assert answer.decision.way == "plain"
    assert "sales.price >= 0" in answer.decision.reason
    assert bag(answer.rows) == [("Apple", 5074.0)]
    assert shop.list()[0].sketches == ()


def test_what_is_not_safe_is_run_plainly(shop):
    text = "SELECT brand, avg(price) AS a FROM sales GROUP BY brand HAVING avg(price) > 1000"
    for _ in range(3):
        answer = shop.ask(text)
        assert answer.decision.way == "plain"
    assert "not safe" in shop.explain(text)
    with pytest.raises(SketchError, match="not-safe"):
        shop.ask(text, way="capture")


def test_explain_says_what_is_done_next(shop):
    ways = []
    for number in range(5):
        said = shop.explain(TOP)
        decided = shop.ask(TOP).decision
        assert f"\nnext: {decided.way}: {decided.reason.partition(';')[0]}" in said
        ways.append(decided.way)
        if number == 2:
            shop.update("sales", insert=[(8, "HP", "HP X", 1299, 1)])
    assert ways[:3] == ["plain", "capture", "use"]


def test_a_broken_fact_is_said_by_explain_and_nothing_is_dropped_by_it(shop):
    shop.ask(TOP, way="capture")
    shop.maintain()
    shop.update("sales", insert=[(8, "HP", "HP X", -1, 1)])
    for _ in range(2):
        assert "\nnext: plain: the sketch rested on " in shop.explain(TOP)
        assert shop.list()[0].newest is not None
    assert shop.ask(TOP).decision.way == "plain"
    assert shop.list()[0].newest is None


def test_explain_and_advise(shop):
    shop.ask(TOP, way="capture")
    said = shop.explain(TOP)
    assert "safe: the answer over every sketch on sales.price is the answer" in said
    assert "next: use" in said
    assert {str(each.slot) for each in shop.advise(TOP) if each.is_safe} >= {"sales.price", "sales.sid"}


def test_why_no_sketch_is_safe_is_said_where_nobody_chose_an_attribute(tmp_path):
    address = database(tmp_path / "shop.db", {"sales": SALES})
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("sales")
        few = "SELECT count(*) AS n FROM sales HAVING count(*) < 3"
        assert "not safe [condition-not-kept] at condition, line 1" in sketches.explain(few)
        sketches.ask(few)
        assert sketches.ask(few).decision.reason == "no sketch is safe (condition-not-kept)"


def test_a_sketch_of_tables_that_did_not_change_says_so(shop):
    shop.ask(TOP, way="capture")
    shop.maintain()
    (decision,) = shop.maintain().values()
    assert decision.reason == "nothing that it reads has changed"


@pytest.mark.parametrize(
    ("call", "error", "code"),
    [
        (lambda s: s.ask("SELECT nothing FROM sales"), SqlError, "unknown-column"),
        (lambda s: s.ask("SELECT 1 FROM nowhere"), SqlError, "unknown-table"),
        (lambda s: s.ask(TOP, way="fast"), SketchError, "unknown-way"),
        (lambda s: s.ask(TOP, way="use"), SketchError, "no-sketch"),
        (lambda s: s.table("nowhere"), SketchError, "unknown-table"),
        (lambda s: s.table("shop", "sales"), SketchError, "bad-name"),
        (lambda s: s.table("sales", partition="colour"), SketchError, "unknown-column"),
        (lambda s: s.table("sales", ranges=0), SketchError, "bad-ranges"),
        (lambda s: s.update("nowhere", insert=[]), SketchError, "unknown-table"),
        (lambda s: s.update("sales", insert=[(1, 2)]), DataError, "wrong-arity"),
        (lambda s: s.update("sales", insert=[("x", 1, 2, 3, 4)]), DataError, "wrong-type"),
        (lambda s: s.update("sales", delete=[(1, "x", "y", 3, 4)]), SketchError, "row-not-there"),
        (lambda s: s.ask(TOP, versions={"sales": 7}), SketchError, "no-such-version"),
        (lambda s: s.ask("SELECT CAST(brand AS INTEGER) AS b FROM sales"), SketchError, "backend-failed"),
        (lambda s: s.drop("0000"), SketchError, "unknown-sketch"),
        (lambda s: s.sql(TOP, fast=True), DataError, "wrong-arguments"),
        (lambda s: hw.sketches("sqlite:///x", s._state.folder / "more"), SketchError, "unknown-backend"),
        (
            lambda s: hw.sketches("mysql+nosuch://x/y", s._state.folder / "more"),
            SketchError,
            "unknown-backend",
        ),
        (lambda s: hw.sketches("duckdb:///x", s._state.folder), StoreError, "locked"),
    ],
)
def test_mistakes_are_errors_with_codes(shop, call, error, code):
    with pytest.raises(error, match=code):
        call(shop)
    assert bag(shop.ask(TOP).rows) == [("Apple", 5074.0)]


@pytest.mark.parametrize("wrong", ["{", "[]", '{"format": 9}', '{"format": 1}'])
def test_damaged_files_are_named(tmp_path, wrong):
    address = database(tmp_path / "shop.db", {"sales": SALES})
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("sales")
        sketches.ask(TOP)
        name = sketches.list()[0].name
    file = tmp_path / "state" / "queries" / f"{name}.json"
    file.write_text(wrong)
    with pytest.raises(SketchError, match="damaged-state"):
        hw.sketches(address, tmp_path / "state")
    file.unlink()
    hw.sketches(address, tmp_path / "state").close()


@settings(max_examples=examples(10))
@given(seed=st.integers(0, 2**32))
def test_whatever_is_decided_answers_are_plain_answers(seed, tmp_path_factory):
    """Queries are repeated while tables change; facts break now and then."""
    rng = random.Random(seed)
    folder = tmp_path_factory.mktemp("db")
    r, s = random_rows(rng, 25)
    queries = [random_query(rng).text for _ in range(4)]
    address = database(folder / "x.db", {"r": r, "s": s})
    with hw.sketches(address, folder / "state") as sketches:
        sketches.table("r", partition="x", ranges=rng.randint(1, 8))
        sketches.table("s", partition="y", ranges=5)
        for _ in range(14):
            text = rng.choice(queries)
            forced = rng.choice([None, None, "maintain", "capture"])
            try:
                found = sketches.ask(text, way=forced)
            except SketchError as error:
                assert error.code in ("not-safe", "no-sketch", "fact-broken", "not-maintained", "no-capture")
                found = sketches.ask(text)
            assert bag(found.rows) == bag(sketches.ask(text, way="plain").rows), (text, found.decision)
            if rng.random() < 0.5:
                come, _ = random_rows(rng, rng.randint(1, 4))
                rows = r.slice(rng.randrange(r.num_rows), 1)
                sketches.update("r", insert=come, delete=rows)
                import numpy as np

                place = r.to_pylist().index(rows.to_pylist()[0])
                keep = [n for n in range(r.num_rows) if n != place]
                r = pa.concat_tables([r.take(np.array(keep, dtype=int)), come])
    sketches.backend.engine.dispose()


def test_a_version_that_was_taken_back_is_not_taken_for_the_one_that_follows(tmp_path, monkeypatch):
    """Nobody told of the changes, so the first query afterwards gives them a version; a query that is broken off
    gives none, and the sketch that it had maintained is of no use."""
    rows = pa.table({"g": list(range(40)), "v": [1] * 40})
    text = "SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 3"

    def broken_off(*_, **__):
        raise KeyboardInterrupt

    with hw.sketches(database(tmp_path / "t.db", {"t": rows}), tmp_path / "state") as sketches:

        def change(group):
            with sketches.backend.engine.begin() as connection:
                connection.exec_driver_sql(f"INSERT INTO t VALUES ({group}, 5)")

        sketches.table("t", partition="g", ranges=10)
        sketches.ask(text, way="capture")
        change(1)
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(asking.AskedQuery, "_use", broken_off)
            sketches.ask(text, way="maintain")
        change(31)
        assert bag(sketches.ask(text, way="maintain").rows) == [(1, 6), (31, 6)]
        assert bag(sketches.ask(text).rows) == [(1, 6), (31, 6)]


def test_tables_whose_changes_would_have_one_record_are_refused(tmp_path):
    address = database(tmp_path / "two.db", {"shop_sales": SALES})
    with duckdb.connect(str(tmp_path / "two.db")) as connection:
        connection.execute("CREATE SCHEMA shop; CREATE TABLE shop.sales AS FROM shop_sales")
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("shop.sales")
        with pytest.raises(SketchError, match="same-record"):
            sketches.table("shop_sales")
        sketches.table("shop.sales")


def test_a_table_that_is_refused_stays_as_it_was_named(shop):
    before = shop._tables["sales"]
    with pytest.raises(SketchError, match="unknown-column"):
        shop.table("sales", partition="colour")
    assert shop._tables["sales"] == before


def test_other_processes_can_open_a_database_that_was_closed(tmp_path):
    address = database(tmp_path / "shop.db", {"sales": SALES})
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("sales", partition="price", ranges=4)
        sketches.ask(TOP)
    said = f"import duckdb; duckdb.connect({str(tmp_path / 'shop.db')!r})"
    subprocess.run([sys.executable, "-c", said], check=True)


def test_a_table_that_is_gone_leaves_the_others_and_can_be_forgotten(tmp_path):
    import duckdb

    address, state = database(tmp_path / "shop.db", {"sales": SALES, "old": SALES}), tmp_path / "state"
    lost = TOP.replace("FROM sales", "FROM old")
    with hw.sketches(address, state) as sketches:
        for name in ("sales", "old"):
            sketches.table(name, partition="price", ranges=4)
        for text in (TOP, lost):
            sketches.ask(text, way="capture")
    with duckdb.connect(str(tmp_path / "shop.db")) as connection:
        connection.execute("DROP TABLE old")
    with hw.sketches(address, state) as sketches:
        assert bag(sketches.ask(TOP, way="use").rows) == [("Apple", 5074.0)]
        with pytest.raises(SqlError) as caught:
            sketches.ask(lost)
        assert caught.value.code == "unknown-table" and caught.value.place is not None
        gone = next(kept.name for kept in sketches.list() if kept.text == lost)
        assert sketches.maintain()[gone].way == "plain"
        sketches.drop(gone)
    with hw.sketches(address, state) as sketches:
        assert [kept.text for kept in sketches.list()] == [TOP]
