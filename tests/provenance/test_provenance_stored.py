"""Explanations that a strategy has stored are those that a search finds."""

from __future__ import annotations

import random

import pytest

import headwater as hw
from headwater.database import Database

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."


def terms(db: Database, row: tuple[int, int]) -> set[frozenset[object]]:
    return set(db.why("reach", row).dnf(limit=None))


@pytest.mark.parametrize("seed", range(4))
def test_stored_terms_are_those_that_are_found(seed: int):
    rng = random.Random(seed)
    keeping, searching = hw.connect(strategy="absorption-eager"), hw.connect()
    links: set[tuple[int, int]] = set()
    for db in (keeping, searching):
        db.define(REACH)
    for _ in range(12):
        gone = rng.sample(sorted(links), min(len(links), rng.randrange(3)))
        new = [(rng.randrange(6), rng.randrange(6)) for _ in range(2)]
        for db in (keeping, searching):
            db.apply(delete={"link": gone}, insert={"link": new})
            db.what_if(delete={"link": new[:1]}, insert={"link": [(9, 1)]})
        links = (links - set(gone)) | set(new)
        for row in rng.sample(sorted(searching["reach"].rows()), 2):
            assert keeping.why("reach", row)._stored is not None
            assert terms(keeping, row) == terms(searching, row)


def test_what_is_not_stored_whole_is_searched_for():
    lazy = hw.connect(strategy="absorption")
    lazy.define(REACH)
    lazy.apply(insert={"link": [(1, 2), (2, 3), (1, 3)]})
    over_a_view = hw.connect(strategy="absorption-eager")
    over_a_view.define("edge(X, Y) :- link(X, Y). " + REACH.replace("link", "edge"))
    over_a_view.apply(insert={"link": [(1, 2), (2, 3), (1, 3)]})
    for db in (lazy, over_a_view):
        why = db.why("reach", (1, 3))
        assert why._stored is None
        assert {frozenset(fact.row for fact in term) for term in why.dnf()} == {
            frozenset({(1, 3)}), frozenset({(1, 2), (2, 3)}),
        }  # fmt: skip
