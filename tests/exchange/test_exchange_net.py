"""What an update does to a peer with keys: told as the difference of what users see, at the cost of what changed."""

from __future__ import annotations

import os
import random

import pytest
from exchange_support import COMMON, confederation, rows
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.exchange.border import Border
from headwater.exchange.instance import PeerInstance
from headwater.exchange.peer import Peer

EXAMPLES = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", "4"))
PEERS = {
    "A": {"R": "id: int, value: int"},
    "B": {"S": "id: int"},
    "T": {"K": "id: int, value: int", "L": "value: int, id: int"},
}
MAPPINGS = """
    a: R(i, v) -> K(i, v).
    b: S(i) -> exists v K(i, v).
    l: K(i, v) -> L(v, i).
    key: K(i, v), K(i, w) -> v = w.
"""
TRUST = ("", "trust K(i, v) from A priority 2.", "trust K(i, v) if i < 2 priority 0.", "distrust from B.")


def seen(peer: Peer) -> dict[str, set]:
    return {name: set(peer[name].rows(nulls=True)) for name in ("K", "L")}


@given(st.integers(0, 2**32))
@settings(COMMON, max_examples=EXAMPLES)
def test_updates_and_previews_tell_the_difference_of_what_users_see(seed: int) -> None:
    chance = random.Random(seed)
    found = hw.exchange(peers=PEERS, mappings=MAPPINGS, trust={"T": chance.choice(TRUST)})
    viewer = found["T"]
    for _ in range(8):
        for _ in range(chance.randrange(1, 3)):
            peer, relation, arity = chance.choice(
                (("A", "R", 2), ("A", "R", 2), ("B", "S", 1), ("T", "K", 2))
            )
            row = tuple(chance.randrange(3) for _ in range(arity))
            there = row in found[peer][relation]
            found[peer].edit(**{"delete" if there and chance.random() < 0.8 else "insert": {relation: [row]}})
        if chance.random() < 0.2:
            found["B"].trust("distrust S(i) if i = 1.")
        for peer in ("A", "B"):
            found[peer].publish()
        before, told = seen(viewer), viewer.preview()
        report = viewer.update()
        after = seen(viewer)
        for name in ("K", "L"):
            for said in (told.changes, report.changes):
                assert set(said.inserted(name)) == after[name] - before[name], (name, MAPPINGS)
                assert set(said.deleted(name)) == before[name] - after[name]
    found.close()


def test_nothing_is_compared_whole_where_no_values_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    found = hw.exchange(peers=PEERS, mappings=MAPPINGS)
    found["A"].edit(insert={"R": [(n, n) for n in range(50)]})
    found.exchange()
    found["A"].edit(insert={"R": [(100, 1)]}, delete={"R": [(3, 3)]})
    found["A"].publish()
    monkeypatch.setattr(Border, "shown", lambda *_: pytest.fail("all rows are read"))
    monkeypatch.setattr(Border, "_choose_all", lambda *_: pytest.fail("all values are looked at"))
    monkeypatch.setattr(PeerInstance, "recomputed", lambda self: pytest.fail("all is computed again"))
    viewer = found["T"]
    for report in (viewer.preview(), viewer.update()):
        assert not report.events
        assert report.changes.inserted("K") == [(100, 1)] and report.changes.deleted("L") == [(3, 3)]


@pytest.mark.parametrize(
    "condition",
    [
        "distrust from U(2, 5).",
        "distrust through m2.",
        "distrust U(n, c) from GUS.",
        "distrust U(n, c) if c = 2.",
    ],
)
def test_conditions_that_come_are_previewed_without_computing_all_again(
    condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = confederation()
    ubio, biosql = found["uBio"], found["BioSQL"]
    ubio.trust(condition)
    ubio.edit(insert={"U": [(9, 5)]})
    ubio.publish()
    monkeypatch.setattr(PeerInstance, "recomputed", lambda self: pytest.fail("all is computed again"))
    program, version = biosql.instance.program(), biosql.instance.database.version
    before = rows(biosql, "B")
    told = biosql.preview()
    assert (biosql.instance.program(), biosql.instance.database.version) == (program, version)
    assert rows(biosql, "B") == before
    done = biosql.update()
    assert (9, 5) in rows(biosql, "U") and (3, 9) in rows(biosql, "B")
    for said in (told.changes, done.changes):
        assert set(said.inserted("B")) == rows(biosql, "B") - before
        assert set(said.deleted("B")) == before - rows(biosql, "B")
    ubio.trust(remove=condition)
    ubio.publish()
    assert biosql.preview().changes == biosql.update().changes
