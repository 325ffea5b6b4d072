"""Recursive views over the fragments that their answers rest on give the same answers, after every change."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import FIGURES, examples

import headwater as hw
from headwater.errors import SketchError
from headwater.sketch.ranges import Ranges
from headwater.sketch.view_sketch import ViewSketch

REACH = "reach(X, Y) :- link(X, Y). reach(X, Z) :- reach(X, Y), reach(Y, Z)."
GENERATION = "same(X, X) :- parent(_, X). same(X, Y) :- parent(P, X), same(P, Q), parent(Q, Y)."
Edge = tuple[int, int]


def over_fragments(text: str, view: str, relation: str, rows: list[Edge]) -> set[Edge]:
    with hw.connect() as db:
        db.define(f".decl {relation}(x: int, y: int)\n{text}")
        db.apply(insert={relation: rows})
        return set(db[view].rows())


@pytest.mark.parametrize(
    ("text", "view", "relation"), [(REACH, "reach", "link"), (GENERATION, "same", "parent")]
)
@given(seed=st.integers(0, 2**40))
@settings(max_examples=examples(10), deadline=None)
def test_the_answer_over_the_fragments_is_the_answer(text: str, view: str, relation: str, seed: int):
    rng = random.Random(seed)
    nodes = rng.choice([5, 9, 14])
    asked = rng.randrange(nodes)
    cut = tuple(sorted(rng.sample(range(1, nodes), rng.randint(1, 4))))
    ranges = {relation: [Ranges(column, cut) for column in rng.choice([["x"], ["y"], ["x", "y"]])]}
    with hw.connect() as db:
        db.define(f".decl {relation}(x: int, y: int)\n{text}")
        sketch = ViewSketch(db, view, ranges, lambda row: row[0] == asked)
        for _ in range(4):
            there = set(db[relation].rows())
            come = {(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(rng.randrange(6))} - there
            gone = set(rng.sample(sorted(there), min(len(there), rng.randrange(4))))
            db.apply(insert={relation: come}, delete={relation: gone})
            read = [row for row in db[relation].rows() if sketch.reads(relation, row)]
            expected = {row for row in db[view].rows() if row[0] == asked}
            found = {row for row in over_fragments(text, view, relation, read) if row[0] == asked}
            assert found == expected
            FIGURES["recursive answers over sketches"] += 1


def test_one_row_rests_on_its_own_fragments():
    with hw.connect() as db:
        db.define(REACH)
        db.apply(insert={"link": [(1, 2), (2, 11), (11, 12), (21, 22)]})
        sketch = ViewSketch(db, "reach", {"link": Ranges("0", (10, 20))})
        assert [part.fragments for part in sketch.of((1, 12)).parts] == [frozenset({0, 1})]
        assert [part.fragments for part in sketch.of((21, 22)).parts] == [frozenset({2})]
        assert [part.fragments for part in sketch.sketch.parts] == [frozenset({0, 1, 2})]
        assert sketch.sketch.versions == {"link": db.version}


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("alone(X) :- node(X), !reach(X, _).", "negated"),
        ("far(X, count<Y>) :- reach(X, Y).", "aggregate"),
        ("last(X, max<Y>) :- reach(X, Y).", "aggregate"),
    ],
)
def test_views_that_missing_rows_change_are_refused(rule: str, reason: str):
    with hw.connect() as db:
        db.define(f".decl node(x: int)\n{REACH} {rule}")
        db.apply(insert={"link": [(1, 2)], "node": [(1,), (3,)]})
        with pytest.raises(SketchError) as caught:
            ViewSketch(db, rule.partition("(")[0], {"link": Ranges("0", (10,))})
        assert caught.value.code == "unsafe-view" and reason in caught.value.message


def test_a_column_that_is_not_there_is_refused():
    with hw.connect() as db:
        db.define(REACH)
        db.apply(insert={"link": [(1, 2)]})
        with pytest.raises(SketchError) as caught:
            ViewSketch(db, "reach", {"link": Ranges("cost", (10,))})
        assert caught.value.code == "unknown-attribute"
