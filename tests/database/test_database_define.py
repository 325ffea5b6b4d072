"""Adding rules, declarations and facts, before and after there is data."""

from __future__ import annotations

from pathlib import Path

import pytest
from database_support import REACH, file_size_limit, in_child, reach, refusal, rows, state

import headwater as hw

# ------------------------------------------------------------------ adding


def test_rules_before_data_and_data_before_rules():
    first, second = hw.connect(), hw.connect()
    first.define(REACH)
    first.apply(insert={"link": [(1, 2), (2, 3)]})
    second.apply(insert={"link": [(1, 2), (2, 3)]})
    changes = second.define(REACH)
    assert rows(first, "reach") == rows(second, "reach") == sorted(changes["reach"].inserted)
    assert list(changes) == ["reach"]


def test_a_second_text_adds_to_the_first():
    db = reach([(1, 2), (2, 3)])
    changes = db.define("pair(X) :- reach(X, Y), reach(Y, _).")
    assert list(changes) == ["pair"] and rows(db, "pair") == [(1,)]
    db.apply(insert={"link": [(3, 4)]})
    assert rows(db, "pair") == [(1,), (2,)]
    assert [text for text, _ in db.texts] == [REACH, "pair(X) :- reach(X, Y), reach(Y, _)."]


def test_views_that_are_not_concerned_cost_nothing():
    db = reach([(1, 2), (2, 3)])
    db.define("back(Y, X) :- link(X, Y).")
    assert [stratum.relations for stratum in db.statistics.strata] == [("back",)]


def test_another_rule_for_a_view_derives_it_anew():
    db = reach([(1, 2), (2, 3)])
    changes = db.define("reach(X, Y) :- road(Y, X). road(3, 9).")
    assert changes["reach"].counts == (1, 0) and changes["reach"].inserted == [(9, 3)]
    assert rows(db, "reach") == [(1, 2), (1, 3), (2, 3), (9, 3)]


def test_the_same_text_twice_changes_no_rows():
    db = reach([(1, 2), (2, 3)])
    changes = db.define(REACH)
    assert not changes and changes.version == 3
    db.apply(delete={"link": [(2, 3)]})
    assert rows(db, "reach") == [(1, 2)]


def test_facts_are_rows():
    db = hw.connect()
    changes = db.define(REACH + "link(1, 2). link(2, 3). link(1, 2).")
    assert changes.version == 1 and sorted(changes["link"].inserted) == [(1, 2), (2, 3)]
    assert rows(db, "reach") == [(1, 2), (1, 3), (2, 3)]
    db.apply(delete={"link": [(1, 2)]})
    assert rows(db, "reach") == [(2, 3)]
    db.define("other(X) :- link(X, _).")
    assert rows(db, "link") == [(2, 3)], "facts of earlier texts are not inserted again"


def test_facts_of_a_relation_that_has_rows():
    db = reach([(1, 2)])
    changes = db.define("link(1, 2). link(5, 6).")
    assert changes["link"].inserted == [(5, 6)] and changes.statistics.no_ops == 1


def test_a_base_relation_that_gets_rules_keeps_its_rows():
    db = hw.connect()
    db.apply(insert={"reach": [(1, 2), (3, 4)]})
    assert not db.define("reach(X, Y) :- link(X, Y).")
    changes = db.apply(insert={"link": [(1, 2), (5, 6)], "reach": [(7, 8)]})
    assert sorted(changes["reach"].inserted) == [(5, 6), (7, 8)]
    changes = db.apply(delete={"reach": [(1, 2), (3, 4), (7, 8)]})
    assert sorted(changes["reach"].deleted) == [(3, 4), (7, 8)], "(1, 2) is derived as well"
    assert rows(db, "reach") == [(1, 2), (5, 6)]


def test_rows_too_many_for_a_size_go_when_it_is_declared():
    db = hw.connect()
    db.apply(insert={"recent": [(1,)]})
    db.apply(insert={"recent": [(2,)]})
    changes = db.define("recent(x: int). materialize(recent, infinity, 1, keys(1)).")
    assert len(changes["recent"].deleted) == 1 and len(db["recent"]) == 1


def test_a_key_that_the_rows_do_not_have_is_refused():
    db = hw.connect()
    db.apply(insert={"cost": [(1, 2), (1, 3)]})
    before = state(db)
    assert refusal(lambda: db.define("materialize(cost, infinity, infinity, keys(1)).")) == "duplicate-key"
    assert state(db) == before
    db.apply(delete={"cost": [(1, 2)]})
    db.define("materialize(cost, infinity, infinity, keys(1)).")
    db.apply(insert={"cost": [(1, 4)]})
    assert rows(db, "cost") == [(1, 4)]


def test_functions_in_rules():
    db = hw.connect(functions={"shout": (str.upper, ["string"], "string")})
    db.register("twice", lambda number: 2 * number, args=["int"], returns="int")
    db.define("loud(S, N) :- word(S0, N0), S = shout(S0), N = twice(N0).")
    db.apply(insert={"word": [("hey", 4)]})
    assert rows(db, "loud") == [("HEY", 8)]


# ------------------------------------------------------------------ types


def test_types_are_taken_from_the_first_rows():
    db = hw.connect()
    db.apply(insert={"m": [(1, "a", 1), (2, "b", 2.5)]})
    assert [str(type_) for type_ in db["m"].types] == ["int", "string", "float"]
    assert db["m"].columns == ("c0", "c1", "c2") and (1, "a", 1.0) in db["m"]
    with pytest.raises(hw.DataError) as caught:
        db.apply(insert={"m": [("one", "a", 1.0)]})
    assert caught.value.code == "wrong-type" and "row 1, column c0" in caught.value.message


def test_types_of_views_follow_the_first_rows():
    db = reach()
    assert db["reach"].types == (None, None)
    db.apply(insert={"link": [("a", "b")]})
    assert [str(type_) for type_ in db["reach"].types] == ["string", "string"]


def test_a_refused_first_row_decides_nothing():
    db = reach(strict=False)
    before = state(db)
    assert refusal(lambda: db.apply(insert={"link": [("a", "b")], "other": [(1j,)]})) == "wrong-type"
    assert state(db) == before
    db.apply(insert={"link": [(1, 2)]})
    assert rows(db, "reach") == [(1, 2)]


# ------------------------------------------------------------------ refused

REFUSED = {
    "reach(X, Y) : link(X, Y).": hw.LanguageError,
    "new(X, Y) :- link(X, Z).": hw.RuleError,
    "odd(X) :- link(X, _), !odd(X).": hw.RuleError,
    "link(x: string, y: string).": hw.HeadwaterError,
    'big(X) :- link(X, Y), Y = "two".': hw.RuleError,
    "new(X) :- link(X, _). link(1).": hw.RuleError,
    'new(X) :- link(X, _). link(8, 9). reach("a", "b").': hw.HeadwaterError,
    'link(8, 9). note(1). note("one").': hw.HeadwaterError,
    "new(X) :- link(X, _). big(Z) :- link(X, _), Z = X * 4611686018427387904.": hw.EvaluationError,
    "new(X) :- link(X, _). over(Z) :- n(X), Z = 1 / X. n(5). link(8, 9). n(0).": hw.EvaluationError,
    "grow(X) :- link(X, _). grow(Y) :- grow(X), Y = X + 1.": hw.EvaluationError,
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_refused_text_leaves_everything_as_it_was(text: str):
    db = reach([(2, 3), (3, 4)], max_rounds=50)
    db.define("soft(x: int). materialize(soft, 5, 2, keys(1)). soft(1).")
    before, explained = state(db), db.explain().lines
    with pytest.raises(REFUSED[text]):
        db.define(text)
    assert state(db) == before and db.explain().lines == explained
    db.define("new(X) :- reach(X, 4).")
    db.apply(insert={"link": [(1, 2)]}, delete={"link": [(2, 3)]})
    assert rows(db, "reach") == [(1, 2), (3, 4)] and rows(db, "new") == [(3,)]
    assert rows(db, "soft") == [(1,)]
    db.advance(5)
    assert rows(db, "soft") == []


def test_a_function_that_fails_on_the_facts():
    def positive(number: int) -> bool:
        if number < 0:
            raise ValueError("negative")
        return True

    db = hw.connect(functions={"positive": (positive, ["int"], "bool")})
    db.define("n(1). good(X) :- n(X), positive(X) = true.")
    before = state(db)
    assert refusal(lambda: db.define("n(2). n(-1). twice(X) :- good(X). materialize(n, 1, 1, keys(1)).")) == (
        "function-failed"
    )
    assert state(db) == before
    db.define("n(2).")
    assert rows(db, "good") == [(1,), (2,)]


@pytest.mark.parametrize("with_facts", [True, False])
def test_a_text_that_does_not_fit_the_disk(with_facts: bool, tmp_path: Path):
    """Nothing of it is there, now or after opening again; with room, it is taken."""
    text = "new(X) :- reach(X, _). % " + 5000 * "long " + ("\nlink(7, 8)." if with_facts else "")

    def work() -> list[object]:
        db = hw.connect(tmp_path / "state")
        db.define(REACH)
        db.apply(insert={"link": [(1, 2)]})
        before = state(db)
        with file_size_limit(10_000):
            code = refusal(lambda: db.define(text))
        same = state(db) == before
        db.apply(insert={"link": [(2, 3)]})
        db.define(text)
        return [code, same, rows(db, "new")]

    expected = [[1], [2], [7]] if with_facts else [[1], [2]]
    assert in_child(work) == ["disk-full", True, expected]
    with hw.connect(tmp_path / "state") as db:
        assert db.version == 4 and [list(row) for row in rows(db, "new")] == expected


# ------------------------------------------------------------------ one version


def test_facts_are_there_when_rules_first_run():
    db = hw.connect()
    changes = db.define("e(4). n(N) :- N = count : { e(_) }. r(100/N) :- n(N).")
    assert (changes.version, rows(db, "r")) == (1, [(100,)])


def test_a_fact_that_stops_a_recursion_stops_it_from_the_beginning():
    db = hw.connect(max_rounds=50)
    db.define("stop(1). n(0) :- !stop(1). n(X+1) :- n(X), !stop(1).")
    assert (db.version, rows(db, "n")) == (1, [])


def test_facts_for_a_relation_that_is_there_reach_old_and_new_views_at_once():
    db = hw.connect()
    db.define("e(1). n(N) :- N = count : { e(_) }. twice(2*N) :- n(N).")
    changes = db.define("e(2). e(3). half(60/N) :- twice(N). halves(N) :- N = count : { half(_) }.")
    assert changes.version == 2 and sorted(changes["e"].inserted) == [(2,), (3,)]
    assert (changes["twice"].deleted, changes["twice"].inserted) == ([(2,)], [(6,)])
    assert (changes["half"].inserted, rows(db, "halves")) == ([(10,)], [(1,)])


def test_rows_that_come_with_a_text_are_there_when_its_rules_first_run(tmp_path: Path):
    program = "n(N) :- N = count : { e(_) }. r(100/N) :- n(N). e(1)."
    with hw.connect(tmp_path / "state", strict=False) as db:
        changes = db.define(program, insert={"e": [(2,), (3,), (4,)], "other": [("x",)]})
        assert (changes.version, changes["r"].inserted) == (1, [(25,)])
        assert rows(db, "other") == [("x",)]
        db.apply(delete={"e": [(1,), (2,)]})
    with hw.connect(tmp_path / "state") as db:
        assert (db.version, rows(db, "r"), rows(db, "other")) == (2, [(50,)], [("x",)])
        db.checkpoint()
    with hw.connect(tmp_path / "state") as db:
        assert (db.version, rows(db, "r"), rows(db, "e")) == (2, [(50,)], [(3,), (4,)])


def test_rows_that_do_not_fit_take_their_text_with_them():
    db = hw.connect()
    with pytest.raises(hw.DataError):
        db.define("e(x: int). n(X) :- e(X).", insert={"e": [("one",)]})
    assert (db.version, db.relations) == (0, ())


@pytest.mark.parametrize("strategy", ["support", "dred", "recompute", "auto", "absorption", "relative"])
def test_definitions_with_facts_come_to_what_they_come_to_at_once(strategy: str):
    """Rules and facts in several texts, each over rows that are there, against one text with all of them."""
    texts = [
        "link(1, 2). link(2, 3). reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), link(Z, Y).",
        "link(3, 1). far(X, max<Y>) :- reach(X, Y).",
        "link(4, 4). reach(X, Y) :- road(Y, X). road(9, 8). alone(X) :- link(X, _), !reach(1, X).",
        "far(0, 100). road(1, 9). sizes(X, count<Y>) :- reach(X, Y).",
    ]
    step_by_step, at_once = hw.connect(strategy=strategy), hw.connect(strategy=strategy)
    before: dict[str, list[tuple[object, ...]]] = {}
    for text in texts:
        changes = step_by_step.define(text)
        for name in step_by_step.relations:
            there, was = set(rows(step_by_step, name)), set(before.get(name, []))
            assert set(changes[name].inserted) == there - was and set(changes[name].deleted) == was - there
            before[name] = rows(step_by_step, name)
    at_once.define("".join(texts))
    assert {n: rows(at_once, n) for n in at_once.relations} == {
        n: rows(step_by_step, n) for n in at_once.relations
    }
    for db in (step_by_step, at_once):
        db.apply(delete={"link": [(3, 1)]}, insert={"road": [(2, 9)]})
    assert {n: rows(at_once, n) for n in at_once.relations} == {
        n: rows(step_by_step, n) for n in at_once.relations
    }


def test_a_state_holds_the_text_with_all_it_includes(tmp_path):
    (tmp_path / "rules.dl").write_text("p(X) :- q(X), X < LIMIT.\n")
    text = '#define LIMIT 2\n#include "rules.dl"\nq(range(0, 5)).\n'
    with pytest.raises(hw.LanguageError) as caught:
        hw.connect().define(text)
    assert caught.value.code == "include" and caught.value.place is not None
    with hw.connect(tmp_path / "state") as database:
        database.define(text, folder=tmp_path)
    (tmp_path / "rules.dl").unlink()
    for _ in range(2):  # from the log, then from a checkpoint
        with hw.connect(tmp_path / "state") as database:
            assert sorted(database["p"]) == [(0,), (1,)]
            ((stored, _),) = database.texts
            assert "#include" not in stored and "rules.dl" in stored
            database.checkpoint()


def test_the_folder_of_a_text_is_a_path():
    with pytest.raises(hw.DataError) as caught:
        hw.connect().define("p(1).", folder=3)
    assert caught.value.code == "wrong-type"


def test_a_pattern_that_rows_bring_is_refused_at_the_rule():
    database = hw.connect()
    database.define("a(1).\np(X) :- q(P, X), match(P, X).")
    database.apply(insert={"q": [("[[:alpha:]]+", "x"), ("(a+)+b", "a" * 1_000)]})
    with pytest.raises(hw.EvaluationError) as caught:
        database.apply(insert={"q": [("a(", "x")]})
    error = caught.value
    assert error.code == "bad-pattern" and error.place is not None and error.place.line == 2
    assert list(database["p"]) == [("x",)]
