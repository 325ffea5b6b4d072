"""What is refused, in which words, and that nothing is left behind."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from database_support import REACH, chain, reach, refusal, rows, state

import headwater as hw

# ------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("name", "hint"),
    [("raech", "did you mean reach?"), ("lnik", "did you mean link?"), ("zzz", "there are: reach, link")],
)
def test_an_unknown_relation_is_met_with_the_nearest_one(name: str, hint: str):
    db = reach()
    for ask in (lambda: db[name], lambda: db.explain(name), lambda: db.info(name)):
        with pytest.raises(hw.DataError) as caught:
            ask()
        assert (caught.value.code, caught.value.hint) == ("unknown-relation", hint)


def test_an_empty_database_has_nothing_to_suggest():
    with pytest.raises(hw.DataError, match="nothing is defined yet"):
        hw.connect()["link"]


def test_rows_for_relations_that_no_text_mentions_are_refused():
    db = reach([(5, 6)])
    before = state(db)
    for change in ({"insert": {"link": [(7, 8)], "lnik": [(1, "a")]}}, {"delete": {"lnik": [(1, 2)]}}):
        for call in (db.apply, db.what_if):
            with pytest.raises(hw.DataError) as caught:
                call(**change)
            assert caught.value.code == "unknown-relation"
            assert caught.value.hint is not None
            assert caught.value.hint.startswith("did you mean link? If not, declare it: define('lnik(")
    with pytest.raises(hw.DataError, match="there is no relation lnik"):
        db.define("p(1).", insert={"lnik": [(1, 2)]})
    assert state(db) == before


def test_the_hint_shows_a_declaration_that_the_rows_fit():
    db = reach()
    rows_of_cost = [("a", 1.5)]
    with pytest.raises(hw.DataError) as caught:
        db.apply(insert={"cost": rows_of_cost})
    assert caught.value.hint == (
        "there are: reach, link; if it is new, declare it: define('cost(c0: string, c1: float).')"
    )
    db.define("cost(c0: string, c1: float).")
    db.apply(insert={"cost": rows_of_cost})
    assert rows(db, "cost") == rows_of_cost


def test_rows_may_come_before_the_first_text():
    db = hw.connect()
    db.apply(insert={"lnik": [(1, 2)]})
    with pytest.raises(hw.RuleError, match="link is neither declared") as caught:
        db.define(REACH)
    assert caught.value.hint == "did you mean lnik? If not, declare it: .decl link(...)"
    assert refusal(lambda: hw.connect(strict=True).apply(insert={"link": [(1, 2)]})) == "unknown-relation"


@pytest.mark.parametrize("strict", ["near", True])
def test_a_table_without_columns_is_mentioned_all_the_same(strict: Any):
    db = hw.connect(strict=strict)
    db.define("materialize(last, infinity, 2, keys(1)).")
    db.apply(insert={"last": [(1,), (2,), (3,)]})
    assert rows(db, "last") == [(2,), (3,)]


def test_unknown_relations_are_taken_on_where_anything_goes():
    db = reach(strict=False)
    db.apply(insert={"lnik": [(1, 2)]})
    assert rows(db, "lnik") == [(1, 2)]
    assert db.apply(delete={"nowhere": [(1, 2)]}).statistics.no_ops == 1


def test_a_rule_over_a_misspelt_relation_is_refused():
    db = reach([(1, 2)])
    with pytest.raises(hw.RuleError) as caught:
        db.define("far(X) :- raech(X, _).")
    assert caught.value.code == "unknown-relation" and db.version == 2
    assert caught.value.hint == "did you mean reach? If not, declare it: .decl raech(...)"
    db.define("far(X) :- raech(X, _).", insert={"raech": []})
    assert "raech" in db.relations


@pytest.mark.parametrize("odd", ["", "nearly", None, 1, 0, 2.0])
def test_other_kinds_of_strictness_do_not_exist(odd: Any):
    with pytest.raises(hw.DataError) as caught:
        hw.connect(strict=odd)
    assert caught.value.code == "unknown-option" and "'near', True, False" in (caught.value.hint or "")


def test_strict_refuses_rules_over_what_nobody_declares():
    db = hw.connect(strict=True)
    with pytest.raises(hw.HeadwaterError) as caught:
        db.define(REACH)
    assert caught.value.code == "unknown-relation" and caught.value.place.line == 2
    assert db.version == 0 and db.relations == ()


@pytest.mark.parametrize("argument", ["insert", "delete"])
def test_rows_of_a_view_are_not_given(argument: str):
    db = reach([(1, 2)])
    with pytest.raises(hw.DataError) as caught:
        db.apply(**{argument: {"reach": [(1, 2)]}})
    assert caught.value.code == "derived-relation" and ".input reach" in caught.value.hint


# ------------------------------------------------------------------ rows

WRONG_ROWS: dict[str, tuple[Any, str]] = {
    "too few columns": ([("a", 1), ("b",)], "wrong-arity"),
    "too many columns": ([("a", 1, 2)], "wrong-arity"),
    "not a row": (["a1"], "wrong-arity"),
    "a single value": ([1], "wrong-arity"),
    "another type": ([("a", 1), ("b", "2")], "wrong-type"),
    "a float for an int": ([("a", 1.5)], "wrong-type"),
    "a bool for an int": ([("a", True)], "wrong-type"),
    "a missing value": ([("a", None)], "null-value"),
    "too large": ([("a", 2**63)], "overflow"),
    "other columns": ([{"name": "a", "number": 1}], "column-names"),
    "one dimension": (np.array([1, 2]), "wrong-arity"),
    "text": ("a,1", "wrong-arity"),
    "a mapping": ({"name": ["a"], "n": [1]}, "wrong-arity"),
    "a number": (5, "wrong-arity"),
    "nothing": (None, "wrong-arity"),
}


@pytest.mark.parametrize("wrong", WRONG_ROWS)
def test_rows_that_do_not_fit(wrong: str):
    """Refused as a whole, with what else was in the version."""
    db = hw.connect()
    db.define("item(name: string, n: int). other(X) :- item(X, _). fine(x: int).")
    db.apply(insert={"item": [("z", 9)], "fine": [(1,)]})
    before = state(db)
    given, code = WRONG_ROWS[wrong]
    with pytest.raises(hw.DataError) as caught:
        db.apply(insert={"fine": [(2,)], "item": given}, delete={"fine": [(1,)]})
    assert caught.value.code in (code, "wrong-type") and "item" in caught.value.message
    assert state(db) == before


def test_the_message_names_row_and_column():
    db = hw.connect()
    db.define("item(name: string, n: int).")
    with pytest.raises(hw.DataError) as caught:
        db.apply(insert={"item": [("a", 1), ("b", "2")]})
    assert str(caught.value) == "error[wrong-type]: item, row 2, column n: '2' is a str, expected int"


def test_rows_come_by_relation():
    with pytest.raises(hw.DataError, match="insert takes rows by relation, not a list"):
        reach().apply([(1, 2)])
    with pytest.raises(hw.DataError, match="delete takes rows by relation, not a str"):
        reach().apply(delete="link")


def test_what_is_not_a_text_is_not_defined():
    assert refusal(lambda: hw.connect().define(5)) == "wrong-type"


# ------------------------------------------------------------------ rules at work


def test_rounds_without_end_are_refused():
    db = reach(chain(0, 5), max_rounds=8)
    before = state(db)
    with pytest.raises(hw.EvaluationError) as caught:
        db.apply(insert={"link": chain(5, 30)}, delete={"link": [(0, 1)]})
    assert caught.value.code == "no-fixpoint" and "did not come to rest in 8 rounds" in caught.value.message
    assert "at_max_rounds='stop'" in caught.value.hint and caught.value.place is not None
    assert state(db) == before


def test_counting_refuses_recursion():
    db = hw.connect(strategy="counting")
    with pytest.raises(hw.RuleError) as caught:
        db.define("two(X) :- link(X, _)." + REACH)
    assert caught.value.code == "strategy-refused" and "reach: it is recursive" in caught.value.message
    assert caught.value.hint == "use strategy='support' or 'auto'" and caught.value.place is not None
    assert db.relations == () and db.version == 0
    db.define("two(X) :- link(X, _).")


def test_arithmetic_that_fails_names_the_rule():
    db = hw.connect()
    db.define("inverse(Y) :- n(X), Y = 1 / X.", source="inverse.dl")
    with pytest.raises(hw.EvaluationError) as caught:
        db.apply(insert={"n": [(1,), (0,)]})
    assert caught.value.code == "division-by-zero" and caught.value.place.source == "inverse.dl"
    assert rows(db, "n") == []


# ------------------------------------------------------------------ options and states


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"strategy": "magic"}, "unknown-strategy"),
        ({"mode": "a"}, "unknown-option"),
        ({"clock": "sun"}, "unknown-option"),
        ({"at_max_rounds": "ignore"}, "unknown-option"),
    ],
)
def test_options_that_do_not_exist(options: dict[str, Any], code: str):
    with pytest.raises(hw.DataError) as caught:
        hw.connect(**options)
    assert caught.value.code == code and caught.value.hint.startswith("one of ")


WRITES: dict[str, Callable[[Any], Any]] = {
    "apply": lambda db: db.apply(insert={"link": [(3, 4)]}),
    "define": lambda db: db.define("new(X) :- link(X, _)."),
    "advance": lambda db: db.advance(5),
    "checkpoint": lambda db: db.checkpoint(),
}


@pytest.mark.parametrize("write", WRITES)
def test_closed_and_read_only_databases_take_nothing(write: str, tmp_path: Path):
    closed = reach([(1, 2)], path=tmp_path)
    closed.close()
    closed.close()
    reader = hw.connect(tmp_path, mode="r")
    assert refusal(lambda: WRITES[write](closed)) == "closed"
    assert refusal(lambda: WRITES[write](reader)) == "read-only"
    assert rows(reader, "reach") == [(1, 2)], "it can still be read"


def test_a_database_in_memory_has_no_checkpoints():
    assert refusal(hw.connect().checkpoint) == "not-durable"


def test_a_closed_database_in_memory_takes_nothing():
    with reach([(1, 2)]) as db:
        pass
    assert refusal(lambda: db.apply()) == "closed"


def test_reading_what_is_not_there(tmp_path: Path):
    assert refusal(lambda: hw.connect(tmp_path / "nowhere", mode="r")) == "missing"
    (tmp_path / "file").write_text("hello")
    assert refusal(lambda: hw.connect(tmp_path / "file")) == "not-a-directory"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("hello")
    assert refusal(lambda: hw.connect(tmp_path / "other")) == "not-a-store"
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["notes.txt"]


def test_errors_travel_between_processes():
    with pytest.raises(hw.RuleError) as caught:
        hw.connect().define("p(X, Y) :- q(X).", source="p.dl")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.place == caught.value.place
    assert type(again) is hw.RuleError and "p.dl:1:" in str(again)


@pytest.mark.parametrize("call", ["info", "query", "define", "drop", "explain"])
def test_what_users_gave_is_shown_in_part_where_it_is_long(call: str):
    db = hw.connect()
    with pytest.raises(hw.HeadwaterError) as caught:
        getattr(db, call)("x" * 100_000)
    assert len(str(caught.value)) < 10_000
    assert str(caught.value).startswith(f"error[{caught.value.code}]: ")
