"""Questions about rows with nulls and labelled nulls."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater import LabelledNull

TEXT = """
    r(a: int, b: int?). q(c: int?, d: string?).
    s(X, Y) :- r(X, Y), q(Y, _).
    v(X, ?f(X, Y)) :- r(X, Y).
    w(X) :- v(X, N), v(_, N), !q(X, null).
    t(X, count<Y>, sum<Y>) :- r(X, Y).
    u(X, Y + 1) :- r(X, Y).
    only(Z) :- v(_, Z).
"""
G = LabelledNull("g", ("x",))


@pytest.fixture
def db() -> hw.Database:
    db = hw.connect()
    db.define(TEXT)
    rows = {"r": [(1, None), (1, 2), (2, None), (3, G)], "q": [(None, "n"), (1, None), (2, "z")]}
    db.apply(insert=rows)
    return db


def f(*arguments: object) -> LabelledNull:
    return LabelledNull("f", arguments)


@pytest.mark.parametrize(
    "relation, row, expected",
    [
        ("s", (1, None), {("r", (1, None)), ("q", (None, "n"))}),
        ("v", (2, f(2, None)), {("r", (2, None))}),
        ("w", (2,), {("r", (2, None))}),
        ("t", (1, 1, 2), {("r", (1, None)), ("r", (1, 2))}),
        ("t", (2, 0, None), {("r", (2, None))}),
        ("u", (3, None), {("r", (3, G))}),
        ("only", (f(1, 2),), {("r", (1, 2))}),
    ],
)
def test_why_rows_with_nulls_are_there(db, relation, row, expected):
    why = db.why(relation, row)
    assert {tuple(fact) for term in why.dnf() for fact in term} == expected
    assert "None" not in str(why)


@pytest.mark.parametrize(
    "relation, row, words",
    [
        ("s", (3, None), "no r(3, null)"),
        ("s", (3, G), 'no q(?g("x"), _)'),
        ("v", (2, None), "null = ?f(2, null) does not hold"),
        ("w", (1,), "q(1, null) is there"),
        ("u", (3, 4), '4 = ?g("x") + 1 does not hold'),
        ("only", (None,), "no v(_, null)"),
        ("only", (5,), "no v(_, 5)"),
        ("r", (None, 3), "nobody inserted"),
        ("t", (2, 1, None), "the count is 0"),
    ],
)
def test_why_rows_with_nulls_are_not_there(db, relation, row, words):
    assert words in str(db.why_not(relation, row))


def test_what_would_change_and_what_depends(db):
    assert db.what_if(insert={"r": [(9, None)]})["s"].inserted == [(9, None)]
    assert (9, None) not in db["s"] and (1, None) in db["s"] and (None, 1) not in db["s"]
    found = {tuple(fact) for fact in db.depends("r", (2, None)).falls}
    assert ("v", (2, f(2, None))) in found and ("t", (2, 0, None)) in found
