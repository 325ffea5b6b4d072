"""Random active rules over random programs: cascades, refusals and endless ones, beside plain Python and clingo."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from oracle_active import (
    MOST_TRANSITIONS,
    Base,
    Endless,
    RandomActive,
    Refused,
    moving_rows,
    random_active,
    simulated,
)
from oracle_clingo import State, solve
from oracle_lockstep import FIGURES, assert_exact, examples, state_of
from oracle_programs import RandomProgram
from oracle_strategies import Version, programs, streams
from oracle_support import assert_support

import headwater as hw
from headwater.maintain.strategies import STRATEGIES
from headwater.nodes.where import start_nodes

SEEDS = some.integers(0, 10**9)


class Follower:
    """A database with active rules through versions, and what it should be after each."""

    def __init__(self, db: hw.Database, program: RandomProgram, rules: list[RandomActive], more: str = ""):
        self.db = db
        self.program = program
        self.rules = rules
        self.more = more
        db.define(program.text() + "\n".join(rule.text() for rule in rules) + "\n" + more)
        self.base: Base = {name: frozenset() for name in program.base}
        self.state: State = solve(program, self.base)

    def follow(self, version: Version) -> None:
        """Apply a version, and compare; a version that should be refused leaves everything as it was."""
        delete, insert = version.resolved(self.state)
        asked = {
            name: (rows - frozenset(delete.get(name, ()))) | frozenset(insert.get(name, ()))
            for name, rows in self.base.items()
        }
        rows = {"delete": dict(delete), "insert": dict(insert)}
        try:
            state, base = simulated(self.program, self.rules, self.state, asked)
        except (Endless, Refused) as error:
            code = "cascade" if isinstance(error, Endless) else "refused"
            FIGURES[f"versions refused: {code}"] += 1
            for call in (self.db.what_if, self.db.apply):
                with pytest.raises(hw.HeadwaterError) as found:
                    call(**rows)
                assert found.value.code == code
        else:
            for call in (self.db.what_if, self.db.apply):
                changes = call(**rows)
                assert_exact(changes, self.state, self._known(changes, state))
            self.state, self.base = state, base
        FIGURES["versions with active rules"] += 1
        assert state_of(self.db) == self.state

    def _known(self, changes: Any, state: State) -> State:
        """What all changes are told of: of a watched view, only what rules listen to may have been computed."""
        found = {}
        for name, rows in state.items():
            try:
                changes[name]
            except hw.DataError as error:
                assert error.code == "partly-known" and f".kind {name} watched" in self.more, name
            else:
                found[name] = rows
        return found


def rules_for(program: RandomProgram, seed: int) -> list[RandomActive]:
    draw = random.Random(seed)
    rules = [random_active(program, draw) for _ in range(draw.choice([1, 2, 3, 5]))]
    return rules + (moving_rows(program, draw) if draw.random() < 0.3 else [])


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=examples(6))
@given(some.data(), SEEDS)
def test_active_rules(strategy: str, data: some.DataObject, seed: int):
    program = data.draw(programs(recursion=strategy != "counting"))
    with hw.connect(strategy=strategy, max_cascade=MOST_TRANSITIONS, max_rounds=2000) as db:
        follower = Follower(db, program, rules_for(program, seed))
        for version in data.draw(streams(program.base, length=4)):
            follower.follow(version)
            if strategy == "support":
                assert_support(db)


@settings(max_examples=examples(8))
@given(programs(), streams(length=4), SEEDS)
def test_active_rules_over_views_that_are_not_stored(
    program: RandomProgram, stream: list[Version], seed: int
):
    draw = random.Random(seed)
    derived = [name for name in program.relations if name not in program.base]
    watched = [name for name in derived if draw.random() < 0.6]
    optimise = draw.choice([None, ["order", "irrelevant"]])
    with hw.connect(max_cascade=MOST_TRANSITIONS, max_rounds=2000, optimise=optimise) as db:
        kinds = "\n".join(f".kind {name} watched" for name in watched)
        follower = Follower(db, program, rules_for(program, seed), kinds)
        for version in stream:
            follower.follow(version)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    with start_nodes(3, run="threads") as nodes:
        yield nodes


@settings(max_examples=examples(4))
@given(some.data(), SEEDS)
def test_active_rules_on_nodes(nodes: Any, data: some.DataObject, seed: int):
    program, replicate = data.draw(programs()), data.draw(some.sampled_from([0, None]))
    options = {"run": "threads", "nodes": nodes, "replicate": replicate}
    with hw.connect(max_cascade=MOST_TRANSITIONS, max_rounds=2000, **options) as db:
        follower = Follower(db, program, rules_for(program, seed))
        for version in data.draw(streams(program.base, length=3)):
            follower.follow(version)


@settings(max_examples=examples(8))
@given(programs(), streams(length=4), SEEDS)
def test_a_restart_does_what_rules_did_and_no_more(program: RandomProgram, stream: list[Version], seed: int):
    draw = random.Random(seed)
    with TemporaryDirectory() as folder:
        path, options = Path(folder) / "state", {"max_cascade": MOST_TRANSITIONS, "sync": False}
        with hw.connect(path, **options) as db:
            follower = Follower(db, program, rules_for(program, seed))
        for version in stream:
            with hw.connect(path, **options) as db:
                assert state_of(db) == follower.state
                follower.db = db
                follower.follow(version)
                if draw.random() < 0.3:
                    db.checkpoint()
        with hw.connect(path, **options) as db:
            assert state_of(db) == follower.state
