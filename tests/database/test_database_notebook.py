"""What a notebook shows of a database: HTML that is well formed, escaped, and cut where it is long."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any

import pytest

import headwater as hw
from headwater.notebook import MOST_CHARACTERS, MOST_COLUMNS, MOST_ROWS, cell, rows_table

HOSTILE = '<script>alert("1")</script> & \x00 \u202e'
RULES = """
reach(X, Y) :- link(X, Y).
reach(X, Y) :- link(X, Z), reach(Z, Y).
degree(X, count<Y>) :- link(X, Y).
cut(X) :- link(X, _), !reach(X, X).
"""


class Page(HTMLParser):
    """A page whose tags are closed in order; its texts and tags."""

    def __init__(self, html: str):
        super().__init__()
        self.opened: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.opened == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag != "br":
            self.opened.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)


@pytest.fixture
def db() -> hw.Database:
    database = hw.connect()
    database.define(RULES)
    database.apply(insert={"link": [(HOSTILE, "b"), ("b", "c"), ("c", "b")]})
    return database


def shown(thing: Any) -> Page:
    return Page(thing._repr_html_())


def test_a_relation_has_types_rows_and_their_number(db: hw.Database):
    page = shown(db["reach"])
    assert page.tags.count("tr") == 1 + len(db["reach"])
    assert "string" in page.texts
    assert f"reach: {len(db['reach'])} rows" in page.texts


def test_no_value_is_markup(db: hw.Database):
    row = (HOSTILE, "c")
    things = [
        db, db.relations, db["link"], db["reach"].where(Y="c"), db.query("reach(X, c)"), db.explain(), db.statistics,
        db.what_if(delete={"link": [("b", "c")]}), db.what_if(delete={"link": [("b", "c")]})["reach"],
        db.why("reach", row), db.why("reach", row).proof(), db.why_not("reach", ("c", HOSTILE)),
        db.depends("link", (HOSTILE, "b")), db.evaluate("cut", "lineage"),
    ]  # fmt: skip
    for thing in things:
        page = shown(thing)
        assert "script" not in page.tags, thing
        assert "\x00" not in page.text, thing


def test_a_graph_is_a_picture(db: hw.Database):
    picture = ElementTree.fromstring(db.why("reach", ("b", "b")).graph._repr_svg_())
    assert picture.tag.endswith("svg")


def test_an_explanation_has_proof_and_picture(db: hw.Database):
    page = shown(db.why("reach", ("b", "b")))
    assert "by reach#2" in page.text
    assert {"pre", "svg", "details"} <= set(page.tags)
    assert "svg" not in shown(db.why("link", ("b", "c"))).tags


def test_changes_have_counts_and_rows():
    db = hw.connect()
    db.define(RULES)
    changes = db.apply(insert={"link": [(n, n + 1) for n in range(30)]})
    page = shown(changes)
    assert [text for text in page.texts if text.startswith("+")][:3] == ["+30", "+465", "+30"]
    assert f"30 inserted, 0 deleted, {MOST_ROWS} rows of them shown" in page.texts
    assert "no change" in shown(db.apply(insert={"link": [(0, 1)]})).text


def test_statistics_have_a_row_for_each_view(db: hw.Database):
    page = shown(db.statistics)
    assert {"reach", "degree", "support", "grouping"} <= set(page.texts)
    assert "3 rows inserted" in page.text


def test_what_is_long_is_cut():
    db = hw.connect()
    db.define(f".decl wide({', '.join(f'c{n}: int' for n in range(40))})")
    db.apply(insert={"wide": [(0,) * 40]})
    page = shown(db["wide"])
    assert page.tags.count("th") == MOST_COLUMNS
    assert "10 more columns" in page.text
    assert len(cell("x" * 1000)) == MOST_CHARACTERS + 1
    rows = [(n,) for n in range(50)]
    assert f"50 rows, {MOST_ROWS} of them shown" in Page(rows_table(("n",), ("int",), rows, 50)).text


def test_null_is_no_string():
    assert cell(None) != cell("null") == "null"


def test_relations_without_columns_rows_or_types():
    db = hw.connect()
    db.define(".decl flag()\nflag().\np(X) :- q(X).")
    assert "flag: 1 row" in shown(db["flag"]).text
    assert "p: 0 rows" in shown(db["p"]).text
    assert "yes" in shown(db.query("flag()")).text


def test_a_closed_database_says_so():
    db = hw.connect()
    db.close()
    assert "closed" in shown(db).text
