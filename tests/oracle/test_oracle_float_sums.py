"""Sums and averages of floats are those of the rows that are left, to the last bit, however long the stream."""

from __future__ import annotations

import math
import random
import struct
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_graphs import seeds
from oracle_lockstep import examples

import headwater as hw

TEXT = """
    sample(id: int, key: string, value: float).
    total(K, sum<V>) :- sample(N, K, V).
    mean(K, avg<V>) :- sample(N, K, V).
    grand(sum<V>) :- sample(N, K, V).
"""


def expected_total(rows: set) -> set:
    keys = {key for _, key, _ in rows}
    return {(key, math.fsum(value for _, k, value in rows if k == key)) for key in keys}


def expected_mean(rows: set) -> set:
    found = set()
    for key in {key for _, key, _ in rows}:
        values = [Fraction(value) for _, k, value in rows if k == key]
        found.add((key, float(sum(values) / len(values))))
    return found


def random_float(rng: random.Random) -> float:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.uniform(-1, 1)
    if kind == 1:
        return rng.uniform(-1, 1) * 10.0 ** rng.randrange(-300, 300)
    if kind == 2:
        return rng.choice([0.1, 0.2, 0.3, -0.1, 1e16, -1e16, 1.0, 5e-324, -5e-324, 2.0**-1022])
    return struct.unpack("<d", struct.pack("<Q", rng.getrandbits(52) | rng.randrange(1, 2000) << 52))[0]


@pytest.mark.parametrize("strategy", ["support", "recompute"])
@pytest.mark.parametrize("seed", seeds(2))
def test_long_streams_leave_no_drift(strategy: str, seed: int):
    rng = random.Random(seed)
    db = hw.connect(strategy=strategy)
    db.define(TEXT)
    rows: set = set()
    for version in range(150 if strategy == "support" else 30):
        delete = rng.sample(sorted(rows), min(len(rows), rng.choice([0, 1, 5, 40])))
        insert = [
            (rng.randrange(10**6), rng.choice("abc"), random_float(rng))
            for _ in range(rng.choice([0, 1, 20]))
        ]
        db.apply(delete={"sample": delete}, insert={"sample": insert})
        rows = (rows - set(delete)) | set(insert)
        if version % 10 == 9:
            assert set(db["total"].rows()) == expected_total(rows)
            assert set(db["mean"].rows()) == expected_mean(rows)
            assert db["grand"].rows() == ([(math.fsum(v for _, _, v in rows),)] if rows else [])
    db.apply(delete={"sample": rows})
    assert db["total"].rows() == db["mean"].rows() == db["grand"].rows() == []


finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e306, max_value=1e306)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.booleans(), finite), min_size=1, max_size=30))
def test_any_floats(changes: list[tuple[bool, float]]):
    """Each float comes, and some go again at once: the sum is `math.fsum` of what is left after every version."""
    db = hw.connect()
    db.define("sample(id: int, value: float). grand(sum<V>) :- sample(N, V).")
    left: dict[int, float] = {}
    for number, (stays, value) in enumerate(changes):
        db.apply(insert={"sample": [(number, value)]})
        left[number] = value
        assert db["grand"].rows() == [(math.fsum(left.values()),)]
        if not stays:
            db.apply(delete={"sample": [(number, value)]})
            del left[number]
            assert db["grand"].rows() == ([(math.fsum(left.values()),)] if left else [])


def test_catastrophic_cancellation():
    db = hw.connect()
    db.define("sample(id: int, value: float). grand(sum<V>) :- sample(N, V).")
    db.apply(insert={"sample": [(1, 1e308), (2, 1.0), (3, -1e308), (4, 1e-300)]})
    assert db["grand"].rows() == [(1.0,)]
    db.apply(delete={"sample": [(2, 1.0)]})
    assert db["grand"].rows() == [(1e-300,)]
