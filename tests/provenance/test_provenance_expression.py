"""Provenance expressions: the examples of green-2007, and what leaves the process."""

from __future__ import annotations

import datetime
import json
from io import StringIO
from xml.etree import ElementTree

import pytest
from rich.console import Console

import headwater as hw
from headwater.database import Database

MAPPINGS = """
G(i: int, c: int, n: int).
B(i: int, n: int).
U(n: int, c: string).
.input B
.input U
m1 B(I, N) :- G(I, _, N).
m3 U(N, C) :- B(_, N), C = cat("c", to_string(N)).
m4 B(I, N) :- B(I, C), L(N, C).
"""
TOKENS = {("B", (3, 5)): "p1", ("L", (2, 5)): "p2", ("G", (3, 5, 2)): "p3"}


def exchange() -> Database:
    """Example 3: what the peers inserted. L holds the local contributions to U, so that the mappings end."""
    db = hw.connect()
    db.define(MAPPINGS)
    db.apply(insert={"G": [(1, 2, 3), (3, 5, 2)], "B": [(3, 5)], "L": [(2, 5)]})
    return db


def test_green_2007_example_5_the_graph():
    graph = exchange().why("B", (3, 2)).graph
    assert sorted(
        arrow.rule for arrow in graph.derivations if graph.rows[arrow.head].fact == ("B", (3, 2))
    ) == [
        "m1",
        "m4",
    ]
    base = {row.fact for row in graph.rows if row.kind in ("base", "given")}
    assert base == set(TOKENS)


def test_green_2007_example_6_expressions():
    db = exchange()
    assert db.why("B", (3, 2)).polynomial(TOKENS) == "m1(p3) + m4(p1·p2)"
    assert db.why("U", (2, "c2")).polynomial(TOKENS) == "m3(m1(p3)) + m3(m4(p1·p2))"


def test_green_2007_example_6_what_distrust_taints():
    why = exchange().why("B", (3, 2))
    assert why.evaluate("trust", {"L": {(2, 5): False}}, {"m1": False}) is False  # p2 and m1
    assert why.evaluate("trust", {"L": {(2, 5): False}, "B": {(3, 5): False}}) is True  # p1 and p2


def test_green_2007_example_7_trust():
    db = exchange()
    base = {"G": {(3, 5, 2): "T"}, "B": {(3, 5): "T"}, "L": {(2, 5): "D"}}
    assert db.why("B", (3, 2)).evaluate("trust", base) is True
    assert db.evaluate("B", "trust", base)[3, 2] is True


def test_green_2007_example_10_a_deletion_that_leaves_a_derivation():
    db = exchange()
    found = db.depends("L", (2, 5))
    assert ("B", (3, 2)) in found.uses - found.falls
    db.apply(delete={"L": [(2, 5)]})
    assert db.why("B", (3, 2)).polynomial(TOKENS) == "m1(p3)"


def test_where_derivations_form_cycles_there_is_a_system_of_equations():
    db = hw.connect()
    db.define("r1 reach(X, Y) :- link(X, Y). r2 reach(X, Y) :- link(X, Z), reach(Z, Y).")
    db.apply(insert={"link": [("a", "b"), ("b", "a")]})
    why = db.why("reach", ("a", "b"))
    with pytest.raises(hw.errors.EvaluationError, match="circles"):
        why.polynomial()
    assert why.expression({("link", ("a", "b")): "p", ("link", ("b", "a")): "q"}).splitlines() == [
        'reach("a", "b") = r1(p) + r2(p·reach("b", "b"))',
        'reach("b", "b") = r2(q·reach("a", "b"))',
    ]


def test_powers_and_counts():
    db = hw.connect()
    db.define("m p(X) :- q(X), q(Y), Y >= X.")
    db.apply(insert={"q": [(1,)]})
    assert db.why("p", (1,)).polynomial(lambda fact: "q1") == "m(q1²)"


def test_parts_of_rules_leave_no_name():
    db = hw.connect()
    db.define("r deg(X, N) :- node(X), N = count : { link(X, _) }.")
    db.apply(insert={"node": [(1,)], "link": [(1, 2), (1, 3)]})
    assert db.why("deg", (1, 2)).polynomial() == "r(link(1, 2)·link(1, 3)·node(1))"


# ------------------------------------------------------------------ leaving the process


def test_json_says_all():
    found = json.loads(json.dumps(exchange().why("B", (3, 2)).to_json()))
    assert found["row"] == {"relation": "B", "values": [3, 2]}
    assert found["graph"]["rows"][0]["text"] == "B(3, 2)"
    assert {tuple(sorted(str(row) for row in term)) for term in found["dnf"]["terms"]} and found["dnf"][
        "more"
    ] == 0
    assert found["proof"]["steps"][-1] == {
        "row": "B(3, 2)", "rule": "m1", "premises": ["G(3, 5, 2)"], "absent": [],
    }  # fmt: skip


def test_json_has_text_for_what_json_lacks():
    db = hw.connect()
    db.define("p(D, X, L) :- q(D, X, L). q(d: date, x: float, l: list[int]).")
    db.apply(insert={"q": [(datetime.date(2020, 1, 2), float("inf"), (1, 2))]})
    why = db.why("p", (datetime.date(2020, 1, 2), float("inf"), (1, 2)))
    assert json.loads(json.dumps(why.to_json()))["row"]["values"] == ["2020-01-02", "inf", [1, 2]]


@pytest.mark.parametrize(
    "value", ['<"&\\\n>', "".join(map(chr, range(32))), "\x7f\x9f\u202e\ufffe\uffff]]>", "\\"]
)
def test_pictures_are_well_formed_whatever_the_values(value):
    db = hw.connect()
    db.define("p(X) :- q(X), !r(X, _). p(X) :- p(X), q(X).")
    db.apply(insert={"q": [(value,)]})
    graph = db.why("p", (value,)).graph
    picture = ElementTree.fromstring(graph.svg())
    words = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert any("no r(" in word for word in words if word)
    dot = graph.dot()
    assert dot.replace("\n", "").isprintable() and dot.count("\n") == dot.count(";") + 2
    assert dot.startswith("digraph why {") and dot.rstrip().endswith("}") and dot.count("shape=ellipse") == 2


def test_a_large_graph_is_drawn_in_part_and_says_so():
    db = hw.connect()
    db.define("p(X) :- q(X, _).")
    db.apply(insert={"q": [(1, n) for n in range(500)]})
    assert "more rows</text>" in db.why("p", (1,)).graph.svg()


def test_rich_shows_trees_and_tables():
    db = exchange()
    out = StringIO()
    console = Console(file=out, width=100)
    for shown in (
        db.why("B", (3, 2)), db.why("B", (3, 2)).graph, db.why("B", (3, 2)).proof(), db.why_not("B", (9, 9)),
        db.depends("G", (3, 5, 2)), db.evaluate("B", "trust"),
    ):  # fmt: skip
        console.print(shown)
    assert "m1" in out.getvalue() and "is not there" in out.getvalue() and "trust" in out.getvalue()
