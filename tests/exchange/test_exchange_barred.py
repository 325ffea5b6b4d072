"""Rows that conditions give the priority 0: found together as one by one, at the cost of what changed."""

from __future__ import annotations

import os
import random

import pytest
from exchange_support import COMMON
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.exchange.conflicts import Reconciler

EXAMPLES = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", "5"))
PEERS = {
    "A": {"R": "id: int, value: int"},
    "B": {"S": "id: int, value: int"},
    "T": {"K": "id: int, value: int", "L": "value: int, id: int"},
}
MAPPINGS = """
    a: R(i, v) -> K(i, v).
    b: S(i, v) -> K(i, v), L(v, i).
    back: K(i, v), L(v, j) -> K(j, v).
    some: K(i, v), i > 0 -> exists w L(w, i).
    key: R(i, v), R(i, w) -> v = w.
"""
CONDITIONS = (
    "trust K(i, v) if i < 2 priority 0.", "trust K(i, i) priority 0.", "trust K(1, _) priority 0.",
    "trust from B priority 0.", "trust K(i, v) from S(1, 1) priority 0.", "trust through back priority 0.",
    "trust K(i, v) by b priority 0.", "trust priority 0.", "trust L(v, i) from A priority 0.",
    "trust K(i, v) from A if v = 1 priority 2.", "trust K(i, v) if v >= 2 priority 3.",
    "trust through some priority 1.",
)  # fmt: skip


@given(st.integers(0, 2**32))
@settings(COMMON, max_examples=EXAMPLES)
def test_all_are_found_as_one_by_one(seed: int):
    chance = random.Random(seed)
    found = hw.exchange(peers=PEERS, mappings=MAPPINGS, trust={"T": " ".join(chance.sample(CONDITIONS, 2))})
    viewer = found["T"]
    for _ in range(6):
        peer, relation = chance.choice((("A", "R"), ("B", "S"), ("T", "K")))
        row = (chance.randrange(3), chance.randrange(3))
        there = row in found[peer][relation] and chance.random() < 0.6
        found[peer].edit(**{"delete" if there else "insert": {relation: [row]}})
        if chance.random() < 0.4:
            condition = chance.choice(CONDITIONS)
            stated = condition in viewer.trust()
            viewer.trust(**{"remove" if stated else "add": condition})
        found[peer].publish()
        viewer.update()
        instance = viewer.instance
        names, reconciler = instance.compiled.names, instance.reconciler
        expected = {
            (relation, row)
            for relation in instance.compiled.choosing
            if relation.peer == "T"
            for row in instance.database[names.candidates(relation)].rows()
            if reconciler.rejecting(relation, row) is not None
        }
        assert set(reconciler._barred("T")) == expected
        for each, row in expected:
            assert row not in viewer[each.name]
    found.close()


@pytest.mark.parametrize(
    "condition", ["trust K(i, v) if i < 2 priority 0.", "trust K(i, v) from B priority 0."]
)
def test_candidates_are_not_asked_about_one_by_one(condition: str, monkeypatch: pytest.MonkeyPatch):
    found = hw.exchange(peers=PEERS, mappings=MAPPINGS, trust={"T": condition})
    for n in range(20):  # rows of one transaction would fall with the first
        found["A"].edit(insert={"R": [(n, 7)]})
    found["B"].edit(insert={"S": [(1, 3)]})
    monkeypatch.setattr(Reconciler, "rejecting", lambda *_: pytest.fail("a candidate is asked about"))
    found.exchange()
    assert (5, 7) in found["T"]["K"] and (1, 3) not in found["T"]["K"]
    found.close()
