"""Exact sums against fractions, on random streams of additions and removals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import EvaluationError
from headwater.values import exact_sum
from headwater.values.exact_sum import ExactIntSums, ExactSums, accumulate, accumulate_columns, settle, split

GROUPS = 3
any_float = st.floats(allow_nan=True, allow_infinity=True)
finite = st.floats(allow_nan=False, allow_infinity=False)
near_ties = st.builds(
    lambda a, b, c: a + b * 2.0**-53 + c * 2.0**-200, *[st.sampled_from([-1.0, 0.0, 1.0, 3.0])] * 3
)
int64 = st.integers(-(2**63), 2**63 - 1)


def nearest(total: Fraction) -> float:
    """The float nearest to a fraction, infinite beyond the largest."""
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def expected_sum(values: list[float]) -> float:
    if any(map(math.isnan, values)) or {math.inf, -math.inf} <= set(values):
        return math.nan
    infinite = [value for value in values if math.isinf(value)]
    return infinite[0] if infinite else nearest(sum(map(Fraction, values), Fraction(0)))


def expected_average(values: list[float]) -> float:
    if not all(map(math.isfinite, values)):
        return expected_sum(values)
    return nearest(sum(map(Fraction, values), Fraction(0)) / len(values))


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


def stream(values: st.SearchStrategy) -> st.SearchStrategy:
    """Batches of (group, value) to add; each batch may also take away some of what is there."""
    batch = st.lists(st.tuples(st.integers(0, GROUPS - 1), values), max_size=6)
    return st.lists(st.tuples(batch, st.integers(0, 4), st.randoms()), max_size=6)


def run(sums, batches, dtype) -> list[list]:
    """Feed the batches to `sums`; return what is left in each group."""
    left: list[list] = [[] for _ in range(GROUPS)]
    for added, removals, random in batches:
        sums.add(
            np.array([g for g, _ in added], dtype=np.int64), np.array([v for _, v in added], dtype=dtype)
        )
        for group, value in added:
            left[group].append(value)
        for _ in range(removals):
            group = random.randrange(GROUPS)
            if left[group]:
                value = left[group].pop(random.randrange(len(left[group])))
                sums.add(np.array([group]), np.array([value], dtype=dtype), -1)
    return left


@given(stream(any_float | near_ties))
@settings(max_examples=300)
def test_float_sums_are_the_rounded_sums_of_what_is_left(batches):
    sums = ExactSums()
    sums.ensure(GROUPS)
    left = run(sums, batches, np.float64)
    few, many = sums.value(np.arange(GROUPS)), sums.value(np.arange(8 * GROUPS) % GROUPS)
    for group in range(GROUPS):
        assert same(few[group], expected_sum(left[group])), left[group]
        assert same(many[group], few[group]), left[group]


@given(stream(any_float | near_ties))
def test_float_averages_are_rounded_once(batches):
    sums = ExactSums()
    sums.ensure(GROUPS)
    left = run(sums, batches, np.float64)
    filled = np.array([group for group in range(GROUPS) if left[group]], dtype=np.int64)
    counts = np.array([len(left[group]) for group in filled], dtype=np.int64)
    for group, average in zip(filled, sums.average(filled, counts), strict=True):
        assert same(average, expected_average(left[group])), left[group]


@given(st.lists(finite, min_size=1), st.data())
def test_a_sum_does_not_depend_on_order(values, data):
    shuffled = data.draw(st.permutations(values))
    results = []
    for order in (values, shuffled):
        sums = ExactSums()
        sums.ensure(1)
        sums.add(np.zeros(len(order), dtype=np.int64), np.array(order))
        results.append(sums.value(np.array([0]))[0])
    assert results[0] == results[1]


@given(st.lists(finite), st.lists(finite))
def test_restore_undoes(before, after):
    sums = ExactSums()
    sums.ensure(2)
    group = np.array([1])
    sums.add(np.ones(len(before), dtype=np.int64), np.array(before))
    saved = sums.save(group)
    sums.add(np.ones(len(after), dtype=np.int64), np.array(after))
    sums.restore(group, saved)
    assert sums.value(group)[0] == expected_sum(before)


@given(st.lists(finite, min_size=1), st.sampled_from([1, -1]))
def test_the_loop_and_the_columns_agree(values, sign):
    mantissa, exponent = split(np.array(values))
    groups = np.arange(len(values)) % GROUPS
    slow, fast = np.zeros((2, GROUPS, 70), dtype=np.int64)
    accumulate(slow, 0, groups, mantissa, exponent, sign)
    accumulate_columns(fast, 0, groups, mantissa, exponent, sign)
    assert (slow == fast).all()


def test_the_loop_can_be_compiled():
    numba = pytest.importorskip("numba")
    values = np.random.default_rng(1).standard_normal(500) * 1e10
    groups = np.arange(len(values)) % GROUPS
    compiled, fast = np.zeros((2, GROUPS, 70), dtype=np.int64)
    numba.njit(accumulate)(compiled, 0, groups, *split(values), -1)
    accumulate_columns(fast, 0, groups, *split(values), -1)
    assert (compiled == fast).all()


@given(finite)
def test_split_is_exact(value):
    mantissa, exponent = split(np.array([value]))
    assert Fraction(int(mantissa[0])) * Fraction(2) ** int(exponent[0]) == Fraction(value)


def test_carries_are_settled_before_they_overflow(monkeypatch):
    monkeypatch.setattr(exact_sum, "SETTLE_EVERY", 4)
    settled = []
    monkeypatch.setattr(exact_sum, "settle", lambda limbs: settled.append(1) or settle(limbs))
    sums = ExactSums()
    sums.ensure(1)
    for _ in range(10):
        sums.add(np.zeros(3, dtype=np.int64), np.full(3, -0.1))
    assert len(settled) >= 9
    assert sums.value(np.array([0]))[0] == math.fsum([-0.1] * 30)


def test_a_million_values():
    random = np.random.default_rng(7)
    values = random.standard_normal(1_000_000) * 10.0 ** random.integers(-300, 300, 1_000_000)
    sums = ExactSums()
    sums.ensure(1)
    sums.add(np.zeros(len(values), dtype=np.int64), values)
    assert sums.value(np.array([0]))[0] == math.fsum(values.tolist())
    sums.add(np.zeros(len(values) - 1, dtype=np.int64), values[1:], -1)
    assert sums.value(np.array([0]))[0] == values[0]


def test_an_empty_group_is_positive_zero():
    sums = ExactSums()
    sums.ensure(2)
    sums.add(np.array([0, 0]), np.array([-0.0, -0.0]))
    assert np.copysign(1, sums.value(np.array([0, 1]))).tolist() == [1, 1]


@given(stream(int64))
def test_int_sums_are_exact(batches):
    sums = ExactIntSums()
    sums.ensure(GROUPS)
    left = run(sums, batches, np.int64)
    for group in range(GROUPS):
        total = sum(left[group])
        if -(2**63) <= total < 2**63:
            assert sums.value(np.array([group]))[0] == total
        else:
            with pytest.raises(EvaluationError, match=str(total)) as caught:
                sums.value(np.array([group]))
            assert caught.value.code == "overflow"
        if left[group]:
            average = sums.average(np.array([group]), np.array([len(left[group])]))[0]
            assert average == float(Fraction(total, len(left[group])))


@given(st.lists(int64), st.lists(int64))
def test_restore_undoes_int_sums(before, after):
    sums = ExactIntSums()
    sums.ensure(1)
    group = np.array([0])
    sums.add(np.zeros(len(before), dtype=np.int64), np.array(before, dtype=np.int64))
    saved = sums.save(group)
    sums.add(np.zeros(len(after), dtype=np.int64), np.array(after, dtype=np.int64))
    sums.restore(group, saved)
    assert sums.average(group, np.array([1]))[0] == float(sum(before))


def test_groups_can_be_added_later():
    sums, ints = ExactSums(), ExactIntSums()
    for kind, value in ((sums, 0.5), (ints, 5)):
        kind.ensure(1)
        kind.add(np.array([0]), np.array([value]))
        kind.ensure(100)
        kind.add(np.array([99]), np.array([value]))
        assert kind.value(np.array([0, 50, 99])).tolist() == [value, 0, value]
        assert len(kind) >= 100
