"""Views of kind `auto`: stored or watched by what each was measured to cost, and said so."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater as hw
from headwater.database.auto_kinds import TRIED, Trial
from headwater.events import KindChosen

RULES = "link(a: int, b: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."


def tried(stored: float, watched: float, way: str = "watched") -> Trial:
    """A view whose two ways were tried at these costs, and that is kept in one of them."""
    trial = Trial(way)
    for _ in range(TRIED):
        trial.costs["stored"].add(stored)
        trial.costs["watched"].add(watched)
    return trial


def test_both_ways_are_tried_and_the_cheaper_one_is_used():
    trial = Trial()
    trial.take(100.0)
    assert trial.costs["stored"].versions == 0, "the first version derives all rows"
    for _ in range(TRIED - 1):
        trial.take(1.0)
        assert trial.better() == "stored"
    trial.take(1.0)
    assert trial.better() == "watched"
    assert tried(1.0, 2.0).better() == "stored" and tried(2.0, 1.0).better() == "watched"


def test_it_changes_over_when_the_way_in_use_becomes_much_worse():
    trial = tried(1.0, 0.9)
    for _ in range(3):
        trial.costs["stored"].add(1.0)
        trial.costs["watched"].add(1.1)
    assert trial.better() == "watched", "a little worse is no reason"
    trial.fresh = False
    for _ in range(20):
        trial.asked = 10.0
        trial.take(None)
    assert trial.better() == "stored", "questions cost as well"


def test_a_version_that_does_not_concern_the_view_is_not_measured():
    trial = Trial(fresh=False)
    trial.take(None)
    assert trial.costs["stored"].versions == 0


def test_it_says_so_and_tells_the_same_rows(tmp_path: Path):
    with hw.connect(tmp_path / "state") as db, hw.connect() as kept:
        db.define(RULES + "\n.kind reach auto\n")
        kept.define(RULES)
        links = [(i, i + 1) for i in range(12)]
        for each in (db, kept):
            each.apply(insert={"link": links})
        kinds, events = [], []
        for number in range(2 * TRIED + 4):
            way = ("delete", "insert")[number % 2]
            here = db.apply(**{way: {"link": [(5, 6)]}})["reach"]  # type: ignore[arg-type]
            there = kept.apply(**{way: {"link": [(5, 6)]}})["reach"]  # type: ignore[arg-type]
            assert set(here.inserted) == set(there.inserted) and set(here.deleted) == set(there.deleted)
            assert set(db["reach"].rows()) == set(kept["reach"].rows())
            kinds.append(db.info("reach").kind.value)
            events += [event for event in db.statistics.events if isinstance(event, KindChosen)]
        assert kinds[:TRIED] == ["stored"] * (TRIED - 1) + ["watched"]
        assert [event.reason for event in events][:1] == ["tried"] and events[0].kind == "watched"
        assert all(event.reason == "measured" and event.stored and event.watched for event in events[1:])
        said = str(db.explain("reach"))
        assert f"auto reach: {kinds[-1]}; a version costs" in said
        db.checkpoint()
    with hw.connect(tmp_path / "state") as db:
        assert db.info("reach").kind.value == "stored" and db.info("reach").auto
        assert len(db["reach"]) == 12 * 13 // 2


def test_only_views_can_be_auto():
    with hw.connect() as db:
        db.define(RULES)
        with pytest.raises(hw.HeadwaterError) as caught:
            db.keep("link", "auto")
        assert caught.value.code == "not-a-view"
