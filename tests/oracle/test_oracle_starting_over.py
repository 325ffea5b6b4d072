"""Views that lose most of their rows: new relations take the place of theirs, and nobody can tell but by the cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_lockstep import Lockstep, examples
from oracle_programs import RandomProgram
from oracle_strategies import Version, programs, streams

import headwater as hw
from headwater.errors import EvaluationError
from headwater.kernel import room
from headwater.maintain import mostly_gone
from headwater.maintain.strategies import strategy

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


WIDE_CHAIN = """
    entry(k: int, v: int).
    barred(k: int).
    large(V, K * 4294967296) :- entry(K, V), !barred(K).
    twice(V) :- entry(_, V).
    pair(V, W) :- large(V, W), twice(V).
"""


def wide(
    entries: list[tuple[int, int]], barred: Sequence[tuple[int]] = (), path: Path | None = None
) -> hw.Database:
    db = hw.connect(path)
    db.define(WIDE_CHAIN)
    db.apply(insert={"entry": entries, "barred": list(barred)})
    return db


def rows_of(db: hw.Database) -> dict[str, list[tuple[object, ...]]]:
    return {name: sorted(db[name].rows()) for name in ("large", "twice", "pair")}


@pytest.mark.parametrize("loaded", [False, True])
def test_rows_with_one_derivation_are_derived_without_looking_for_them(tmp_path, loaded: bool):
    """Only where no row had two, and nothing can come: `twice` has rows of several entries."""
    entries = [(k, k % 700) for k in range(1000)]
    db = wide(entries, [(1,)], tmp_path / "kept" if loaded else None)
    if loaded:
        db.close()
        db = hw.connect(tmp_path / "kept")
    asked: dict[str, bool] = {}

    def noting(relation, expected, *, distinct=False):
        asked[relation.name] = distinct
        return room.successor(relation, expected, distinct=distinct)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(strategy, "successor", noting)
        db.apply(delete={"entry": entries[:900]})
    assert asked == {"large": True, "twice": False, "pair": True}
    left = rows_of(wide(entries[900:], [(1,)]))
    assert rows_of(db) == left
    db.apply(insert={"entry": entries[:3]}, delete={"entry": entries[900:905]})
    db.apply(insert={"entry": entries[900:905]}, delete={"entry": entries[:3]})
    assert rows_of(db) == left
    assert db.why("pair", left["pair"][0])


def test_rows_that_may_come_are_looked_for():
    """A row that was denied comes back while most others go."""
    entries = [(k, k) for k in range(1000)]
    db = wide(entries, [(999,)])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            strategy,
            "successor",
            lambda relation, expected, distinct: (
                pytest.fail(relation.name)
                if distinct and relation.name != "twice"
                else room.successor(relation, expected)
            ),
        )
        db.apply(delete={"entry": entries[:900], "barred": [(999,)]})
    assert rows_of(db) == rows_of(wide(entries[900:]))


def test_rows_are_looked_for_where_something_below_was_stopped():
    """`reach` was left without (10, 12), and gets it while most of it goes: 12 is reached in two ways then."""
    db = hw.connect(max_rounds=4, at_max_rounds="stop")
    db.define("""
        edge(a: int, b: int).
        start(a: int).
        reach(A, B) :- edge(A, B).
        reach(A, C) :- reach(A, B), edge(B, C).
        reached(B) :- start(A), reach(A, B).
    """)
    apart = [(k, k + 1) for k in range(1000, 3000, 2)]
    starts = [(10,), (11,), *((a,) for a, _ in apart)]
    db.apply(insert={"edge": [*apart, (0, 1), (1, 2), (2, 3)], "start": starts})
    db.apply(delete={"edge": [(0, 1)]}, insert={"edge": [(10, 11), (11, 12)]})
    assert (10, 12) not in db["reach"]
    db.apply(delete={"edge": apart[:900]})
    assert (10, 12) in db["reach"]
    assert sorted(db["reached"].rows()) == [(11,), (12,), *((b,) for _, b in apart[900:])]


def test_only_views_that_a_change_can_reach_are_looked_at(monkeypatch: pytest.MonkeyPatch):
    looked: list[str] = []
    estimate = mostly_gone._left_of

    def noted(view, *rest):
        looked.extend(view.stratum.relations)
        return estimate(view, *rest)

    monkeypatch.setattr(mostly_gone, "_left_of", noted)
    db = hw.connect()
    db.define(CHAIN + "apart(K) :- kept(K), K > 6000. further(K) :- apart(K), kept(K + 1).", insert=BASE)
    db.apply(delete=GONE)
    assert looked == list(VIEWS)
