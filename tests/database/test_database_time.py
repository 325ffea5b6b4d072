"""Lifetimes, sizes and the clock."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from database_support import rows

import headwater as hw

SOFT = """
    heard(x: string). materialize(heard, 10, infinity, keys(1)).
    alive(X) :- heard(X).
"""


def soft(text: str = SOFT, **options) -> hw.database.Database:
    db = hw.connect(**options)
    db.define(text)
    return db


def recent(size: int) -> hw.database.Database:
    return soft(f"seen(x: int). materialize(seen, infinity, {size}, keys(1)). number(count<X>) :- seen(X).")


# ------------------------------------------------------------------ the logical clock


def test_rows_expire_at_the_end_of_their_lifetime():
    db = soft()
    db.apply(insert={"heard": [("a",)]})
    assert not db.advance(9.999) and rows(db, "alive") == [("a",)]
    changes = db.advance(10)
    assert changes["heard"].deleted == changes["alive"].deleted == [("a",)]
    assert db.now == 10 and changes.version == 4


def test_each_row_has_its_own_time():
    db = soft()
    for second in range(5):
        db.advance(second)
        db.apply(insert={"heard": [(f"at {second}",)]})
    assert db.advance(12)["alive"].counts == (0, 3)
    assert rows(db, "alive") == [("at 3",), ("at 4",)]


def test_inserting_a_row_again_refreshes_it():
    db = soft()
    db.apply(insert={"heard": [("a",), ("b",)]})
    db.advance(6)
    assert db.apply(insert={"heard": [("a",)]}).statistics.no_ops == 1
    assert db.advance(10)["alive"].deleted == [("b",)]
    assert db.advance(16)["alive"].deleted == [("a",)]


def test_a_row_that_expires_and_comes_in_one_version_stays():
    db = soft()
    db.apply(insert={"heard": [("a",), ("b",)]})
    db.now = 10.0
    changes = db.apply(insert={"heard": [("a",)]})
    assert changes["alive"].deleted == [("b",)] and changes["alive"].inserted == []
    db.advance(19)
    assert rows(db, "alive") == [("a",)]


def test_a_deleted_row_that_comes_back_starts_a_new_life():
    db = soft()
    db.apply(insert={"heard": [("a",)]})
    db.advance(5)
    db.apply(delete={"heard": [("a",)]})
    db.apply(insert={"heard": [("a",)]})
    assert not db.advance(14) and db.advance(15)["alive"].deleted == [("a",)]


def test_lifetimes_of_rows_that_are_there_begin_with_the_declaration():
    db = hw.connect()
    db.apply(insert={"heard": [("a",)]})
    db.advance(100)
    db.define(SOFT)
    db.advance(109)
    assert rows(db, "alive") == [("a",)]
    db.advance(110)
    assert rows(db, "alive") == []


@pytest.mark.parametrize("reopened", [False, True])
def test_a_lifetime_declared_again_is_the_one_that_counts(reopened: bool, tmp_path: Path):
    db = soft(SOFT + 'heard("a").', path=tmp_path)
    db.define("materialize(heard, 20, infinity, keys(1)).")
    assert db.info("heard").lifetime == 20
    if reopened:
        db.checkpoint()
        db.close()
        db = hw.connect(tmp_path)
    assert not db.advance(19) and db.advance(20)["alive"].deleted == [("a",)]


def test_time_does_not_go_back_and_must_be_a_time():
    db = soft()
    db.advance(5)
    for wrong, code in ((4.5, "time-goes-back"), (None, "no-time")):
        with pytest.raises(hw.DataError) as caught:
            db.advance(wrong)
        assert caught.value.code == code
    for wrong in (float("nan"), "noon"):
        with pytest.raises(hw.DataError):
            db.advance(wrong)
    assert db.now == 5 and db.version == 2


def test_a_refused_version_refreshes_nothing():
    db = soft(SOFT + "n(x: int). inverse(Y) :- n(X), Y = 1 / X.")
    db.apply(insert={"heard": [("a",)]})
    db.advance(6)
    with pytest.raises(hw.EvaluationError):
        db.apply(insert={"heard": [("a",), ("b",)], "n": [(0,)]})
    assert db.advance(10)["alive"].deleted == [("a",)]
    assert not db.advance(16)


# ------------------------------------------------------------------ sizes


def test_the_oldest_go_when_there_are_too_many():
    db = recent(3)
    db.apply(insert={"seen": [(1,), (2,)]})
    changes = db.apply(insert={"seen": [(3,), (4,), (5,)]})
    assert rows(db, "seen") == [(3,), (4,), (5,)]
    assert sorted(changes["seen"].deleted) == [(1,), (2,)]
    assert rows(db, "number") == [(3,)]


def test_more_rows_at_once_than_there_is_room_for():
    db = recent(2)
    changes = db.apply(insert={"seen": [(1,), (2,), (3,), (4,)]})
    assert sorted(changes["seen"].inserted) == [(3,), (4,)] and changes["seen"].deleted == []
    assert changes.statistics.no_ops == 0
    assert rows(db, "number") == [(2,)]


def test_seeing_a_row_again_keeps_it():
    db = recent(2)
    db.apply(insert={"seen": [(1,), (2,)]})
    db.apply(insert={"seen": [(1,)]})
    assert db.apply(insert={"seen": [(3,)]})["seen"].deleted == [(2,)]


def test_deleting_makes_room():
    db = recent(2)
    db.apply(insert={"seen": [(1,), (2,)]})
    changes = db.apply(delete={"seen": [(2,)]}, insert={"seen": [(3,)]})
    assert changes["seen"].deleted == [(2,)] and rows(db, "seen") == [(1,), (3,)]


def test_a_size_declared_again_is_the_one_that_counts():
    db = recent(3)
    db.apply(insert={"seen": [(1,), (2,), (3,)]})
    changes = db.define("materialize(seen, infinity, 1, keys(1)).")
    assert sorted(changes["seen"].deleted) == [(1,), (2,)] and rows(db, "number") == [(1,)]


# ------------------------------------------------------------------ kept in a folder


@pytest.mark.parametrize("checkpoint", [True, False])
def test_times_survive(checkpoint: bool, tmp_path: Path):
    with soft(path=tmp_path) as db:
        db.apply(insert={"heard": [("a",)]})
        db.advance(4)
        db.apply(insert={"heard": [("b",)]})
        if checkpoint:
            db.checkpoint()
    with hw.connect(tmp_path) as db:
        assert db.now == 4
        assert db.advance(10)["alive"].deleted == [("a",)]
    with hw.connect(tmp_path) as db:
        assert db.now == 10 and rows(db, "alive") == [("b",)]
        assert db.advance(14)["alive"].deleted == [("b",)]


# ------------------------------------------------------------------ the real clock


def wait(seconds: float) -> None:
    """Pass the time, without sleeping through it."""
    end = time.time() + seconds
    while time.time() <= end:
        pass


def test_real_time():
    text = "beat(x: int). materialize(beat, 0.05, infinity, keys(1)). up(X) :- beat(X)."
    db = soft(text, clock="real")
    assert abs(db.now - time.time()) < 60
    db.apply(insert={"beat": [(1,)]})
    wait(0.06)
    changes = db.apply(insert={"beat": [(2,)]})
    assert changes["up"].inserted == [(2,)] and changes["up"].deleted == [(1,)]
    wait(0.06)
    assert db.advance()["up"].deleted == [(2,)]
    assert rows(db, "up") == [] and abs(db.now - time.time()) < 60


def test_real_time_goes_on_while_nobody_looks(tmp_path: Path):
    text = "beat(x: int). materialize(beat, 0.05, infinity, keys(1)). up(X) :- beat(X)."
    with soft(text, path=tmp_path, clock="real") as db:
        db.apply(insert={"beat": [(1,)]})
    wait(0.06)
    with hw.connect(tmp_path, clock="real") as db:
        assert db.advance()["up"].deleted == [(1,)]
