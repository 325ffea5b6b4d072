"""The counts and ranks behind the rows, after every version of random streams, for every strategy."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from oracle_lockstep import examples, state_of
from oracle_programs import RandomProgram
from oracle_strategies import Version, programs, streams
from oracle_support import assert_support, ranks, stored_rows

import headwater as hw


@pytest.mark.parametrize("strategy", ["support", "dred", "recompute", "auto"])
@settings(max_examples=examples(50))
@given(programs(), streams(length=5))
def test_counts_never_rest_on_a_cycle(strategy: str, program: RandomProgram, stream: list[Version]):
    db = hw.connect(strategy=strategy)
    db.define(program.text())
    assert_support(db)
    for version in stream:
        delete, insert = version.resolved(state_of(db))
        db.apply(delete=delete, insert=insert)
        assert_support(db)


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
