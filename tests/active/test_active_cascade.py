"""Actions in the same version: cascades, refusals, circles; what an undone version leaves."""

from __future__ import annotations

from typing import Any

import pytest
from active_alarms import SENSORS, rows

import headwater as hw
from headwater.maintain import fixpoint
from headwater.maintain.strategies import STRATEGIES


def shown(changes: hw.Changes) -> dict[str, tuple[list[Any], list[Any]]]:
    return {name: (sorted(change.inserted), sorted(change.deleted)) for name, change in changes.items()}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_actions_change_base_relations_and_views_follow_in_the_same_version(strategy):
    db = hw.connect(strategy=strategy)
    db.define(SENSORS)
    db.apply(insert={"reading": [("a", 11), ("b", 20), ("c", 30)]})
    assert db.version == 2
    assert set(db["ticket"]) == {("b", 20, "open"), ("c", 30, "open")}
    changes = db.apply(insert={"reading": [("d", 40)]})
    assert shown(changes) == {
        "reading": ([("d", 40)], []),
        "alarm": ([("d", 40)], []),
        "ticket": ([("d", 40, "open")], []),
        "many": ([(3,)], [(2,)]),
        "flood": ([(3,)], []),
    }
    changes = db.apply(delete={"reading": [("c", 30)]})
    assert shown(changes)["ticket"] == ([], [("c", 30, "open")])
    assert set(db["many"]) == {(2,)}


def test_what_if_shows_cascades_and_takes_them_back():
    db = hw.connect()
    db.define(SENSORS)
    db.apply(insert={"reading": [("b", 20), ("c", 30)]})
    before = rows(db)
    changes = db.what_if(insert={"reading": [("d", 40)]})
    assert shown(changes)["flood"] == ([(3,)], [])
    assert rows(db) == before
    assert db.version == 2
    assert shown(db.apply(insert={"reading": [("d", 40)]})) == shown(changes)


def test_changes_are_net():
    db = hw.connect()
    db.define(
        "in(x: int). seen(x: int). on +in(X) do delete in(X), insert seen(X). both(X) :- in(X), seen(X)."
    )
    changes = db.apply(insert={"in": [(1,), (2,)]})
    assert shown(changes) == {"seen": ([(1,), (2,)], [])}
    assert set(db["in"]) == set()


def test_a_row_that_two_rules_insert_and_delete_at_once_is_there():
    db = hw.connect()
    db.define("a(x: int). b(x: int). b(1). on +a(X) do delete b(X). on +a(X) do insert b(X).")
    assert shown(db.apply(insert={"a": [(1,), (2,)]})) == {"a": ([(1,), (2,)], []), "b": ([(2,)], [])}
    assert set(db["b"]) == {(1,), (2,)}


def test_a_rule_sees_what_the_version_that_defines_it_does_and_nothing_earlier():
    db = hw.connect()
    db.define("a(x: int). a(1).")
    db.define("on +a(X) do insert b(X). a(2). v(X) :- a(X). on +v(X) do insert c(X).")
    assert set(db["b"]) == {(2,)}
    assert set(db["c"]) == {(1,), (2,)}


def test_events_of_both_signs():
    db = hw.connect()
    db.define("a(x: int). on a(X) do insert log(X).")
    db.apply(insert={"a": [(1,)]})
    assert set(db["log"]) == {(1,)}
    db.apply(insert={"a": [(2,)]}, delete={"a": [(1,)], "log": [(1,)]})
    assert set(db["log"]) == {(1,), (2,)}


def test_expiry_is_an_event():
    db = hw.connect()
    db.define("materialize(beat, 10, infinity, keys(1)). beat(node: string, n: int).")
    db.define("on -beat(N, _), !beat(N, _) do insert lost(N). on +beat(N, _) do delete lost(N).")
    db.apply(insert={"beat": [("a", 1), ("b", 1)]})
    db.advance(5)
    db.apply(insert={"beat": [("b", 2)]})
    assert set(db["lost"]) == set()
    assert shown(db.advance(10))["lost"] == ([("a",)], [])
    assert shown(db.apply(insert={"beat": [("a", 2)]}))["lost"] == ([], [("a",)])


def test_keys_hold_for_what_actions_insert():
    db = hw.connect()
    db.define(
        "materialize(last, infinity, infinity, keys(1)). last(k: string, v: int). event(k: string, v: int)."
    )
    db.define("on +event(K, V) do insert last(K, V).")
    db.apply(insert={"event": [("a", 1)]})
    changes = db.apply(insert={"event": [("a", 2)]})
    assert shown(changes)["last"] == ([("a", 2)], [("a", 1)])


def test_a_bounded_relation_keeps_its_size():
    db = hw.connect()
    db.define("materialize(recent, infinity, 2, keys(1)). recent(v: int). event(v: int).")
    db.define("on +event(V) do insert recent(V).")
    for value in range(5):
        db.apply(insert={"event": [(value,)]})
    assert set(db["recent"]) == {(3,), (4,)}


def test_nulls_are_refused_where_a_relation_takes_none():
    db = hw.connect()
    db.define(
        "a(x: int?). b(x: int). c(x: int?). on +a(X) do insert c(X). n: on +a(X), X is null do insert b(X)."
    )
    db.apply(insert={"a": [(1,)]})
    with pytest.raises(hw.DataError) as error:
        db.apply(insert={"a": [(None,)]})
    assert error.value.code == "null-value"
    db.drop_rule("n")
    db.apply(insert={"a": [(None,)]})
    assert set(db["c"]) == {(1,), (None,)}


def test_types_are_told_by_the_action_that_inserts():
    db = hw.connect()
    db.define('on +a(X, Y) do insert b(Y, 1.5, date("2024-01-31")).')
    db.apply(insert={"a": [("x", 3)]})
    assert [str(type) for type in db.info("b").types] == ["int", "float", "date"]
    assert len(db["b"]) == 1


def test_relations_without_columns():
    db = hw.connect()
    db.define("a(x: int). on +a(X), X > 1 do insert alert(). on +alert() do insert b(7).")
    assert "alert" not in db.apply(insert={"a": [(1,)]})
    db.apply(insert={"a": [(2,), (3,)]})
    assert set(db["alert"]) == {()}
    assert set(db["b"]) == {(7,)}


# ------------------------------------------------------------------ refusals


def test_a_refusal_undoes_the_version_in_the_words_of_the_rule():
    db = hw.connect()
    db.define(SENSORS)
    db.apply(insert={"reading": [("b", 20), ("c", 30)]})
    db.define("limit: on +ticket(X, Y, _), Y > 100 do refuse 'too high: {Y} at {X}, {{sic}}'.")
    before = rows(db), db.version
    with pytest.raises(hw.DataError) as error:
        db.apply(insert={"reading": [("e", 400), ("f", 40)]}, delete={"reading": [("b", 20)]})
    assert error.value.code == "refused"
    assert error.value.message == "too high: 400 at e, {sic}"
    assert "limit" in error.value.hint and "+ticket('e', 400, 'open')" in error.value.hint
    assert error.value.place is not None and error.value.place.line == 1
    assert (rows(db), db.version) == before
    with pytest.raises(hw.DataError, match="too high"):
        db.what_if(insert={"reading": [("e", 400)]})
    db.apply(insert={"reading": [("f", 40)]})
    assert ("f", 40, "open") in set(db["ticket"])


def test_what_other_rules_mend_is_no_reason_to_refuse():
    db = hw.connect()
    db.define("a(x: int). bad(X) :- a(X), X < 0. on +bad(X) do delete a(X). on +bad(X) do refuse 'bad {X}'.")
    assert shown(db.apply(insert={"a": [(-1,), (1,)]})) == {"a": ([(1,)], [])}


def test_a_definition_can_be_refused():
    db = hw.connect()
    db.define("a(x: int). a(-1). on +bad(X) do refuse 'bad {X}'.")
    with pytest.raises(hw.DataError, match="bad -1"):
        db.define("bad(X) :- a(X), X < 0.")
    assert db.version == 1


# ------------------------------------------------------------------ circles


def test_a_circle_is_named():
    db = hw.connect()
    db.define("a(x: int). b(x: int). there: on +a(X) do delete a(X), insert b(X).")
    db.define("back: on +b(X) do delete b(X), insert a(X). other: on +a(X) do insert c(X).")
    with pytest.raises(hw.EvaluationError) as error:
        db.apply(insert={"a": [(1,)]})
    assert error.value.code == "cascade"
    assert "there -> back -> there" in error.value.message or "back -> there -> back" in error.value.message
    assert "same rows" in error.value.message
    assert rows(db) == {"a": set(), "b": set(), "c": set()}


def test_cascades_have_a_limit():
    db = hw.connect(max_cascade=20)
    db.define("n(x: int). count: on +n(X), X < 15 do insert n(X + 1). far(X) :- n(X), X > 10.")
    db.apply(insert={"n": [(0,)]})
    assert set(db["n"]) == {(x,) for x in range(16)}
    db.replace_rule("count", "on +n(X) do insert n(X + 1).")
    with pytest.raises(hw.EvaluationError) as error:
        db.apply(insert={"n": [(100,)]})
    assert "count -> count" in error.value.message
    assert "more than 20 times" in error.value.message
    assert len(db["n"]) == 16


def test_a_rule_over_its_own_event_ends_where_rows_are_there():
    db = hw.connect()
    db.define("a(x: int). on +a(X) do insert a(X). on -a(X) do delete a(X).")
    assert shown(db.apply(insert={"a": [(1,)]})) == {"a": ([(1,)], [])}


def test_many_events_are_handled_as_sets():
    db = hw.connect()
    db.define(
        "a(x: int, y: int). v(X, Y) :- a(X, Y). on +v(X, Y), X % 2 = 0 do insert b(X, Y + 1), delete a(X, Y)."
    )
    changes = db.apply(insert={"a": [(x, x) for x in range(100_000)]})
    assert changes["b"].counts == (50_000, 0)
    assert changes["a"].counts == (50_000, 0)
    assert changes["v"].counts == (50_000, 0)


def test_statistics_say_how_often_rules_acted():
    db = hw.connect()
    db.define(
        "n(x: int). m(x: int). count: on +n(X), X < 5 do insert n(X + 1), delete m(X). last: on +n(5) do insert m(9)."
    )
    assert db.statistics.transitions == 1
    statistics = db.apply(insert={"n": [(1,)], "m": [(2,)]}).statistics
    assert statistics.transitions == 6
    assert statistics.actions == {"count": 5, "last": 1}
    assert statistics.base == {"n": (5, 0, 0), "m": (2, 1, 0)}


def test_what_goes_wrong_in_an_action_names_no_rule_of_ours():
    db = hw.connect()
    db.define("a(x: int). b(x: int). on +a(X) do insert b(1 / X).")
    with pytest.raises(hw.EvaluationError) as error:
        db.apply(insert={"a": [(0,)]})
    assert error.value.code == "division-by-zero"
    assert "~" not in error.value.message and error.value.place is not None
    assert (set(db["a"]), db.version) == (set(), 1)


@pytest.mark.parametrize("first, last, reason", [(100, 100, "support-lost"), (20, 180, "large-change")])
def test_a_view_that_is_derived_anew_in_the_first_transition_goes_on_in_the_next(
    first, last, reason, monkeypatch
):
    monkeypatch.setattr(
        fixpoint, "COST_OF_SURE_DEATH", 1.0
    )  # so that taking half of a chain away is given up
    size = 200
    db = hw.connect()
    db.define("link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
    db.apply(insert={"link": [(x, x + 1) for x in range(size)]})
    db.define(f"mend: on -reach(0, {size}) do insert link(0, {size}), insert mended(1).")
    db.define(f"on -reach(X, Y), X > 0, Y = {size - 1} do insert lost(X).")
    before = rows(db)
    db.define("never: on +link(0, Y), Y > 1 do refuse 'no {Y}'.")
    cut = {"link": [(x, x + 1) for x in range(first, last + 1)]}
    with pytest.raises(hw.DataError, match=f"no {size}"):
        db.apply(delete=cut)
    assert rows(db) == before
    db.drop_rule("never")
    changes = db.apply(delete=cut)
    assert reason in [getattr(event, "reason", "") for event in changes.statistics.events]
    fresh = hw.connect()
    fresh.define("link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
    fresh.apply(insert={"link": set(db["link"])})
    assert set(db["reach"]) == set(fresh["reach"])
    assert set(changes["reach"].deleted) == before["reach"] - set(fresh["reach"])
    assert set(changes["reach"].inserted) == set()
    assert set(db["lost"]) == {(x,) for x in range(1, last + 1)}
    db.apply(insert={"link": cut["link"]}, delete={"link": [(0, size)]})
    assert set(db["reach"]) == before["reach"]


def test_a_chain_that_is_longer_than_the_limit_is_told_as_a_chain():
    db = hw.connect(max_cascade=2)
    db.define(
        "a(x: int). one: on +a(X) do insert b(X). two: on +b(X) do insert c(X). three: on +c(X) do insert d(X)."
    )
    with pytest.raises(hw.EvaluationError) as error:
        db.apply(insert={"a": [(1,)]})
    assert error.value.message == "actions cause each other more than 2 times in a row: one -> two -> three"


def test_an_interrupt_undoes_the_version(monkeypatch):
    db = hw.connect()
    db.define("a(x: int). on +a(X) do insert a(X + 1).")
    proceed, done = db.runner.proceed, []

    def interrupted(*args: Any) -> Any:
        done.append(1)
        if len(done) == 3:
            db.runner.interrupts.note()
        return proceed(*args)

    monkeypatch.setattr(db.runner, "proceed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        db.apply(insert={"a": [(1,)]})
    assert (set(db["a"]), db.version, len(done)) == (set(), 1, 3)
