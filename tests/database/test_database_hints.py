"""Hints that lead somewhere: what a new user writes first, and what the error says to write instead."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from database_support import reach, refusal

import headwater as hw

LINKS = [(1, 2), (2, 3)]


def error_of(call: Callable[[], Any]) -> hw.HeadwaterError:
    with pytest.raises(hw.HeadwaterError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("p(X, count(Y)) :- q(X, Y).", "unknown-function", "an aggregate of a head is written count<Y>"),
        ("p(X, SUM(Y)) :- q(X, Y).", "unknown-function", "an aggregate of a head is written sum<Y>"),
        ("p(X, N) :- q(X, _), N = count(X).", "unknown-function", "in a body N = count : { ... }"),
        ("p(X, min(Y)) :- q(X, Y).", "function-mismatch", "an aggregate of a head is written min<Y>"),
        ("p(X, count(*)) :- q(X, Y).", "syntax", "an aggregate of a head is written count<*>"),
        ("p(N) :- N = count(*).", "syntax", "in a body N = count : { ... }"),
        ("p(X, median<Y>) :- q(X, Y).", "aggregate", "there are count, sum, min, max and avg;"),
        ("p(X, Y) :- q(X, y).", "unsafe-variable", 'y is the string "y" in the body: write Y there'),
        ("p(X, average<Y>) :- q(X, Y).", "aggregate", "did you mean avg?"),
        ("p(X, cuont<Y>) :- q(X, Y).", "aggregate", "did you mean count?"),
        ('q(d: date). p(D) :- q(D), D > "2024-01-01".', "type-clash", "2024-01-31"),
        ("p(X) :- q(X, Y), Y IS NULL.", "syntax", "write 'is' instead of 'IS'"),
        ("select * from link;", "syntax", "rules are Datalog: reach(X, Y) :- link(X, Y)."),
        ("CREATE TABLE link (a int);", "syntax", "rules are Datalog"),
    ],
)
def test_what_people_write_first(text: str, code: str, hint: str):
    error = error_of(lambda: hw.connect().define(text))
    assert error.code == code and error.place is not None
    assert hint in (error.hint or "")


def test_what_the_hints_say_can_be_written():
    db = hw.connect()
    db.define("q(1, 2). q(1, 3). p(X, count<Y>) :- q(X, Y). n(N) :- N = count : { q(_, _) }.")
    assert (db["p"].rows(), db["n"].rows()) == ([(1, 2)], [(2,)])
    db.define("r(X, avg<Y>) :- q(X, Y). d(2024-01-31). e(D) :- d(D), D > 2024-01-01.")
    assert (db["r"].rows(), db["e"].rows()) == ([(1, 2.5)], [(datetime.date(2024, 1, 31),)])


@pytest.mark.parametrize(
    ("type", "value", "hint"),
    [
        ("date", "2024-01-31", "datetime.date.fromisoformat"),
        ("timestamp", "2024-01-31T10:00:00Z", "datetime.datetime.fromisoformat"),
    ],
)
def test_texts_for_times(type: str, value: str, hint: str):
    db = hw.connect()
    db.define(f"q(d: {type}).")
    error = error_of(lambda: db.apply(insert={"q": [(value,)]}))
    assert error.code == "wrong-type" and hint in (error.hint or "")


@pytest.mark.parametrize(
    ("call", "code", "hint"),
    [
        (
            lambda db: hw.connect(strategy="suport"),
            "unknown-strategy",
            "did you mean support? One of support, ",
        ),
        (lambda db: hw.connect(run="sparc"), "unknown-option", "did you mean spark? One of local, "),
        (lambda db: hw.connect(mode="rw"), "unknown-option", "one of w, r"),
        (
            lambda db: db.register("a b", abs, args=["int"], returns="int"),
            "wrong-type",
            "letters, digits and _",
        ),
        (
            lambda db: db.register("1st", abs, args=["int"], returns="int"),
            "wrong-type",
            "letters, digits and _",
        ),
        (
            lambda db: hw.connect(functions={"a b": (abs, ["int"], "int")}),
            "wrong-type",
            "letters, digits and _",
        ),
        (lambda db: db.evaluate("reach", "tropicl"), "unknown-annotation", "did you mean tropical?"),
        (lambda db: db.evaluate("reach", "tropical", {"lnk": 1.0}), "unknown-relation", "did you mean link?"),
        (lambda db: db.evaluate("reach", "tropical", {"reach": 1.0}), "derived-relation", "base rows"),
        (lambda db: db.evaluate("reach", "tropical", {"link": {(1,): 1.0}}), "wrong-arity", "X, Y"),
        (lambda db: db.evaluate("reach", "tropical", {"link": {5: 1.0}}), "wrong-type", "a tuple: (X, Y)"),
        (
            lambda db: db.evaluate("reach", "tropical", rules={"reach#9": 1.0}),
            "unknown-rule",
            "reach#1, reach#2",
        ),
        (
            lambda db: db.evaluate("reach", "tropical").update({"lnk": 1.0}),
            "unknown-relation",
            "did you mean link?",
        ),
        (
            lambda db: db.evaluate("reach", "tropical").update(rules={"r": 1.0}),
            "unknown-rule",
            "reach#1, reach#2",
        ),
        (lambda db: db.why("reach", (1, 2)).evaluate("tropical", {"lnk": 1.0}), "unknown-relation", "link"),
        (lambda db: db.why("reach", (3, 1)), "row-not-there", "why_not('reach', (3, 1))"),
        (lambda db: db.why("reach", (1,)), "wrong-arity", "a tuple: (X, Y)"),
    ],
)
def test_arguments_that_mean_nothing(call: Callable[[hw.Database], Any], code: str, hint: str):
    error = error_of(lambda: call(reach(LINKS)))
    assert error.code == code
    assert hint in (error.hint or "")


def test_values_may_be_said_of_rows_to_come():
    db = reach(LINKS)
    found = db.evaluate("reach", "tropical", {"link": {(1, 2): 5.0, (3, 4): 7.0}})
    db.apply(insert={"link": [(3, 4)]})
    assert found[(1, 4)] == 12.0


def test_a_recursion_without_end_points_at_a_rule_that_computes():
    db = hw.connect(max_rounds=50)
    db.define("m(X) :- z(X).\nm(X) :- m(X), z(X).\nm(X + 1) :- m(X).")
    error = error_of(lambda: db.apply(insert={"z": [(1,)]}))
    assert error.code == "no-fixpoint" and error.place is not None and error.place.line == 3


def test_a_recursion_without_end_through_other_relations():
    db = hw.connect(max_rounds=50)
    db.define("a(X) :- z(X).\nb(X) :- z(X), X > 9.\nb(X) :- a(X).\na(Y) :- b(X), Y = X + 1.")
    error = error_of(lambda: db.apply(insert={"z": [(1,)]}))
    assert error.place is not None and error.place.line == 4


def test_an_article_before_a_vowel():
    assert error_of(lambda: hw.connect().apply(5)).message == "insert takes rows by relation, not an int"
    assert error_of(lambda: hw.connect(memory=[])).message.startswith("memory is of the class list")
    assert refusal(lambda: hw.connect(memory=object())) == "unknown-option"
