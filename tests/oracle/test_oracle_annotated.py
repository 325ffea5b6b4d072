"""Strategies that keep provenance, on random programs under random changes, against clingo and each other."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_graphs import cheapest, cost_stream, seeds, widest
from oracle_lockstep import Lockstep, assert_exact, examples, state_of
from oracle_programs import RandomProgram
from oracle_strategies import Version, dense_programs, programs, streams
from oracle_support import assert_support

import headwater as hw
from headwater.annotations.minimal_dnf import bits
from headwater.database import Database
from headwater.maintain.strategies.absorption import Expressions
from headwater.maintain.strategies.annotated import Annotated
from headwater.maintain.strategies.ledger import Ground

ANNOTATED = ("absorption", "absorption-eager", "relative")


def follow(program: RandomProgram, stream: list[Version]) -> Lockstep:
    lockstep = Lockstep(program.text(), ANNOTATED, tables=program.tables)
    for version in stream:
        lockstep.follow(version, lambda state: solve(program, {name: state[name] for name in program.base}))
    return lockstep


@settings(max_examples=examples(25))
@given(programs(limited=True), streams())
def test_random_programs(program: RandomProgram, stream: list[Version]):
    follow(program, stream)


@settings(max_examples=examples(30))
@given(dense_programs(), streams())
def test_much_changes_at_once(program: RandomProgram, stream: list[Version]):
    follow(program, stream)


BEST = {
    "cheapest": "best(X, Y, min<C>) :- w(X, Y, C). best(X, Y, min<C>) :- best(X, Z, A), w(Z, Y, B), C = A + B.",
    "double": "best(X, Y, min<C>) :- w(X, Y, C). best(X, Y, min<C>) :- best(X, Z, A), best(Z, Y, B), C = A + B.",
    "widest": "best(X, Y, max<C>) :- w(X, Y, C). best(X, Y, max<C>) :- best(X, Z, A), w(Z, Y, B), C = min(A, B).",
}


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("strategy", ANNOTATED)
@pytest.mark.parametrize("shape", BEST)
def test_best_ways(shape: str, strategy: str, seed: int):
    stream = cost_stream(seed, nodes=6, most=6)
    db = hw.connect(strategy=strategy, max_rounds=2000)
    db.define("w(x: int, y: int, c: int). " + BEST[shape])
    db.apply(insert={"w": stream.start(12)})
    for delete, insert in stream.versions(12):
        db.apply(delete={"w": delete}, insert={"w": insert})
        assert set(db["best"].rows()) == (widest if shape == "widest" else cheapest)(stream.rows)


@settings(max_examples=examples(15))
@given(programs(limited=True), streams(length=4), st.booleans())
def test_ranked_and_annotated_strategies_take_turns_on_one_state(
    program: RandomProgram, stream: list[Version], checkpoint: bool
):
    """Provenance is not stored: who comes next derives what it needs; counts are right when they are kept."""
    strategies = ["absorption", "support", "relative", "auto", "absorption-eager"]
    memory = hw.connect()
    memory.define(program.text())
    with tempfile.TemporaryDirectory() as folder:
        with hw.connect(folder, sync=False, max_rounds=2000, strategy="relative") as db:
            db.define(program.text())
        for i, version in enumerate(stream):
            delete, insert = version.resolved(state_of(memory))
            memory.apply(delete=delete, insert=insert)
            strategy = strategies[i % len(strategies)]
            with hw.connect(folder, sync=False, max_rounds=2000, strategy=strategy) as db:
                if strategy in ("support", "auto"):
                    assert_support(db)
                db.apply(delete=delete, insert=insert)
                assert state_of(db) == state_of(memory)
                if checkpoint:
                    db.checkpoint()


CLOSURE = "link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
LINKS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=6)


def ledger(db: Database) -> Expressions:
    (strategy,) = [view.strategy for view in db.engine.views]
    assert isinstance(strategy, Annotated) and isinstance(strategy.ledger, Expressions)
    return strategy.ledger


def assert_expressions(db: Database) -> None:
    """Each term of a row, alone, derives the row, and no smaller set of links does; variables are indexed."""
    found = ledger(db)
    names = {number: key for key, number in found.numbers.items()}
    types = {name: db.engine.workspace.infos[name].types for name in ("link", "reach")}

    def values(key: Ground) -> tuple[int, ...]:
        (row,) = db.codec.decode_rows(np.array([key.codes]), types[key.relation])
        return tuple(row)

    for row in found.table:
        for term in found.expression(row):
            links = [values(names[number]) for number in bits(term)]
            assert derives(links, values(row))
            assert not any(derives([x for x in links if x != link], values(row)) for link in links)
            for number in bits(term):
                assert found.table.number(row) in found.table.using(number)


def derives(links: list[tuple[int, ...]], row: tuple[int, ...]) -> bool:
    known = {y for x, y in links if x == row[0]}
    while True:
        more = known | {y for x, y in links if x in known}
        if more == known:
            return row[1] in known
        known = more


@pytest.mark.parametrize("strategy", ["absorption", "absorption-eager"])
@settings(max_examples=examples(40))
@given(stream=st.lists(st.tuples(LINKS, LINKS), max_size=6))
def test_every_term_is_a_minimal_proof(strategy: str, stream: list[tuple[list[tuple[int, int]], ...]]):
    db = hw.connect(strategy=strategy)
    db.define(CLOSURE)
    for delete, insert in stream:
        db.apply(delete={"link": delete}, insert={"link": insert})
        assert_expressions(db)


@settings(max_examples=examples(25))
@given(stream=st.lists(st.tuples(LINKS, LINKS), max_size=6))
def test_eager_expressions_have_all_minimal_proofs(stream: list[tuple[list[tuple[int, int]], ...]]):
    """Eager keeps the whole expression: what is left after any further loss is known without deriving."""
    db = hw.connect(strategy="absorption-eager")
    db.define(CLOSURE)
    links: set[tuple[int, int]] = set()
    for delete, insert in stream:
        db.apply(delete={"link": delete}, insert={"link": insert})
        links = (links - set(delete)) | set(insert)
        found = ledger(db)
        for gone in sorted(links):
            number = next(n for key, n in found.numbers.items() if tuple(key.codes) == gone)
            left = {
                tuple(row.codes)
                for row in found.table
                if any(not term >> number & 1 for term in found.sent(row))
            }
            rest = [link for link in links if link != gone]
            nodes = {x for link in links for x in link}
            assert left == {(x, y) for x in nodes for y in nodes if derives(rest, (x, y))}


@pytest.mark.parametrize("strategy", ANNOTATED)
@settings(max_examples=examples(15))
@given(program=programs(limited=True), stream=streams(length=5), failing=st.integers(0, 4))
def test_a_version_that_fails_leaves_no_trace(
    strategy: str, program: RandomProgram, stream: list[Version], failing: int
):
    """The last stratum divides by what a base row says; such a version is refused and all is as before."""
    text = program.text() + "\nbad(d: int). hurt(Q) :- bad(D), Q = 1 / D.\n"
    db = hw.connect(strategy=strategy, max_rounds=2000)
    db.define(text)
    for i, version in enumerate(stream):
        before = state_of(db)
        delete, insert = version.resolved(before)
        if i % 5 == failing:
            with pytest.raises(hw.HeadwaterError):
                db.apply(delete=delete, insert={**insert, "bad": [(0,)]})
            assert state_of(db) == before
        assert_exact(db.apply(delete=delete, insert=insert), before, state_of(db))
        fresh = hw.connect()
        fresh.define(text)
        after = state_of(db)
        fresh.apply(insert={name: after[name] for name in after if fresh.info(name).base})
        assert state_of(fresh) == after
