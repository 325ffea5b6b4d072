"""Faults that were found by comparing with other engines or by reading: the smallest program for each."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater as hw


def test_types_that_become_known_later_reach_the_rules_that_need_them():
    """`Z` has a type only once `r` has rows; the rule of `p` was kept as it was planned before."""
    db = hw.connect()
    db.define("p(X) :- q(X, Y), r(Y, Z), Y < Z.")
    db.apply(insert={"q": [("a", 1)]})
    db.apply(insert={"r": [(1, 5)]})
    assert db["p"].rows() == [("a",)]


def test_a_view_that_is_empty_when_a_checkpoint_is_written_is_empty_when_it_is_read(tmp_path: Path):
    """`p(1)` holds while `q` is empty; when opening, rules run before the rows of the checkpoint are there."""
    with hw.connect(tmp_path) as db:
        db.define("q(x: int). p(1) :- !q(1).")
        db.apply(insert={"q": [(1,)]})
        db.checkpoint()
    with hw.connect(tmp_path) as db:
        assert (db["q"].rows(), db["p"].rows()) == ([(1,)], [])


def test_rows_without_columns_survive(tmp_path: Path):
    """An Arrow table without columns does not remember how many rows it has."""
    with hw.connect(tmp_path) as db:
        db.define(".decl ready()\ngo(X) :- ready(), a(X).")
        db.apply(insert={"ready": [()], "a": [(1,)]})
    with hw.connect(tmp_path) as db:
        assert (db["ready"].rows(), db["go"].rows()) == ([()], [(1,)])


def test_rows_without_columns_survive_a_checkpoint(tmp_path: Path):
    with hw.connect(tmp_path) as db:
        db.define(".decl ready()\ngo(X) :- ready(), a(X).")
        db.apply(insert={"ready": [()], "a": [(1,)]})
        db.checkpoint()
    with hw.connect(tmp_path) as db:
        assert (db["ready"].rows(), db["go"].rows()) == ([()], [(1,)])


def test_a_base_relation_that_gets_rules_keeps_its_rows():
    db = hw.connect()
    db.apply(insert={"link": [(1, 2)]})
    db.define("link(X, Y) :- foo(X, Y).")
    db.apply(insert={"foo": [(3, 4)]})
    assert sorted(db["link"].rows()) == [(1, 2), (3, 4)]


def test_a_rule_more_reports_what_it_adds_and_nothing_else():
    db = hw.connect(strict=False)
    db.define("p(X) :- a(X).")
    db.apply(insert={"a": [(1,)], "b": [(2,)]})
    changes = db.define("p(X) :- b(X).")
    assert (changes["p"].inserted, changes["p"].deleted) == ([(2,)], [])


def test_a_rule_more_reports_what_it_takes_away_through_negation():
    db = hw.connect()
    db.define("a(x: int). b(x: int). c(x: int). q(X) :- b(X). p(X) :- a(X), !q(X).")
    db.apply(insert={"a": [(1,)], "c": [(1,)]})
    changes = db.define("q(X) :- c(X).")
    assert db["p"].rows() == []
    assert (changes["p"].inserted, changes["p"].deleted) == ([], [(1,)])


def test_inserting_a_keyed_row_again_is_one_no_op():
    db = hw.connect()
    db.define("l(k: string, v: int). materialize(l, infinity, infinity, keys(1)).")
    db.apply(insert={"l": [("a", 1)]})
    assert db.apply(insert={"l": [("a", 1)]}).statistics.no_ops == 1


def test_deleting_a_keyed_row_and_inserting_its_successor_is_no_no_op():
    db = hw.connect()
    db.define("l(k: string, v: int). materialize(l, infinity, infinity, keys(1)).")
    db.apply(insert={"l": [("a", 1)]})
    assert db.apply(delete={"l": [("a", 1)]}, insert={"l": [("a", 2)]}).statistics.no_ops == 0


def test_deleting_from_a_relation_without_rows_so_far_is_a_no_op():
    db = hw.connect()
    db.define("p(X) :- a(X).")
    assert db.apply(delete={"a": [(1,)]}).statistics.no_ops == 1


def test_inserting_no_rows_says_nothing_about_the_columns():
    db = hw.connect()
    db.apply(insert={"a": []})
    db.apply(insert={"a": [(1, 2)]})
    assert db["a"].rows() == [(1, 2)]


def test_asking_for_a_row_of_a_relation_without_rows_so_far():
    db = hw.connect()
    db.define("p(X) :- a(X).")
    assert (1,) not in db["p"]


def test_rows_older_than_their_lifetime_expire_too():
    """The rows were there before the text that gives them a lifetime; it counts from then."""
    db = hw.connect()
    db.apply(insert={"ping": [(1, 2)]})
    db.define("materialize(ping, 10, infinity, keys(1)).")
    db.advance(20)
    assert db["ping"].rows() == []


def test_deleting_and_rederiving_comes_to_rest_with_a_minimum_inside_the_recursion():
    """1 is reached at cost 3, and then over 2 at cost 0. The better row takes the other's place; overdeleting
    all that rested on the other takes `near(0)`, hence also the better row, and all begins again."""
    db = hw.connect(strategy="dred", max_rounds=1000)
    db.define("""
        a(x: int). w(x: int, y: int, c: int).
        near(X) :- a(X).
        near(Z) :- best(_, Z, C).
        best(X, Z, min<C>) :- near(X), w(X, Z, C).
        best(X, Y, min<C>) :- best(X, Z, A), w(Z, Y, B), C = A + B.
    """)
    db.apply(insert={"a": [(0,)], "w": [(0, 1, 3), (0, 2, 0), (2, 1, 0), (1, 0, 0)]})
    assert sorted(db["best"].rows()) == [(x, y, 0) for x in range(3) for y in range(3)]


@pytest.mark.parametrize("strategy", ["support", "dred", "recompute", "auto"])
def test_a_premise_written_before_a_division_keeps_zero_divisors_out(strategy: str):
    """`b` has no 0. From a row of `a`, the division was computed before `b` was asked."""
    db = hw.connect(strategy=strategy)
    db.define("a(x: int, y: int). b(y: int). p(X) :- a(X, Y), b(Y), X / Y > 1.")
    db.apply(insert={"b": [(2,)], "a": [(6, 2), (5, 0)]})
    db.apply(insert={"a": [(7, 0)]}, delete={"a": [(5, 0)]})
    assert db["p"].rows() == [(6,)]
