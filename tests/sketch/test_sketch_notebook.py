"""What a notebook shows of sketches: the queries with their fragments as a picture, answers with what was decided."""

from __future__ import annotations

from pathlib import Path

import duckdb

import headwater as hw

TEXT = "SELECT k, sum(v) AS s FROM t WHERE k < 20 OR k > 90 GROUP BY k HAVING sum(v) > 0"
ODD = "SELECT count(*) AS n FROM t WHERE '<b>' <> 'b'"


def test_queries_print_as_a_table_and_show_their_fragments(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS k, range % 7 + 1 AS v FROM range(100)")
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        sketches.table("t", partition="k", ranges=10)
        answer = sketches.ask(TEXT, way="capture")
        sketches.ask(ODD)
        part = sketches.list()[0].newest.parts[0]
        assert sorted(part.fragments) == [0, 1, 9]
        first, second = sketches.list().rows()
        assert first[1:] == (1, str(part), "t at 0", TEXT) and second[2:] == ("none", "", ODD)
        heading, *lines = repr(sketches.list()).splitlines()
        assert heading.split() == ["name", "asked", "sketch", "versions", "query"] and len(lines) == 2
        assert repr(sketches) == f"<sketches {tmp_path / 'state'}: 1 table, 2 queries>"
        html = sketches._repr_html_()
        assert html.count("<rect") == 1 + 2 and "&lt;b&gt;" in html and "<b>" not in html
        shown = answer._repr_html_()
        assert f"{answer.rows.num_rows} rows, 20 of them shown" in shown and "capture: asked for" in shown
    assert repr(sketches).endswith(", closed>")


def test_what_was_done_and_what_is_advised_print_as_tables(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS k, range % 7 + 1 AS v FROM range(100)")
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        sketches.table("t", partition="k", ranges=10)
        assert repr(sketches.maintain()).split() == ["query", "way", "seconds", "changed", "reason", "sketch"]
        sketches.ask(TEXT, way="capture")
        sketches.ask(TEXT, way="maintain")
        sketches.update("t", insert=[(5, 1), (95, 1)])
        done = sketches.maintain()
        ((name, way, _, changed, reason, sketch),) = done.rows()
        assert (way, changed, reason) == ("maintain", "2", done[name].reason)
        assert sketch == "t.k: 3 of 11 fragments"
        assert name in repr(done) and f">{way}<" in done._repr_html_()
        advice = sketches.advise(TEXT.replace("sum(v) > 0", "sum(v) < 100 AND sum(v) <> 3"))
        assert advice.rows() == [
            ("t.k", "yes", "layout unknown", "a key; safe for what was asked 2 times before"),
            ("t.v", "no", "layout unknown", "condition-not-kept"),
        ]
        heading, first, second = repr(advice).splitlines()
        assert heading.split() == ["attribute", "safe", "layout", "why"] and first.startswith("t.k  ")
        assert "condition-not-kept" in second and "condition-not-kept" in advice._repr_html_()
