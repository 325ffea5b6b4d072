"""Views that lose most of their rows: new relations take the place of theirs, and nobody can tell but by the cost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_lockstep import Lockstep, examples
from oracle_programs import RandomProgram
from oracle_strategies import Version, programs, streams

import headwater as hw
from headwater.errors import EvaluationError
from headwater.maintain import mostly_gone

CHAIN = """
    entry(k: int, v: int).
    other(k: int).
    kept(k: int).
    small(K, V) :- entry(K, V), V < 10.
    joined(K, V) :- small(K, V), other(K).
    linked(K, K + 1) :- joined(K, _).
    reach(A, B) :- linked(A, B).
    reach(A, C) :- reach(A, B), linked(B, C), C < A + 4.
    both(K) :- reach(K, _).
    both(K) :- kept(K).
"""
BASE = {
    "entry": [(k, k % 20) for k in range(1000)],
    "other": [(k,) for k in range(1000)],
    "kept": [(k,) for k in range(5000, 8000)],
}
GONE = {"entry": BASE["entry"][:900], "other": BASE["other"][100:900]}
VIEWS = ("small", "joined", "linked", "reach", "both")


@settings(max_examples=examples(25))
@given(programs(limited=True), streams(), st.sampled_from([0.6, 0.9, 1.0]))
def test_random_programs_that_start_over_at_once(
    program: RandomProgram, stream: list[Version], most_left: float
):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mostly_gone, "FEWEST_LOST", 1)
        patched.setattr(mostly_gone, "MOST_LEFT", most_left)
        patched.setattr(mostly_gone, "MOST_LEFT_OF_RECURSION", most_left)
        lockstep = Lockstep(program.text(), ["support", "recompute"], tables=program.tables)
        for version in stream:
            lockstep.follow(
                version, lambda state: solve(program, {name: state[name] for name in program.base})
            )


def chain() -> hw.Database:
    db = hw.connect()
    db.define(CHAIN)
    db.apply(insert=BASE)
    return db


def held(db: hw.Database) -> dict[str, set[tuple[object, ...]]]:
    return {name: set(db[name].rows()) for name in VIEWS}


def test_views_that_others_keep_reading_stay_in_their_places():
    """`both` keeps what `kept` gives it, which is most of it; so what it reads stays, and what that reads."""
    db = chain()
    before, relations = held(db), dict(db.engine.workspace.relations)
    changes = db.apply(delete=GONE)
    assert db.engine.workspace.relations == relations
    assert held(db) == held(left_alone())
    for name in VIEWS:
        assert set(changes[name].deleted) == before[name] - held(db)[name]
    db.apply(insert=GONE)
    assert held(db) == before


def left_alone() -> hw.Database:
    """What is left, computed from base rows."""
    fresh = hw.connect()
    fresh.define(CHAIN)
    fresh.apply(insert={name: sorted(set(rows) - set(GONE.get(name, ()))) for name, rows in BASE.items()})
    return fresh


def test_views_are_replaced_if_all_that_read_them_lose_most_of_their_rows():
    db = chain()
    db.apply(delete={"kept": BASE["kept"]})
    before, relations = held(db), dict(db.engine.workspace.relations)
    db.what_if(delete=GONE)
    assert held(db) == before
    assert dict(db.engine.workspace.relations) == relations
    changes = db.apply(delete=GONE)
    now = db.engine.workspace.relations
    assert {name for name in VIEWS if now[name] is not relations[name]} == set(VIEWS)
    assert [(event.relations, event.reason) for event in db.statistics.events if event.code == "recomputed"]
    lost = {name: set(changes[name].deleted) for name in VIEWS}
    assert lost == {name: before[name] - rows for name, rows in held(db).items()}


def test_a_version_that_fails_after_relations_were_replaced_leaves_no_trace():
    db = chain()
    db.apply(delete={"kept": BASE["kept"]})
    db.define("quotient(K, 100 / (K - 950)) :- both(K), K > 949.")
    before, relations = held(db), dict(db.engine.workspace.relations)
    db.apply(delete={"entry": [(950, 10)]})
    with pytest.raises(EvaluationError):
        db.apply(delete=GONE, insert={"entry": [(950, 1)]})
    assert held(db) == before
    assert db.engine.workspace.relations == relations


def test_actions_after_relations_were_replaced_change_the_new_ones():
    db = chain()
    db.apply(delete={"kept": BASE["kept"]})
    db.define("asked(k: int). on +asked(K) do insert entry(K, 1), insert other(K).")
    before, relations = held(db), dict(db.engine.workspace.relations)
    expected = db.what_if(delete=GONE, insert={"asked": [(5,)]})
    assert held(db) == before
    assert dict(db.engine.workspace.relations) == relations
    changes = db.apply(delete=GONE, insert={"asked": [(5,)]})
    now = held(db)
    assert (5, 1) in now["joined"]
    for name in VIEWS:
        for told in (changes, expected):
            assert set(told[name].deleted) == before[name] - now[name]
            assert set(told[name].inserted) == now[name] - before[name]
    db.apply(delete={"entry": [(5, 1)], "other": [(5,)]})
    left = hw.connect()
    left.define(CHAIN)
    left.apply(insert={name: sorted(db[name].rows()) for name in ("entry", "other")})
    assert held(db) == held(left)
