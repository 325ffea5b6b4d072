"""The counts and ranks behind the rows, after every version of random streams, for every strategy."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from oracle_graphs import cheapest, cost_stream, seeds, widest
from oracle_lockstep import examples, state_of
from oracle_programs import RandomProgram
from oracle_strategies import Version, dense_programs, programs, streams
from oracle_support import assert_support, ranks, stored_rows

import headwater as hw


@pytest.mark.parametrize("strategy", ["support", "dred", "recompute", "auto"])
@settings(max_examples=examples(50))
@given(programs(), streams(length=5))
def test_counts_never_rest_on_a_cycle(strategy: str, program: RandomProgram, stream: list[Version]):
    db = hw.connect(strategy=strategy, max_rounds=2000)
    db.define(program.text())
    assert_support(db)
    for version in stream:
        delete, insert = version.resolved(state_of(db))
        db.apply(delete=delete, insert=insert)
        assert_support(db)


@pytest.mark.parametrize("strategy", ["support", "dred"])
@settings(max_examples=examples(80))
@given(dense_programs(), streams())
def test_counts_where_much_changes_at_once(strategy: str, program: RandomProgram, stream: list[Version]):
    """Derivations that lose two premises in one version, or gain one and lose another, are counted once."""
    db = hw.connect(strategy=strategy, max_rounds=2000)
    db.define(program.text())
    for version in stream:
        delete, insert = version.resolved(state_of(db))
        db.apply(delete=delete, insert=insert)
        assert_support(db)


BEST = {
    "linear": "best(X, Y, min<C>) :- w(X, Y, C). best(X, Y, min<C>) :- best(X, Z, A), w(Z, Y, B), C = A + B.",
    "double": "best(X, Y, min<C>) :- w(X, Y, C). best(X, Y, min<C>) :- best(X, Z, A), best(Z, Y, B), C = A + B.",
    "ways": "way(X, Y, C) :- w(X, Y, C). way(X, Y, C) :- way(X, Z, A), w(Z, Y, B), C = A + B."
    "best(X, Y, min<C>) :- way(X, Y, C).",
    "widest": "best(X, Y, max<C>) :- w(X, Y, C). best(X, Y, max<C>) :- best(X, Z, A), best(Z, Y, B), C = min(A, B).",
}


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("strategy", ["support", "dred"])
@pytest.mark.parametrize("shape", BEST)
def test_counts_of_candidates(shape: str, strategy: str, seed: int):
    """Also rows that are not the best of their group have counts, ready for the day the best one goes."""
    stream = cost_stream(seed, nodes=5, most=6)
    db = hw.connect(strategy=strategy, max_rounds=2000)
    db.define("w(x: int, y: int, c: int). " + BEST[shape])
    db.apply(insert={"w": stream.start(12)})
    for delete, insert in stream.versions(12):
        db.apply(delete={"w": delete}, insert={"w": insert})
        assert_support(db)
        assert set(db["best"].rows()) == (widest if shape == "widest" else cheapest)(stream.rows)


@settings(max_examples=examples(20))
@given(programs(recursion=False), streams(length=5))
def test_without_recursion_every_derivation_counts(program: RandomProgram, stream: list[Version]):
    db = hw.connect(strategy="counting")
    db.define(program.text())
    for version in stream:
        delete, insert = version.resolved(state_of(db))
        db.apply(delete=delete, insert=insert)
        assert_support(db)


def test_a_cycle_does_not_count_as_its_own_support():
    db = hw.connect()
    db.define("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
    db.apply(insert={"link": [(1, 2), (2, 1)]})
    assert {row: kept.count for row, kept in stored_rows(db, "reach").items()} == {
        (1, 2): 1, (2, 1): 1, (1, 1): 1, (2, 2): 1
    }  # fmt: skip


def test_ranks_follow_the_rounds():
    db = hw.connect()
    db.define("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
    db.apply(insert={"link": [(1, 2), (2, 3), (3, 4)]})
    assert sorted(ranks(db, "reach").values()) == [1, 2, 3]
