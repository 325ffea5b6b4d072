"""What watches are told, replayed over the rows there were, gives the views after every version; whatever fails."""

from __future__ import annotations

import random
import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import examples, state_of
from oracle_programs import RandomProgram
from oracle_strategies import Version, programs, streams

import headwater as hw
from headwater.active.event import WatchEvent
from headwater.database import Database


class Replayed:
    """A view as one watch was told of it: every event does something, versions go up, and none comes twice."""

    def __init__(self, rows: set[tuple], version: int, rng: random.Random, failing: float):
        self.rows = rows
        self.version = version
        self.rng = rng
        self.failing = failing

    def __call__(self, event: WatchEvent) -> None:
        if self.rng.random() < self.failing:
            raise ConnectionError("not now")
        assert event.version > self.version
        assert not self.rows & set(event.inserted) and self.rows >= set(event.deleted)
        self.rows = (self.rows - set(event.deleted)) | set(event.inserted)
        self.version = event.version


def attach(db: Database, watched: dict[str, Replayed]) -> None:
    for name, replayed in watched.items():
        db.watch(name, replayed, name=f"watch {name}", retries=1, pause=0)


@settings(max_examples=examples(8))
@given(
    programs(limited=True),
    streams(length=5),
    st.lists(st.sampled_from(["go on", "go on", "reopen", "checkpoint", "away"]), min_size=6),
    st.integers(0, 1 << 20),
    st.sampled_from([0.0, 0.3, 0.6]),
)
def test_events_replay_to_the_views(
    program: RandomProgram, stream: list[Version], between: list[str], seed: int, failing: float
):
    """After `away`, a version is made by a process in which nobody is attached."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        db = hw.connect(folder, sync=False, max_rounds=2000)
        db.define(program.text())
        watched = {name: Replayed(set(rows), db.version, rng, failing) for name, rows in state_of(db).items()}
        attach(db, watched)
        states = {db.version: state_of(db)}
        for i, version in enumerate(stream):
            what = between[i % len(between)]
            delete, insert = version.resolved(state_of(db))
            db.apply(delete=delete, insert=insert)
            states[db.version] = state_of(db)
            if version.seconds:
                db.advance(db.now + version.seconds)
                states[db.version] = state_of(db)
            if what == "checkpoint":
                db.checkpoint()
            if what in ("reopen", "away"):
                db.close()
                db = hw.connect(folder, sync=False, max_rounds=2000)
            if what == "reopen":
                attach(db, watched)
            check(watched, states)
        attach(db, watched)
        for replayed in watched.values():
            replayed.failing = 0.0
        for watch in db.watches.values():
            watch.retry()
        assert {name: replayed.rows for name, replayed in watched.items()} == {
            name: set(rows) for name, rows in states[db.version].items()
        }
        db.close()


def check(watched: dict[str, Replayed], states: dict[int, dict]) -> None:
    """Each view is what it was after the version that it was told last, and until the next event."""
    for name, replayed in watched.items():
        if replayed.version in states:
            assert replayed.rows == set(states[replayed.version][name]), (name, replayed.version)
