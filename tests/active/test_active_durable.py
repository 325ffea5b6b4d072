"""Watches with a name, of a database with a path: what they are owed is in the log, and there after a restart."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from active_alarms import told

import headwater as hw

PROGRAM = """
link(src: string, dst: string).
reach(X, Y) :- link(X, Y).
reach(X, Y) :- link(X, Z), reach(Z, Y).
some() :- link(_, _).
"""


@pytest.fixture
def state(tmp_path):
    with hw.connect(tmp_path / "state") as db:
        db.define(PROGRAM)
    return tmp_path / "state"


@pytest.mark.parametrize("checkpoint", [False, True])
def test_what_was_missed_is_told_once_after_a_restart(state, checkpoint):
    """By a watch that nobody has attached to, and by one whose action failed."""
    first, again = [], []
    with hw.connect(state) as db:
        db.watch("reach", first.append, name="w")
        db.apply(insert={"link": [("a", "b")]})
    with hw.connect(state) as db:  # nobody attaches
        db.apply(insert={"link": [("b", "c")]})
        db.apply(delete={"link": [("a", "b")]})
        assert db.watches["w"].state == "waiting" and db.watches["w"].owed == (3, 4)
        if checkpoint:
            db.checkpoint()
    with hw.connect(state) as db:
        db.watch("reach", again.append, name="w")
        db.apply(insert={"link": [("c", "d")]})
    assert told(first) == [(2, [("a", "b")], [])]
    assert told(again) == [
        (3, [("a", "c"), ("b", "c")], []),
        (4, [], [("a", "b"), ("a", "c")]),
        (5, [("b", "d"), ("c", "d")], []),
    ]
    with hw.connect(state) as db:
        db.watch("reach", again.append, name="w")
        assert len(again) == 3 and db.watches["w"].delivered == 5


def test_a_watch_is_no_version_and_readers_see_it(state):
    with hw.connect(state) as db:
        db.watch("reach", lambda event: 1 / 0, name="w", retries=0)
        assert db.version == 1
        db.apply(insert={"link": [("a", "b")]})
        assert db.watches["w"].state == "parked"
        with hw.connect(state, mode="r") as reader:
            assert reader.version == 2 and reader.watches["w"].owed == (2,)
            with pytest.raises(hw.StoreError):
                reader.watches["w"].stop()


def test_a_watch_that_ended_stays_so(state):
    with hw.connect(state) as db:
        db.watch("reach", print, name="w").stop()
        db.watch("some", print, name="v")
        db.checkpoint()
        db.watches["v"].stop()
    with hw.connect(state) as db:
        assert list(db.watches) == []


def test_another_goal_under_the_same_name_is_refused_or_replaces_it(state):
    with hw.connect(state) as db:
        db.watch("reach(X, Y)", lambda event: 1 / 0, name="w", retries=0)
        db.apply(insert={"link": [("a", "b")]})
    with hw.connect(state) as db:
        for other in ({"goal": "link"}, {"goal": "reach(X, Y)", "on": "added"}, {"goal": "reach(X, 'b')"}):
            with pytest.raises(hw.DataError) as caught:
                db.watch(**other, do=print, name="w")
            assert caught.value.code == "other-watch"
        events = []
        db.watch("link", events.append, name="w", replace=True)
        assert db.watches["w"].owed == ()
        db.apply(insert={"link": [("b", "c")]})
    assert told(events) == [(3, [("b", "c")], [])]
    with hw.connect(state) as db:
        assert db.watches["w"].goal == "link"


def test_the_same_goal_may_be_written_differently(state):
    with hw.connect(state) as db:
        db.watch("reach(X,Y), X != 'b'", print, name="w")
        db.watch(" reach( X, Y )", print, when='X != "b"', name="w")
        assert len(db.watches) == 1


def test_a_lost_acknowledgement_tells_again(state):
    """At least once: the version tells that it is the same event."""
    events = []
    with hw.connect(state) as db:
        db.watch("reach", events.append, name="w")
        db.apply(insert={"link": [("a", "b")]})
    (state / "watches.json").unlink()
    with hw.connect(state) as db:
        db.watch("reach", events.append, name="w")
    assert [event.version for event in events] == [2, 2]


def test_a_skipped_event_stays_skipped(state):
    with hw.connect(state) as db:
        db.watch("reach", lambda event: 1 / 0, name="w", retries=0)
        db.apply(insert={"link": [("a", "b")]})
        db.watches["w"].skip()
    with hw.connect(state) as db:
        assert db.watches["w"].owed == ()


def test_an_acknowledgement_that_cannot_be_written_is_said_and_the_event_done_with(state):
    with hw.connect(state) as db:
        events = []
        db.watch("reach", events.append, name="w")
        (state / "watches.tmp").mkdir()
        (state / "watches.tmp" / "inside").touch()
        db.apply(insert={"link": [("a", "b")]})
        assert len(events) == 1 and "may be told again after a restart" in db.watches["w"].error


def test_values_of_all_kinds_come_back_as_they_were(tmp_path):
    rows = [
        (
            1, 2.5, "é", True, datetime.date(2024, 1, 31), Decimal("1.50"), b"\x00\xff",
            datetime.timedelta(seconds=3), (1, None), {"a": 1}, None, hw.Months(14),
        ),
    ]  # fmt: skip
    names = "i: int, f: float, s: string, b: bool, d: date, c: decimal(10,2), y: binary, v: interval, l: list[int]"
    names += ", m: map[string, int], n: int?, o: interval_months"
    with hw.connect(tmp_path / "state") as db:
        db.define(f"r({names}). q(?f(X), X) :- r(X, _, _, _, _, _, _, _, _, _, _, _).")
        db.watch("r", lambda event: 1 / 0, name="r", retries=0)
        db.watch("q", lambda event: 1 / 0, name="q", retries=0)
        changes = db.apply(insert={"r": rows})
        expected = changes["r"].inserted, changes["q"].inserted
    with hw.connect(tmp_path / "state") as db:
        found = []
        db.watch("r", found.append, name="r")
        db.watch("q", found.append, name="q")
    assert [list(event.inserted) for event in found] == list(expected)
    assert [list(map(type, event.inserted[0])) for event in found] == [
        list(map(type, each[0])) for each in expected
    ]


def test_rows_without_columns(state):
    with hw.connect(state) as db:
        db.watch("some", lambda event: 1 / 0, name="w", retries=0)
        db.apply(insert={"link": [("a", "b")]})
        db.apply(delete={"link": [("a", "b")]})
    events = []
    with hw.connect(state) as db:
        db.watch("some", events.append, name="w")
    assert told(events) == [(2, [()], []), (3, [], [()])]


def test_a_version_that_is_undone_owes_nothing(state):
    with hw.connect(state) as db:
        events = []
        db.watch("reach", events.append, name="w")
        db.watch("link", lambda event: 1 / 0, coupling="now")
        with pytest.raises(hw.EvaluationError):
            db.apply(insert={"link": [("a", "b")]})
        assert events == [] and db.watches["w"].owed == ()
    with hw.connect(state) as db:
        assert db.watches["w"].owed == () and len(db.watches) == 1
