"""Ctrl-C in the middle of a version: the version is taken back, or it stands whole."""

from __future__ import annotations

import os
import signal
import threading

import pytest

import headwater as hw
from headwater.plan import execute


def test_a_version_without_end_can_be_interrupted_and_is_taken_back():
    db = hw.connect()
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
    monkeypatch.setattr(execute, "MOST_STARTS_AT_ONCE", 10)
    pauses: list[int] = []
    monkeypatch.setattr(db.engine.workspace.executor, "between_pieces", lambda: pauses.append(1))
    db.apply(insert={"a": [(0, x) for x in range(95)]})
    assert len(pauses) == 9
    db.apply(insert={"b": [(0, 7, 7)]}, delete={"a": [(0, 0)]})
    assert sorted(db["v"].rows()) == [(x, 7) for x in range(1, 95)]
