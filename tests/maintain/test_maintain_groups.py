"""Groups that few bindings come to and go from: what the kernel does is what is done column by column."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.database import Database
from headwater.errors import HeadwaterError
from headwater.maintain import grouping
from headwater.maintain.grouping import Grouping

PROGRAM = """
r(k: int, g: int?, v: int?). s(g: int?, h: string).
how_many(G, count<*>) :- r(_, G, _).
values(count<V>, G) :- r(_, G, V).
sums(G, sum<V>, H) :- r(_, G, V), s(G, H).
averages(G, avg<V>) :- r(_, G, V).
all_of_them(sum<V>) :- r(_, _, V).
large(G, T) :- sums(G, T, _), T > 3.
"""
VIEWS = ("how_many", "values", "sums", "averages", "all_of_them", "large")
LARGE = 2**63 - 1
"""Not its own code; the sum of two does not fit."""


def transcript(seed: int, *, odd: bool, versions: int = 60) -> list[Any]:
    """What a stream of small versions does, some of them refused and taken back, some only supposed. With `odd`
    values there are nulls, and numbers whose sums need a second look."""
    draw = random.Random(seed)
    database = hw.connect()
    database.define(PROGRAM)
    told: list[Any] = []
    there: set[tuple[Any, ...]] = set()
    numbers = [-5, 0, 1, 7, 2**40, -(2**40), *([None, LARGE, -LARGE, 2**62] if odd else ())]
    for version in range(versions):
        come = {
            (draw.randrange(30), draw.choice([None, 1, 2, 3, 4]), draw.choice(numbers))
            for _ in range(draw.randint(0, 6))
        }
        go = set(draw.sample(sorted(there, key=repr), min(len(there), draw.randint(0, 5))))
        pair = (draw.randint(1, 4), draw.choice("ab"))
        change = "insert" if draw.random() < 0.6 else "delete"
        insert: dict[str, Any] = {"r": list(come)}
        delete: dict[str, Any] = {"r": list(go)}
        {"insert": insert, "delete": delete}[change]["s"] = [pair]
        try:
            if version % 7 == 3:
                changes = database.what_if(insert, delete)
            else:
                changes = database.apply(insert, delete)
                there = (there - go) | come
            told.append({view: _told(changes[view]) for view in VIEWS})
        except HeadwaterError as error:
            told.append(error.code)
        told.append(contents(database))
    fresh = hw.connect()
    fresh.define(PROGRAM)
    fresh.apply({"r": database["r"].rows(), "s": database["s"].rows()})
    assert contents(fresh) == told[-1]
    return told


def _told(change: Any) -> tuple[list[Any], list[Any]]:
    return sorted(change.inserted, key=repr), sorted(change.deleted, key=repr)


def contents(database: Database) -> dict[str, list[Any]]:
    return {view: sorted(database[view].rows(), key=repr) for view in VIEWS}


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_what_the_kernel_counts_is_what_columns_are_counted_to(seed, odd, monkeypatch):
    by_kernel = transcript(seed, odd=odd)
    monkeypatch.setattr(Grouping, "_lanes", lambda self: None)
    assert transcript(seed, odd=odd) == by_kernel


@pytest.mark.parametrize("seed", range(3))
def test_many_bindings_and_few_come_to_the_same_groups(seed, monkeypatch):
    by_kernel = transcript(seed, odd=True)
    monkeypatch.setattr(grouping, "MOST_BINDINGS_KEPT", 4)  # some pieces are for the kernel, others are not
    assert transcript(seed, odd=True) == by_kernel


def test_a_sum_that_does_not_fit_is_refused_and_leaves_the_groups_as_they_were():
    database = hw.connect()
    database.define("total(G, sum<V>) :- r(_, G, V).")
    database.apply(insert={"r": [(1, 1, 2**61), (2, 2, 5)]})
    before = database["total"].rows()
    with pytest.raises(HeadwaterError, match="does not fit"):
        database.apply(insert={"r": [(number, 1, 2**62) for number in range(10, 13)]})
    assert database["total"].rows() == before
    database.apply(insert={"r": [(3, 1, -(2**61))]}, delete={"r": [(2, 2, 5)]})
    assert database["total"].rows() == [(1, 0)]


def test_sums_of_many_carries_are_exact():
    database = hw.connect()
    database.define("total(G, sum<V>) :- r(_, G, V).")
    draw = np.random.default_rng(3)
    values = draw.integers(-(2**55), 2**55, 300).tolist()
    for number, value in enumerate(values):
        database.apply(insert={"r": [(number, 1, value)]})
        assert database["total"].rows() == [(1, sum(values[: number + 1]))]
    for number, value in enumerate(values[:-1]):
        database.apply(delete={"r": [(number, 1, value)]})
        assert database["total"].rows() == [(1, sum(values[number + 1 :]))]
