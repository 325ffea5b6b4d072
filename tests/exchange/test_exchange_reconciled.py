"""Random rivals with random priorities, in any order of publishing and importing, beside the definition."""

from __future__ import annotations

import os
import random

from exchange_support import COMMON
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw

EXAMPLES = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", "3"))
SOURCES = ("S0", "S1", "S2")


def accepted(
    candidates: dict[int, set[str]], own: set[int], ranks: dict[str, int], barred: set[str]
) -> set[int]:
    """The values of one key that a peer shows: its own; else the one of the highest rank, if it is alone there. What
    only peers of rank 0 have, one of which is `barred`, is none of them."""
    if own:
        return own
    best = {value: max(ranks[peer] for peer in peers) for value, peers in candidates.items()}
    best = {value: rank for value, rank in best.items() if rank or not candidates[value] & barred}
    top = [value for value, rank in best.items() if rank == max(best.values(), default=0)]
    return set(top) if len(top) == 1 else set()


def run(seed: int) -> None:
    chance = random.Random(seed)
    ranks = {peer: chance.randint(0, 2) for peer in SOURCES}
    barred = {peer for peer, rank in ranks.items() if not rank and chance.random() < 0.5}
    named = [peer for peer, rank in ranks.items() if rank or peer in barred]
    trust = " ".join(f"trust from {peer} priority {ranks[peer]}." for peer in named)
    peers = {peer: {f"R{peer}": "id: int, value: int"} for peer in SOURCES} | {
        "T": {"A": "id: int, value: int"}
    }
    mappings = [f"m{peer}: R{peer}(i, v) -> A(i, v)." for peer in SOURCES]
    found = hw.exchange(
        peers=peers, mappings="\n".join([*mappings, "key: A(i, v), A(i, w) -> v = w."]), trust={"T": trust}
    )
    there: dict[str, set] = {peer: set() for peer in (*SOURCES, "T")}
    for _ in range(16):
        peer = chance.choice((*SOURCES, *SOURCES, "T"))
        row = (chance.randint(0, 2), chance.randint(0, 2))
        relation = "A" if peer == "T" else f"R{peer}"
        if row in there[peer]:
            found[peer].edit(delete={relation: [row]})
            there[peer].discard(row)
        elif peer != "T" or row not in found["T"]["A"]:
            if peer == "T" and any(own[0] == row[0] for own in there["T"]):
                continue
            found[peer].edit(insert={relation: [row]})
            there[peer].add(row)
        if chance.random() < 0.5:
            order = [*SOURCES, "T"]
            chance.shuffle(order)
            for each in order:
                found[each].publish()
            for each in (*order, "T"):
                found[each].update()
            for viewer in ("T", chance.choice(SOURCES)):
                check(found[viewer], there, ranks, barred)


def check(viewer, there, ranks, barred) -> None:
    keys = {row[0] for rows in there.values() for row in rows}
    expected = set()
    for key in keys:
        candidates: dict[int, set[str]] = {}
        for peer in SOURCES:
            for row in there[peer]:
                if row[0] == key:
                    candidates.setdefault(row[1], set()).add(peer)
        own = {row[1] for row in there["T"] if row[0] == key}
        expected |= {(key, value) for value in accepted(candidates, own, ranks, barred)}
    assert set(viewer["A"].rows()) == expected, (ranks, barred, there)


@given(st.integers(0, 2**32))
@settings(COMMON, max_examples=EXAMPLES)
def test_what_is_accepted_follows_from_priorities_alone(seed):
    run(seed)
