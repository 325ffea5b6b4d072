"""Random programs under random changes, the database closed and opened again between versions."""

from __future__ import annotations

import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import assert_exact, examples, state_of
from oracle_programs import RandomProgram
from oracle_strategies import Version, programs, streams
from oracle_support import assert_support

import headwater as hw


@settings(max_examples=examples(50))
@given(
    programs(limited=True),
    streams(length=5),
    st.lists(st.sampled_from(["go on", "reopen", "checkpoint", "both"]), min_size=6),
)
def test_reopening_changes_nothing(program: RandomProgram, stream: list[Version], between: list[str]):
    """Beside it a database in memory goes through the same; counts and ranks survive as well as rows."""
    memory = hw.connect()
    with tempfile.TemporaryDirectory() as folder:
        db = hw.connect(folder, sync=False, max_rounds=2000)
        for each in (memory, db):
            each.define(program.text())
        for i, version in enumerate(stream):
            before = state_of(memory)
            delete, insert = version.resolved(before)
            for each in (memory, db):
                assert_exact(each.apply(delete=delete, insert=insert), before, state_of(each))
            assert state_of(db) == state_of(memory)
            if version.seconds:
                before = state_of(memory)
                for each in (memory, db):
                    assert_exact(each.advance(each.now + version.seconds), before, state_of(each))
                assert state_of(db) == state_of(memory)
            what = between[i % len(between)]
            if what in ("checkpoint", "both"):
                db.checkpoint()
            if what in ("reopen", "both"):
                number = db.version
                db.close()
                db = hw.connect(folder, sync=False, max_rounds=2000)
                assert db.version == number
                assert state_of(db) == state_of(memory)
                assert_support(db)
        db.close()


@settings(max_examples=examples(20))
@given(programs(limited=True), streams(length=4), st.booleans())
def test_another_strategy_goes_on_where_one_stopped(
    program: RandomProgram, stream: list[Version], checkpoint: bool
):
    strategies = ["support", "dred", "auto", "recompute"]
    memory = hw.connect()
    memory.define(program.text())
    with tempfile.TemporaryDirectory() as folder:
        with hw.connect(folder, sync=False, max_rounds=2000) as db:
            db.define(program.text())
        for i, version in enumerate(stream):
            delete, insert = version.resolved(state_of(memory))
            memory.apply(delete=delete, insert=insert)
            with hw.connect(folder, sync=False, max_rounds=2000, strategy=strategies[i % 4]) as db:
                db.apply(delete=delete, insert=insert)
                memory.advance(memory.now + version.seconds)
                db.advance(memory.now)
                assert state_of(db) == state_of(memory)
                if checkpoint:
                    db.checkpoint()
