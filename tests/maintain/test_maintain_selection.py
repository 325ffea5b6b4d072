"""min and max over groups, where a group can have only one best row."""

from __future__ import annotations

import random

import pytest

import headwater as hw

PROGRAM = """
offer(item: int, price: int, seller: int).
low(I, min<P>) :- offer(I, P, S).
high(I, max<P>) :- offer(I, P, S).
"""


@pytest.mark.parametrize("seed", range(4))
def test_best_rows_follow_a_random_stream(seed: int):
    """Several better and worse offers for one item in one version, among offers that go."""
    rng = random.Random(seed)
    db = hw.connect()
    db.define(PROGRAM)
    offers: set[tuple[int, int, int]] = set()
    for _ in range(150):
        gone = set(rng.sample(sorted(offers), min(len(offers), rng.choice([0, 1, 5]))))
        come = {(rng.randrange(3), rng.randrange(40), rng.randrange(3)) for _ in range(rng.choice([0, 1, 6]))}
        db.apply(delete={"offer": sorted(gone)}, insert={"offer": sorted(come)})
        offers = (offers - gone) | come
        prices = {item: [price for other, price, _ in offers if other == item] for item, _, _ in offers}
        assert set(db["low"].rows()) == {(item, min(group)) for item, group in prices.items()}
        assert set(db["high"].rows()) == {(item, max(group)) for item, group in prices.items()}


def test_ever_better_offers_cost_the_same_however_many_there_are():
    db = hw.connect()
    db.define(PROGRAM)
    touched = {}
    for number in range(3000):
        db.apply(insert={"offer": [(1, 10_000 - number, 0), (1, 10_001 + number, 0)]})
        touched[number] = db.statistics.touched
    assert touched[100] == touched[2999]
    assert (db["low"].rows(), db["high"].rows()) == ([(1, 7001)], [(1, 13_000)])


def test_one_link_of_many_is_no_reason_to_derive_cheapest_paths_anew(monkeypatch: pytest.MonkeyPatch):
    """Most rows are candidates, of which premises see none; and what one link takes away is no part of all links."""
    monkeypatch.setattr("headwater.maintain.strategies.support.FEWEST_DEAD_TO_GIVE_UP", 16)
    rng = random.Random(5)
    ends = [(a, b) for a in range(40) for b in rng.sample([node for node in range(40) if node != a], 4)]
    links = [(a, b, rng.randint(1, 100)) for a, b in ends]
    db = hw.connect()
    db.define("""
        sp(X, Y, min<C>) :- link(X, Y, C).
        sp(X, Y, min<C>) :- link(X, Z, A), sp(Z, Y, B), C = A + B.
    """)
    db.apply(insert={"link": links})
    anew = 0
    for link in links[:40]:
        db.apply(delete={"link": [link]})
        anew += sum(event.code == "recomputed" for event in db.statistics.events)
        db.apply(insert={"link": [link]})
    assert anew <= 4
