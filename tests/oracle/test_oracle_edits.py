"""Rules that come and go one by one, rows in between: after every version all views are as clingo has them."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from oracle_edits import FLAT, Edits
from oracle_lockstep import examples, state_of

import headwater as hw
from headwater.maintain.strategies import STRATEGIES

SEEDS = some.integers(0, 10**9)


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=examples(3), deadline=None)
@given(seed=SEEDS)
def test_edits_of_rules(strategy: str, seed: int):
    with hw.connect(strategy=strategy) as db:
        edits = Edits(db, random.Random(seed))
        if strategy == "counting":
            edits.pool = FLAT
        edits.follow(12)


@settings(max_examples=examples(3), deadline=None)
@given(seed=SEEDS)
def test_edited_rules_are_there_after_a_restart(seed: int):
    draw = random.Random(seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        with hw.connect(path, sync=False) as db:
            edits = Edits(db, draw)
            edits.follow(5)
        for _ in range(3):
            with hw.connect(path, sync=False) as db:
                assert state_of(db) == edits.before and set(db.rules) == set(edits.rules)
                edits.db = db
                edits.step()
                if draw.random() < 0.5:
                    db.checkpoint()
                edits.step()
