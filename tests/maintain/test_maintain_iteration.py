"""Best rows that improve themselves: what comes out, what it says it cost, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headwater as hw
from headwater.database import Database

SATURATING = "q(x: int). p(max<X>) :- q(X). p(max<Y>) :- p(X), Y = min(X + 1, 12)."
OSCILLATING = "q(x: int). p(max<X>) :- q(X). p(max<Y>) :- p(X), Y = 10 - X."
EVERY = ["support", "dred", "recompute", "auto", "absorption", "absorption-eager", "relative"]


def opened(strategy: str, text: str = SATURATING) -> Database:
    db = hw.connect(strategy=strategy, max_rounds=500)
    db.define(text)
    return db


@pytest.mark.parametrize("strategy", EVERY)
def test_a_value_rises_to_its_cap_and_goes_with_its_last_reason(strategy: str):
    db = opened(strategy)
    found = []
    for delete, insert in [([], [7]), ([], [20]), ([20], []), ([7], [3]), ([3], [])]:
        db.apply(delete={"q": [(value,) for value in delete]}, insert={"q": [(value,) for value in insert]})
        found.append(db["p"].rows())
    assert found == [[(12,)], [(20,)], [(12,)], [(12,)], []]


@pytest.mark.parametrize("strategy", EVERY)
def test_what_oscillates_is_refused_within_a_few_rounds(strategy: str):
    db = opened(strategy, OSCILLATING)
    db.apply(insert={"q": [(7,)]})
    with pytest.raises(hw.EvaluationError) as caught:
        db.apply(delete={"q": [(7,)]}, insert={"q": [(3,)]})
    error = caught.value
    assert (error.code, error.place.line, error.place.column) == ("oscillation", 1, 31)
    assert "p never comes to rest" in error.message and "by rule p#2" in error.message
    assert "monotone" in error.hint
    assert (db["p"].rows(), db["q"].rows()) == ([(7,)], [(7,)])
    db.apply(insert={"q": [(8,)]})
    assert db["p"].rows() == [(8,)]


def test_two_relations_oscillate_where_numpy_raises_for_every_overflow():
    db = opened(
        "support",
        "q(x: int). p(max<X>) :- q(X). p(max<Y>) :- r(X), Y = 10 - X. r(max<Y>) :- p(Y). r(max<X>) :- q(X).",
    )
    for value in range(5):
        with np.errstate(all="raise"), pytest.raises(hw.EvaluationError) as caught:
            db.apply(insert={"q": [(value,)]})
        assert caught.value.code == "oscillation"


def test_it_is_said_in_every_version_that_iterates():
    db = opened("support")
    for value in (7, 3):
        changes = db.apply(insert={"q": [(value,)]})
        (event,) = [event for event in changes.statistics.events if event.code == "recomputed"]
        assert (event.relations, event.reason) == (("p",), "improves-itself")
        assert changes.statistics.strata[0].iterated


def test_iterating_costs_a_round_for_each_value_on_the_way():
    db = hw.connect(max_rounds=3000)
    db.define("q(x: int). p(max<X>) :- q(X). p(max<Y>) :- p(X), Y = min(X + 1, 1000).")
    db.apply(insert={"q": [(0,)]})
    changes = db.apply(insert={"q": [(1,)]})
    assert db["p"].rows() == [(1000,)]
    assert changes.statistics.rounds < 1010


def test_a_state_folder_opens_and_goes_on(tmp_path: Path):
    """The values are there again without iterating; the next version iterates, and counts are nobody's business."""
    for delete, insert, expected in [([], [7], [(12,)]), ([], [20], [(20,)]), ([7, 20], [], [])]:
        for checkpoint in (False, True):
            with hw.connect(tmp_path, max_rounds=500) as db:
                db.define(SATURATING)
                db.apply(
                    delete={"q": [(value,) for value in delete]}, insert={"q": [(value,) for value in insert]}
                )
                assert db["p"].rows() == expected
                if checkpoint:
                    db.checkpoint()
        with hw.connect(tmp_path) as db:
            assert db["p"].rows() == expected


def test_values_that_rise_for_ever_end_at_the_limit_of_rounds():
    db = opened("support", "q(x: int). p(max<X>) :- q(X). p(max<Y>) :- p(X), Y = X + 1.")
    with pytest.raises(hw.EvaluationError) as caught:
        db.apply(insert={"q": [(7,)]})
    assert caught.value.code == "no-fixpoint"
    assert db["p"].rows() == []


def test_stopping_at_the_limit_of_rounds_keeps_a_value_on_the_way():
    db = hw.connect(max_rounds=200, at_max_rounds="stop")
    db.define("q(x: int). p(max<X>) :- q(X). p(max<Y>) :- p(X), Y = X + 1.")
    changes = db.apply(insert={"q": [(7,)]})
    ((value,),) = db["p"].rows()
    assert changes.statistics.strata[0].stopped and 7 < value < 207


@pytest.mark.parametrize("strategy", EVERY)
def test_a_view_above_sees_only_the_last_values(strategy: str):
    db = opened(strategy, SATURATING + " above(X) :- p(X). gap(Y) :- above(X), q(Y), !p(Y).")
    db.apply(insert={"q": [(7,), (9,)]})
    assert (db["above"].rows(), sorted(db["gap"].rows())) == ([(12,)], [(7,), (9,)])
    changes = db.apply(insert={"q": [(30,)]})
    assert (changes["above"].inserted, changes["above"].deleted) == ([(30,)], [(12,)])


def test_groups_that_do_not_depend_on_themselves_need_no_monotone_rules():
    """Each node takes the largest of 10 minus its neighbours' values; there is no cycle, so there is one answer."""
    links = [(x, y) for x in range(8) for y in range(x + 1, 8)]
    db = opened(
        "support",
        "v(n: int, x: int). n(a: int, b: int)."
        " p(N, max<X>) :- v(N, X). p(M, max<Y>) :- p(N, X), n(N, M), Y = 10 - X.",
    )
    db.apply(insert={"v": [(x, x) for x in range(8)], "n": links})
    expected: dict[int, int] = {}
    for node in range(8):
        expected[node] = max([node, *(10 - expected[x] for x, y in links if y == node)])
    assert dict(db["p"].rows()) == expected
