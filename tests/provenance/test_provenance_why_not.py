"""`why_not`: each rule's nearest miss, and repairs that work."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from oracle_lockstep import examples
from provenance_cases import Base, Case, cases

import headwater as hw
from headwater.database import Database

PROGRAM = """
reach(X, Y) :- link(X, Y).
reach(X, Y) :- link(X, Z), reach(Z, Y).
alone(X) :- node(X), !link(X, _).
big(X) :- size(X, Y), Y > 10.
degree(X, count<Y>) :- link(X, Y).
total(X, sum<Y>) :- size(X, Y).
far(X, Y) :- node(X), node(Y), !reach(X, Y), X != Y.
cheap(X, min<C>) :- size(X, C).
"""


def database() -> Database:
    db = hw.connect()
    db.define(PROGRAM)
    db.apply(
        insert={
            "link": [("a", "b"), ("b", "c"), ("x", "y")],
            "node": [("a",), ("c",), ("z",)],
            "size": [("a", 5), ("a", 20), ("b", 3)],
        }
    )
    return db


def changed(case: Case, insert: dict, delete: dict) -> Base:
    return {
        name: (rows - set(delete.get(name, ()))) | set(insert.get(name, ()))
        for name, rows in case.base.items()
    }


@settings(max_examples=examples(20))
@given(cases())
def test_a_repair_makes_the_row_appear(case: Case):
    """Any program; clingo says whether it does."""
    for relation, row in case.absent(3):
        before = case.db.version
        why_not = case.db.why_not(relation, row, repairs=2)
        assert str(why_not) and why_not.to_json()
        for repair in why_not.repairs:
            base = changed(case, **repair.arguments())
            assert case.holds(relation, row, base), (relation, row, str(repair))
        sizes = [repair.size for repair in why_not.repairs]
        assert sizes == sorted(sizes)
        assert case.db.version == before


def test_the_nearest_miss_of_each_rule_is_told_recursively():
    assert str(database().why_not("reach", ("a", "y"), depth=2)).splitlines() == [
        'reach("a", "y") is not there',
        "├─ by reach#1: reach(X, Y) :- link(X, Y).",
        '│  └─ no link("a", "y")',
        "└─ by reach#2: reach(X, Y) :- link(X, Z), reach(Z, Y).",
        '   ├─ link("a", "b") holds',
        '   └─ no reach("b", "y")',
        "      ├─ by reach#1: reach(X, Y) :- link(X, Y).",
        '      │  └─ no link("b", "y")',
        "      └─ by reach#2: reach(X, Y) :- link(X, Z), reach(Z, Y).",
        '         ├─ link("b", "c") holds',
        '         └─ no reach("c", "y")',
        "it would appear with any of these:",
        '  insert link("a", "y")',
        '  insert link("a", "x")',
        '  insert link("b", "y")',
    ]


@pytest.mark.parametrize(
    ("relation", "row", "reason", "repair"),
    [
        ("alone", ("a",), 'link("a", _) is there, and must not be', 'delete link("a", "b")'),
        ("alone", ("q",), 'no node("q")', 'insert node("q")'),
        ("big", ("b",), "3 > 10 does not hold", 'insert size("b", 11) (or other values)'),
        ("big", ("q",), 'no size("q", Y)', 'insert size("q", 11) (or other values)'),
        ("degree", ("a", 2), "the count is 1", 'insert link("a", '),
        ("total", ("a", 20), "the sum is 25", 'delete size("a", 5)'),
        ("total", ("b", 10), "the sum is 3", 'insert size("b", 7)'),
        ("far", ("a", "c"), 'reach("a", "c") is there, and must not be', 'delete link("a", "b")'),
        ("far", ("z", "z"), '"z" != "z" does not hold', None),
        ("cheap", ("a", 20), 'cheap("a", 5) is the min', 'delete size("a", 5)'),
        ("cheap", ("q", 4), 'no size("q", 4)', 'insert size("q", 4)'),
        ("link", ("q", "r"), "nobody inserted", 'insert link("q", "r")'),
    ],
)
def test_what_fails_and_what_would_help(relation, row, reason, repair):
    db = database()
    why_not = db.why_not(relation, row)
    assert reason in str(why_not)
    if repair is None:
        assert not why_not.repairs
        assert "no small change" in str(why_not)
    else:
        assert any(str(found).startswith(repair) for found in why_not.repairs), why_not.repairs
    for found in why_not.repairs:
        assert row in db.what_if(**found.arguments())[relation].inserted


def test_a_head_that_does_not_fit_is_said_to():
    db = hw.connect()
    db.define("p(1, X) :- q(X). p(X, X) :- r(X).")
    db.apply(insert={"q": [(5,)], "r": [(5,)]})
    text = str(db.why_not("p", (2, 3)))
    assert "its head is p(1, X)" in text and "its head is p(X, X)" in text


def test_two_missing_premises_are_inserted_together():
    db = hw.connect()
    db.define("p(X) :- q(X), r(X, Y), s(Y).")
    db.apply(insert={"q": [(1,)], "r": [(2, 7)], "s": [(8,)]})
    repairs = db.why_not("p", (2,)).repairs
    assert [repair.size for repair in repairs] == [2, 2]
    assert {("q", (2,)), ("s", (7,))} in [repair.insert for repair in repairs]


def test_views_that_take_rows_can_be_given_the_row():
    db = hw.connect()
    db.define("p(1). p(X) :- q(X), r(X).")
    assert [str(repair) for repair in db.why_not("p", (2,)).repairs][:1] == ["insert p(2)"]


def test_costs_that_would_go_round_for_ever_do_not():
    db = hw.connect()
    db.define("best(X, Y, min<C>) :- e(X, Y, C). best(X, Y, min<C>) :- e(X, Z, A), best(Z, Y, B), C = A + B.")
    db.apply(insert={"e": [("a", "b", 1), ("b", "c", 1), ("c", "a", 1)]})
    why_not = db.why_not("best", ("a", "c", 1))
    assert [str(repair) for repair in why_not.repairs][:1] == ['insert e("a", "c", 1)']


def test_types_that_no_row_has_told():
    db = hw.connect()
    db.define("p(X) :- q(X, X), r(X). p(X) :- s(X, _).")
    why_not = db.why_not("p", (1,))
    assert str(why_not).splitlines() == [
        "p(1) is not there: no row has told the types of p's columns yet",
        "├─ by p#1: p(X) :- q(X, X), r(X).",
        "│  ├─ no q(1, 1)",
        "│  └─ no r(1)",
        "└─ by p#2: p(X) :- s(X, _).",
        "   └─ no s(1, _)",
        "it would appear with this:",
        "  insert q(1, 1), insert r(1)",
    ]
    assert db.apply(**why_not.repairs[0].arguments())["p"].inserted == [(1,)]


@pytest.mark.parametrize(
    ("relation", "row", "code", "hint"),
    [
        ("reach", ("a", "c"), "row-there", "why("),
        ("nope", (1,), "unknown-relation", ""),
        ("reach", ("a",), "wrong-arity", ""),
        ("reach", ("a", 1), "wrong-type", ""),
    ],
)
def test_what_cannot_be_asked(relation, row, code, hint):
    with pytest.raises(hw.HeadwaterError) as refused:
        database().why_not(relation, row)
    assert refused.value.code == code and hint in (refused.value.hint or "")
