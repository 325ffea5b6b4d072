"""Actions that fail: retried, parked, skipped, and in nobody's way."""

from __future__ import annotations

import warnings

import pytest
from active_alarms import PROGRAM, alarms, told

import headwater as hw


def test_a_failing_action_is_retried_then_parked_and_in_nobodys_way(db):
    attempts, others = [], []

    def fails(event):
        attempts.append((event.version, event.attempt))
        raise OSError("no route to host")

    db.watch("alarm", fails, name="mail", retries=2, pause=0)
    db.watch("alarm", others.append)
    alarms(db, (1, "low"))
    alarms(db, (2, "low"))
    mail = db.watches["mail"]
    assert attempts == [(2, 1), (2, 2), (2, 3)] and [event.version for event in others] == [2, 3]
    assert (mail.state, mail.owed, mail.delivered) == ("parked", (2, 3), 0)
    assert mail.error == "OSError: no route to host" and "in fails" in mail.trace
    mail.stop()


def test_a_pause_is_waited_for_by_nobody(db):
    """The next try is due later: until then versions go on, and events pile up in their order."""
    attempts = []

    def fails(event):
        attempts.append(event.version)
        if len(attempts) == 1:
            raise ValueError("not yet")

    db.watch("alarm", fails, name="slow", pause=3600)
    alarms(db, (1, "low"))
    alarms(db, (2, "low"))
    assert attempts == [2] and db.watches["slow"].state == "retrying" and db.watches["slow"].owed == (2, 3)
    assert db.watches.deliver() == 0
    assert db.watches["slow"].retry() == 2 and attempts == [2, 2, 3]
    assert db.watches["slow"].state == "following" and db.watches["slow"].error is None


def test_deliver_waits_for_pauses_if_it_is_told_to(db):
    attempts = []

    def fails(event):
        attempts.append(event.attempt)
        if len(attempts) < 3:
            raise ValueError("not yet")

    db.watch("alarm", fails, pause=0.001)
    alarms(db, (1, "low"))
    assert db.watches.deliver(wait=60) == 1 and attempts == [1, 2, 3]


def test_any_number_of_retries(db):
    def fails(event):
        raise OSError(event.attempt)

    watch = db.watch("alarm", fails, retries=600, pause=0)
    alarms(db, (1, "low"))
    assert (watch.state, watch.error) == ("parked", "OSError: 601")
    watch.stop()


def test_a_parked_watch_is_skipped_or_tried_again(db):
    done, broken = [], [True]

    def fails(event):
        if broken[0]:
            raise ValueError("broken")
        done.append(event.version)

    db.watch("alarm", fails, name="x", retries=0)
    for number in range(3):
        alarms(db, (number, "low"))
    assert db.watches["x"].owed == (2, 3, 4)
    db.watches["x"].skip()
    assert db.watches["x"].owed == (3, 4) and db.watches["x"].state == "parked"
    broken[0] = False
    assert db.watches["x"].retry() == 2 and done == [3, 4]


def test_a_condition_that_fails_parks_its_watch_and_not_the_version(db):
    db.register("share", lambda x: 10 // x, args=["int"], returns="int")
    events = []
    db.watch("alarm(X, _)", events.append, when="share(X) > 2", name="share")
    assert alarms(db, (0, "low")).version == 2
    alarms(db, (2, "low"))
    share = db.watches["share"]
    assert share.state == "parked" and "function-failed" in share.error and share.owed == (2, 3)
    share.skip()
    assert told(events) == [(3, [(2, "low")], [])]


class Wordless(Exception):
    """Cannot be told."""

    def __str__(self):
        raise RuntimeError("no words")


def test_an_error_that_cannot_be_told_is_an_error_as_any_other(db):
    def fails(event):
        raise Wordless

    db.watch("alarm", fails, name="x", retries=0)
    assert alarms(db, (1, "low")).version == 2
    assert db.watches["x"].state == "parked" and db.watches["x"].error == "Wordless: it cannot say why"
    db.watches["x"].skip()


def test_an_action_may_make_watches_deliver_and_define(db):
    done = []

    def busy(event):
        db.watch("ticket", done.append)
        assert db.watches.deliver(wait=60) == 0
        db.define("more(x: int).")
        db.watches["busy"].retry()
        done.append(db.apply(insert={"ticket": [(event.version,)]}).version)

    db.watch("alarm", busy, name="busy")
    alarms(db, (1, "low"))
    assert done[0] == 4 and told(done[1:]) == [(4, [(2,)], [])]


def test_a_warning_that_is_an_error_closes_the_database_all_the_same(tmp_path):
    db = hw.connect(tmp_path / "state")
    db.define(PROGRAM)
    db.watch("alarm", lambda event: 1 / 0, retries=0)
    alarms(db, (1, "low"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(hw.HeadwaterWarning):
            db.close()
    hw.connect(tmp_path / "state").close()


def test_what_goes_with_the_database_is_said(db):
    def fails(event):
        raise ValueError("no")

    db.watch("alarm", fails, retries=0)
    alarms(db, (1, "low"))
    with pytest.warns(hw.HeadwaterWarning) as caught:
        db.close()
    assert caught[0].message.code == "undelivered"
