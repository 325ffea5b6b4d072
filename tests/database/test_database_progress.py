"""Marks and subscriptions: committed with a version, there after a restart, owed until acknowledged."""

from __future__ import annotations

import json

import pytest

import headwater as hw

PROGRAM = """
link(src: string, dst: string).
reach(X, Y) :- link(X, Y).
reach(X, Y) :- link(X, Z), reach(Z, Y).
some() :- link(_, _).
"""


def folded(owed) -> set[tuple[str, ...]]:
    """The view, from nothing but what its subscriber was told; every change must do something."""
    rows: set[tuple[str, ...]] = set()
    for one in owed:
        for *row, kind in zip(*(column.to_pylist() for column in one.table.columns), strict=True):
            assert (tuple(row) in rows) == (kind == "delete")
            (rows.discard if kind == "delete" else rows.add)(tuple(row))
    return rows


def versions(owed) -> list[int]:
    return [one.version for one in owed]


@pytest.mark.parametrize("checkpoint", [False, True])
def test_marks_are_there_after_a_restart(tmp_path, checkpoint):
    with hw.connect(tmp_path / "state") as db:
        db.define(PROGRAM)
        db.apply(insert={"link": [("a", "b")]}, marks={"feed": {"commit": 7}})
        db.apply(insert={"link": [("b", "c")]}, marks={"stream": [1, "x"]})
        if checkpoint:
            db.checkpoint()
        db.apply(marks={"feed": {"commit": 8}})
        assert db.marks == {"feed": {"commit": 8}, "stream": [1, "x"]}
    with hw.connect(tmp_path / "state", mode="r") as db:
        assert db.marks == {"feed": {"commit": 8}, "stream": [1, "x"]}


@pytest.mark.parametrize("mark", [(1, 2), {5: 6}, {"at": (1,)}, {None: True}])
def test_marks_are_what_they_will_be_after_a_restart(tmp_path, mark):
    with hw.connect(tmp_path / "state") as db:
        db.apply(marks={"feed": mark})
        marks = db.marks
    with hw.connect(tmp_path / "state") as db:
        assert repr(db.marks) == repr(marks)


def test_marks_are_not_changed_through_what_was_given_or_got(tmp_path):
    with hw.connect(tmp_path / "state") as db:
        given = [1, 2]
        db.apply(marks={"feed": given})
        given.append(3)
        db.marks["feed"].append(4)
        assert db.marks == {"feed": [1, 2]}
        db.checkpoint()
    with hw.connect(tmp_path / "state") as db:
        assert db.marks == {"feed": [1, 2]}


@pytest.mark.parametrize("depth", [63, 64, 400, 100_000])
def test_marks_that_are_taken_can_be_written_into_a_checkpoint(tmp_path, depth):
    mark: list[object] = []
    for _ in range(depth):
        mark = [mark]
    with hw.connect(tmp_path / "state") as db:
        if depth < 64:
            db.apply(marks={"feed": mark})
        else:
            with pytest.raises(hw.HeadwaterError) as caught:
                db.apply(marks={"feed": mark})
            assert caught.value.code == "not-json" and db.version == 0
        db.checkpoint()
    with hw.connect(tmp_path / "state") as db:
        assert db.marks == ({"feed": mark} if depth < 64 else {})


def test_a_refused_version_leaves_the_marks_as_they_were():
    db = hw.connect()
    db.define(PROGRAM)
    db.apply(marks={"feed": 1})
    with pytest.raises(hw.DataError):
        db.apply(insert={"link": [("a", 1)]}, marks={"feed": 2})
    with pytest.raises(hw.StoreError) as refused:
        db.apply(insert={"link": [("a", "b")]}, marks={"feed": {1, 2}})
    assert refused.value.code == "not-json"
    assert (db.marks, db["link"].rows(), db.version) == ({"feed": 1}, [], 2)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_what_was_not_acknowledged_is_owed_after_a_restart(tmp_path, checkpoint):
    with hw.connect(tmp_path / "state") as db:
        db.define(PROGRAM)
        db.apply(insert={"link": [("a", "b")]})
        made = db.subscribe("feed", "reach")
        assert db.subscribe("feed", "reach") == made
        db.apply(insert={"link": [("b", "c"), ("c", "a")]})
        db.acknowledge("feed", 2)
        db.apply(insert={"link": [("a", "b")]})
        if checkpoint:
            db.checkpoint()
        db.apply(delete={"link": [("c", "a")]})
    with hw.connect(tmp_path / "state") as db:
        owed = db.owed("feed")
        assert versions(owed) == [3, 5]
        assert db.subscriptions["feed"].identity == made.identity
        kinds = [one.table.column("_change_type").to_pylist() for one in owed]
        assert kinds == [["insert"] * 8, ["delete"] * 6]
        db.acknowledge("feed", 5)
        assert db.owed("feed") == []
    with hw.connect(tmp_path / "state") as db:
        assert db.owed("feed") == []


def test_the_first_thing_owed_is_the_view_as_it_is():
    db = hw.connect()
    db.define(PROGRAM)
    db.apply(insert={"link": [("a", "b"), ("b", "c")]})
    db.subscribe("early", "reach")
    db.apply(insert={"link": [("c", "d")]})
    db.subscribe("late", "reach")
    db.define("reach(X, X) :- link(X, _).")
    for name in ("early", "late"):
        assert folded(db.owed(name)) == set(db["reach"].rows())
    assert versions(db.owed("early")) == [2, 3, 4]
    assert versions(db.owed("late")) == [3, 4]


def test_subscribers_are_owed_each_for_himself():
    db = hw.connect()
    db.define(PROGRAM)
    db.subscribe("rows", "reach")
    db.subscribe("versions", "reach", rows=False)
    db.subscribe("some", "some")
    db.apply(insert={"link": [("a", "b")]})
    db.apply(insert={"link": [("a", "b")]})
    db.apply(delete={"link": [("a", "b")]})
    assert versions(db.owed("versions")) == [1, 2, 4]
    assert db.owed("versions")[0].table is None
    assert [one.table.column("_change_type").to_pylist() for one in db.owed("some")] == [
        [],
        ["insert"],
        ["delete"],
    ]
    db.acknowledge("versions", 4)
    assert versions(db.owed("rows")) == [1, 2, 4]
    db.unsubscribe("rows")
    with pytest.raises(hw.DataError) as refused:
        db.owed("rows")
    assert refused.value.code == "unknown-subscription"


def test_a_lost_acknowledgement_only_means_that_a_version_is_owed_again(tmp_path):
    with hw.connect(tmp_path / "state") as db:
        db.define(PROGRAM)
        db.subscribe("feed", "reach")
        db.apply(insert={"link": [("a", "b")]})
        db.acknowledge("feed", db.version)
        identity = db.subscriptions["feed"].identity
    file = tmp_path / "state" / "acknowledged.json"
    assert json.loads(file.read_bytes()) == {identity: 2}
    file.write_bytes(b'{"tor')
    with hw.connect(tmp_path / "state") as db:
        assert versions(db.owed("feed")) == [1, 2]


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_subscription_is_no_version(tmp_path, checkpoint):
    with hw.connect(tmp_path / "state") as db:
        db.define(PROGRAM)
        db.apply(insert={"link": [("a", "b")]})
        cost = db.statistics
        db.subscribe("feed", "reach")
        db.subscribe("other", "some", rows=False)
        db.unsubscribe("other")
        assert db.version == 2 and db.statistics is cost
        if checkpoint:
            db.checkpoint()
        assert db.apply(insert={"link": [("b", "c")]}).version == 3
    with hw.connect(tmp_path / "state") as db:
        assert db.version == 3 and sorted(db.subscriptions) == ["feed"]
        assert versions(db.owed("feed")) == [2, 3] and folded(db.owed("feed")) == set(db["reach"].rows())
        db.acknowledge("feed", 3)
        db.subscribe("last", "reach")
    with hw.connect(tmp_path / "state", mode="r") as db:
        assert db.version == 3 and versions(db.owed("last")) == [3] and db.owed("feed") == []
    with hw.connect(tmp_path / "state") as db:
        assert db.apply(insert={"link": [("c", "d")]}).version == 4
        assert versions(db.owed("feed")) == [4] and versions(db.owed("last")) == [3, 4]


def test_a_subscription_that_cannot_be_written_is_none(tmp_path, monkeypatch):
    with hw.connect(tmp_path / "state") as db:
        db.define(PROGRAM)
        with monkeypatch.context() as patched:
            patched.setattr("os.pwrite", _full)
            with pytest.raises(hw.StoreError):
                db.subscribe("feed", "reach")
        assert db.subscriptions == {} and db.version == 1
        db.subscribe("feed", "reach")
        db.apply(insert={"link": [("a", "b")]})
    with hw.connect(tmp_path / "state") as db:
        assert db.version == 2 and versions(db.owed("feed")) == [1, 2]


def _full(*_):
    raise OSError(28, "No space left on device")
