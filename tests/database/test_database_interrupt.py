"""Ctrl-C in the middle of a version: the version is taken back, or it stands whole."""

from __future__ import annotations

import os
import signal
import threading

import pytest

import headwater as hw


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
