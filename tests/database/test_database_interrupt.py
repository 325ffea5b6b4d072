"""Ctrl-C in the middle of a version: the version is taken back, or it stands whole."""

from __future__ import annotations

import os
import signal
import threading

import pytest

import headwater as hw
from headwater.maintain import fixpoint
from headwater.plan import execute, list_pieces


def test_a_version_without_end_can_be_interrupted_and_is_taken_back():
    db = hw.connect(max_rounds=10**9)
    db.define("count(X) :- start(X). count(Y) :- count(X), Y = X + 1.")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        db.apply(insert={"start": [(0,)]})
    timer.join()
    assert (db.version, db["start"].rows(), db["count"].rows()) == (1, [], [])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_between_rounds_is_raised_once_the_version_is_whole():
    """A user function sends it: it is noted while the version is open, and raised when that is committed."""
    db = hw.connect()
    db.register("sending", lambda x: os.kill(os.getpid(), signal.SIGINT) or x, args=["int"], returns="int")
    db.define("total(sum<Y>) :- q(X), Y = sending(X).")
    with pytest.raises(KeyboardInterrupt):
        db.apply(insert={"q": [(1,), (2,)]})
    assert (db.version, db["total"].rows()) == (2, [(3,)])


def test_a_join_that_finds_nothing_can_be_interrupted(monkeypatch: pytest.MonkeyPatch):
    db = hw.connect()
    db.define("a(k: int, x: int). b(k: int, y: int, z: int). v(X, Y) :- a(K, X), b(K, Y, Y).")
    db.apply(insert={"b": [(0, 1, 2), (0, 2, 1)]})
    monkeypatch.setattr(execute, "FEWEST_STARTS_CHAINED", 1)
    monkeypatch.setattr(execute, "MOST_STARTS_AT_ONCE", 10)
    pauses: list[int] = []
    monkeypatch.setattr(db.engine.workspace.executor, "between_pieces", lambda: pauses.append(1))
    db.apply(insert={"a": [(0, x) for x in range(95)]})
    assert len(pauses) == 9
    db.apply(insert={"b": [(0, 7, 7)]}, delete={"a": [(0, 0)]})
    assert sorted(db["v"].rows()) == [(x, 7) for x in range(1, 95)]


@pytest.mark.parametrize("cores", [1, 2])
def test_joins_that_find_nothing_one_after_the_other_can_be_interrupted(
    cores: int, monkeypatch: pytest.MonkeyPatch
):
    """Also where all of them run ahead: the first finds many rows, the second none for any of them."""
    db = hw.connect(cores=cores)
    db.define("v(X, W) :- a(X, Y), b(Y, Z), c(Z, W).")
    db.apply(insert={"b": [(0, z) for z in range(50)], "c": [(z, 1) for z in range(100, 150)]})
    db.apply(insert={"a": [(0, 0)]})
    monkeypatch.setattr(fixpoint, "FEWEST_STARTS_HELPED", 16)
    monkeypatch.setattr(execute, "FEWEST_STARTS_CHAINED", 1)
    for module in (execute, list_pieces):
        monkeypatch.setattr(module, "ROWS_A_PIECE", 100)
    pauses: list[int] = []
    monkeypatch.setattr(db.engine.workspace.executor, "between_pieces", lambda: pauses.append(1))
    db.engine.workspace.executor.free_buffers()
    db.apply(insert={"a": [(x, 0) for x in range(1, 41)]})
    assert db["v"].rows() == [] and len(pauses) >= 40 * 50 // 100 - 1
