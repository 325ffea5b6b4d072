"""A version that fails in the middle leaves no trace: rows, counts and further changes are as if it never was."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_graphs import closure, cost_stream, seeds
from oracle_lockstep import assert_exact, examples, state_of
from oracle_support import assert_support

import headwater as hw
from headwater.database import Database

STRATEGIES = ["support", "dred", "recompute", "auto"]


class Fuse:
    """A function that gives its argument back, and fails at a chosen call (and the ones after it)."""

    def __init__(self, error: Callable[[str], BaseException] = ValueError) -> None:
        self.error = error
        self.left: int | None = None

    def __call__(self, value: int) -> int:
        if self.left is not None:
            if self.left <= 0:
                raise self.error("blown")
            self.left -= 1
        return value


TEXT = """
    link(x: int, y: int, c: int).
    step(X, Y, C) :- link(X, Y, A), C = fuse(A).
    reach(X, Y) :- step(X, Y, _).
    reach(X, Y) :- reach(X, Z), step(Z, Y, _).
    best(X, Y, min<C>) :- step(X, Y, C).
    best(X, Y, min<C>) :- best(X, Z, A), step(Z, Y, B), D = fuse(A), C = D + B.
    degree(X, count<Y>) :- reach(X, Y).
    total(X, sum<C>) :- best(X, Y, C).
    late(X, S) :- total(X, S), S < 100, !reach(X, X), T = fuse(S), T >= 0.
"""


def armed(strategy: str, fuse: Fuse, **options: Any) -> Database:
    db = hw.connect(strategy=strategy, functions={"fuse": (fuse, ["int"], "int")}, **options)
    db.define(TEXT)
    return db


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", seeds(3))
def test_a_function_that_fails_at_any_call(strategy: str, seed: int):
    """Each version is tried with the function failing at some call; then again with a function that works."""
    fuse, reference_fuse = Fuse(), Fuse()
    db, reference = armed(strategy, fuse), armed("recompute", reference_fuse)
    stream = cost_stream(600 + seed, nodes=7, most=5)
    rng = random.Random(seed)
    failures = 0
    for version in range(13):
        delete, insert = stream.version() if version else ([], stream.start(12))
        before, number = state_of(db), db.version
        fuse.left = rng.choice([0, 0, 1, 2, 5, 10, 20])
        try:
            db.apply(delete={"link": delete}, insert={"link": insert})
        except hw.EvaluationError as error:
            assert error.code == "function-failed"
            failures += 1
            assert (state_of(db), db.version) == (before, number)
            fuse.left = None
            if version % 3 == 0:
                assert_support_known(db, fuse)
            assert_exact(db.apply(delete={"link": delete}, insert={"link": insert}), before, state_of(db))
        fuse.left = None
        reference.apply(delete={"link": delete}, insert={"link": insert})
        assert state_of(db) == state_of(reference)
        assert set(db["reach"].rows()) == closure({(x, y) for x, y, _ in stream.rows})
    assert failures > 2


def assert_support_known(db: Database, fuse: Fuse) -> None:
    """The counts behind the rows, with `fuse` known to the brute-force check as what it is: the identity."""
    import oracle_support

    oracle_support._FUNCTIONS["fuse"] = fuse
    assert_support(db)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_interrupt_in_the_middle(strategy: str):
    """Also what is not an error of a rule: the version is undone and the interrupt goes on."""
    fuse = Fuse(KeyboardInterrupt)
    db = armed(strategy, fuse)
    db.apply(insert={"link": [(1, 2, 3), (2, 3, 4)]})
    before = state_of(db)
    fuse.left = 1
    with pytest.raises(KeyboardInterrupt):
        db.apply(insert={"link": [(3, 1, 5), (3, 4, 6)]}, delete={"link": [(1, 2, 3)]})
    fuse.left = None
    assert state_of(db) == before
    db.apply(insert={"link": [(3, 1, 5)]})
    assert set(db["reach"].rows()) == closure({(1, 2), (2, 3), (3, 1)})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_overflow(strategy: str):
    db = hw.connect(strategy=strategy)
    db.define(
        "n(x: int). square(X, Y) :- n(X), Y = X * X. total(sum<Y>) :- square(X, Y). big(X) :- n(X), X > 9."
    )
    db.apply(insert={"n": [(3,), (20,)]})
    before = state_of(db)
    with pytest.raises(hw.EvaluationError) as caught:
        db.apply(insert={"n": [(7,), (2**40,), (50,)]}, delete={"n": [(3,)]})
    assert caught.value.code == "overflow"
    assert state_of(db) == before
    db.apply(insert={"n": [(7,)]}, delete={"n": [(3,)]})
    assert db["total"].rows() == [(449,)]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_sum_that_does_not_fit(strategy: str):
    """The sum overflows after the groups below it have been changed; they are put back."""
    db = hw.connect(strategy=strategy)
    db.define("n(k: int, x: int). total(K, sum<X>) :- n(K, X). size(K, count<X>) :- n(K, X).")
    db.apply(insert={"n": [(1, 2**62), (2, 5)]})
    before = state_of(db)
    with pytest.raises(hw.EvaluationError) as caught:
        db.apply(insert={"n": [(1, 2**62 + 1), (2, 6), (3, 7)]})
    assert caught.value.code == "overflow"
    assert state_of(db) == before
    changes = db.apply(insert={"n": [(2, 6), (3, 7)]}, delete={"n": [(1, 2**62)]})
    assert sorted(db["total"].rows()) == [(2, 11), (3, 7)]
    assert_exact(changes, before, state_of(db))


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=examples(15))
@given(st.data())
def test_a_recursion_that_takes_too_many_rounds(strategy: str, data: st.DataObject):
    """A chain longer than `max_rounds` is refused, whatever is done in the same version; shorter ones go on."""
    db = hw.connect(strategy=strategy, max_rounds=9)
    db.define("link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
    links: set[tuple[int, int]] = set()
    link = st.tuples(st.integers(0, 3), st.integers(0, 3))
    for _ in range(data.draw(st.integers(2, 4))):
        before = state_of(db)
        chain = [(i, i + 1) for i in range(100, 112)]
        with pytest.raises(hw.EvaluationError) as caught:
            db.apply(
                insert={"link": [*data.draw(st.lists(link)), *chain]},
                delete={"link": data.draw(st.lists(st.sampled_from(sorted(links)))) if links else []},
            )
        assert caught.value.code == "no-fixpoint"
        assert state_of(db) == before
        assert_support(db)
        insert, delete = data.draw(st.lists(link)), data.draw(st.lists(link))
        links = (links - set(delete)) | set(insert)
        assert_exact(db.apply(insert={"link": insert}, delete={"link": delete}), before, state_of(db))
        assert set(db["reach"].rows()) == closure(links)
        assert_support(db)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_that_do_not_fit(strategy: str):
    """The second relation's rows are refused after the first one's were accepted."""
    db = hw.connect(strategy=strategy)
    db.define("a(x: int). b(x: int). c(X) :- a(X), !b(X).")
    db.apply(insert={"a": [(1,)]})
    before = state_of(db)
    for insert in ({"a": [(2,)], "b": [("one",)]}, {"a": [(2,)], "b": [(1, 2)]}, {"a": [(2,)], "c": [(1,)]}):
        with pytest.raises(hw.DataError):
            db.apply(insert=insert)
        assert state_of(db) == before


def test_a_refused_version_in_the_middle_of_starting_over():
    """The stratum is being derived anew (most of it is lost) when the function fails."""
    fuse = Fuse()
    db = hw.connect(functions={"fuse": (fuse, ["int"], "int")})
    db.define(
        "link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
        "odd(X) :- reach(X, Y), Z = fuse(Y), Z > 3."
    )
    chain = [(i, i + 1) for i in range(150)]
    db.apply(insert={"link": chain})
    before = state_of(db)
    fuse.left = 0
    with pytest.raises(hw.EvaluationError):
        db.apply(delete={"link": chain[75:76]})
    fuse.left = None
    assert state_of(db) == before
    changes = db.apply(delete={"link": chain[75:76]})
    assert changes.statistics.events
    assert set(db["reach"].rows()) == closure(set(chain) - {chain[75]})
    assert_exact(changes, before, state_of(db))
