"""Transactions that stand or fall together: what rows need is kept as it would be asked for."""

from __future__ import annotations

import os
import random

import pytest
from exchange_support import COMMON
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.database import Database
from headwater.exchange import together
from headwater.exchange.needed import Needed
from headwater.exchange.together import AskedNeeds, KeptNeeds, Together

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
    key: K(i, v), K(i, w) -> v = w.
"""


def edited(found, chance: random.Random) -> None:
    """Somebody edits several rows at once, some of which may be there already, and others depend on it."""
    peer, relation = chance.choice((("A", "R"), ("B", "S"), ("T", "K")))
    rows = [(chance.randrange(4), chance.randrange(3)) for _ in range(chance.randint(1, 3))]
    there = [row for row in found[peer][relation].rows() if chance.random() < 0.3]
    last = found[peer].instance.taken(peer)
    depends = [f"{peer}:{chance.randint(1, last)}"] if last and chance.random() < 0.3 else []
    found[peer].edit({relation: rows}, {relation: there} if there else None, depends=depends)


@given(st.integers(0, 2**32))
@settings(COMMON, max_examples=EXAMPLES)
def test_what_rows_need_is_kept_as_it_would_be_asked_for(seed: int):
    chance = random.Random(seed)
    trust = chance.choice(
        ("", "trust from A priority 2.", "trust from B priority 2. trust from A priority 1.")
    )
    found = hw.exchange(peers=PEERS, mappings=MAPPINGS, trust={"T": trust} if trust else {})
    viewer = found["T"]
    compared = 0
    for _ in range(6):
        edited(found, chance)
        found.exchange()
        database, compiled = viewer.instance.database, viewer.instance.compiled
        within: Together = viewer.instance._together
        within.falling(database, compiled, "T", {})
        kept = KeptNeeds(within._needed, database, compiled)
        asked = AskedNeeds(within._taken, database, compiled)
        for relation in compiled.choosing:
            for row in database[compiled.names.candidates(relation)].rows():
                assert set(kept.of("T", (relation, row))) == set(asked.of("T", (relation, row)))
        for number in range(len(within._taken.ids)):
            assert set(kept.needing("T", number)) == asked.needing("T", number)
            compared += 1
    assert compared
    found.close()


@given(st.integers(0, 2**32))
@settings(COMMON, max_examples=EXAMPLES)
def test_decisions_are_the_same_either_way(seed: int):
    """Asked one by one, kept, and decided anew from all that was taken on."""
    chance = random.Random(seed)
    trust = chance.choice(
        ("", "trust from A priority 2.", "trust K(i, v) if v > 1 priority 0. trust from B priority 1.")
    )
    found = hw.exchange(peers=PEERS, mappings=MAPPINGS, trust={"T": trust} if trust else {})
    viewer = found["T"]
    for _ in range(6):
        edited(found, chance)
        found.exchange()
        reconciler = viewer.instance.reconciler
        decided = []
        for most in (0, 10**6):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(together, "MOST_ASKED_ABOUT", most)
                viewer.instance._together._keeps = False
                decided.append(reconciler.decisions("T"))
        assert decided[0] == decided[1]
    found.close()


def confederation(**options):
    return hw.exchange(
        peers={name: {relation: "i: int, n: int"} for name, relation in (("P", "A"), ("Q", "B"), ("V", "C"))},
        mappings="a: A(i, n) -> C(i, n). b: B(i, n) -> C(i, n). key: C(i, n), C(i, m) -> n = m.",
        trust={"V": "trust from Q priority 2."},
        **options,
    )


def test_rows_that_are_not_accepted_are_not_asked_about_one_by_one(monkeypatch: pytest.MonkeyPatch):
    found = confederation()
    for number in range(30):
        found["P"].edit(insert={"A": [(number, 1), (number + 100, 1)]})
        found["Q"].edit(insert={"B": [(number, 2)]})
    found.exchange()
    viewer = found["V"]
    assert len(viewer["C"]) == 30
    monkeypatch.setattr(Database, "why", lambda *_, **__: pytest.fail("a row is asked about"))
    monkeypatch.setattr(Database, "what_if", lambda *_, **__: pytest.fail("a transaction is asked about"))
    found["P"].edit(insert={"A": [(30, 1), (130, 1)]})
    found["Q"].edit(insert={"B": [(30, 2)]})
    found.exchange()
    assert len(viewer["C"]) == 31 and (130, 1) not in viewer["C"]
    found["Q"].edit(delete={"B": [(30, 2)]})
    found.exchange()
    assert {(30, 1), (130, 1)} <= set(viewer["C"])
    found.close()


def test_what_fell_is_not_let_in_when_the_peer_is_opened_again(tmp_path):
    with confederation(path=tmp_path) as found:
        found["P"].edit(insert={"A": [(1, 1), (2, 1)]})
        found["Q"].edit(insert={"B": [(1, 2)]})
        found.exchange()
        assert found["V"]["C"].rows() == [(1, 2)]
        version = found["V"].instance.database.version
    with confederation(path=tmp_path) as found:
        assert found["V"]["C"].rows() == [(1, 2)]
        assert found["V"].instance.database.version == version


def test_a_row_that_comes_again_with_others_falls_with_them():
    found = confederation()
    found["P"].edit(insert={"A": [(1, 1)]})
    found["Q"].edit(insert={"B": [(2, 2)]})
    found.exchange()
    viewer = found["V"]
    assert set(viewer["C"]) == {(1, 1), (2, 2)}
    viewer.instance._together._keeps = True
    found["P"].edit(insert={"A": [(1, 1), (2, 1)]})
    found.exchange()
    assert set(viewer["C"]) == {(2, 2)}
    found.close()


values = st.one_of(st.none(), st.frozensets(st.integers(0, 4), max_size=4))


@given(values, values, values)
def test_what_is_needed_is_an_annotation(a, b, c):
    needed = Needed()
    plus, times = needed.plus, needed.times
    for both in (plus, times):
        assert both(a, b) == both(b, a) and both(both(a, b), c) == both(a, both(b, c))
    assert times(a, plus(b, c)) == plus(times(a, b), times(a, c))
    assert plus(a, times(a, b)) == a and plus(a, needed.zero) == a and times(a, needed.one) == a
    assert times(a, needed.zero) == needed.zero
    assert needed.decode(needed.encode(a)) == a and needed.value(a) == a
