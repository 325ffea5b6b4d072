"""The queries of liu-2008 section 2 as rules, in one process, beside networkx and plain Python."""

from __future__ import annotations

import random

import pytest
from query_cases import CASES, QueryCase

import headwater as hw
from headwater.networks.queries import ALL


def test_every_query_has_a_case():
    assert {case.text for case in CASES} == set(ALL.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_query_follows_its_base_rows(case: QueryCase):
    for seed in range(2):
        chance = random.Random(seed)
        with hw.connect() as db:
            db.define(case.text)
            there = set(case.fixed)
            for name, row in case.fixed:
                db.apply(insert={name: [row]})
            for _ in range(24):
                for comes, name, row in case.draw(chance, there):
                    (there.add if comes else there.discard)((name, row))
                    db.apply(**{"insert" if comes else "delete": {name: [row]}})
                base = {name: frozenset(r for n, r in there if n == name) for name in db.relations}
                for name, rows in case.expected(base).items():
                    assert set(db[name].rows()) == rows, (case.name, seed, name)
