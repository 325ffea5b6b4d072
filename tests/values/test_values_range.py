"""`range`, which gives any number of values a row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from values_support import LEAST, MOST

from headwater.errors import EvaluationError
from headwater.values.codec import Codec
from headwater.values.functions import FunctionMismatch, Functions
from headwater.values.types import FLOAT, INT

NAN, INF = math.nan, math.inf


def expanded(columns: list[np.ndarray], most: int = 100) -> list[tuple[int, int]]:
    """Rows and values of a range, at most so many at a time."""
    codec = Codec()
    coded = [codec.specials.int_codes(column) for column in columns]
    pieces = list(Functions().expand("range", coded, [INT] * len(columns), codec).pieces(most))
    assert all(0 < len(rows) == len(values) <= most for rows, values in pieces)
    return [
        pair
        for rows, values in pieces
        for pair in zip(rows.tolist(), codec.decode_column(values, INT), strict=True)
    ]


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.integers(-4, 4).filter(bool)), max_size=4)
)
def test_range_is_pythons(bounds):
    columns = [np.array([row[i] for row in bounds], dtype=np.int64) for i in range(3)]
    expected = [(i, value) for i, row in enumerate(bounds) for value in range(*row)]
    for most in (1, 3, 100):
        assert expanded(columns, most) == expected


def test_no_rows_give_no_rows():
    none = np.empty(0, dtype=np.int64)
    assert expanded([none, none]) == []


def test_range_counts_down_when_its_end_is_below():
    assert expanded([np.array([3, 1]), np.array([1, 3])]) == [(0, 3), (0, 2), (1, 1), (1, 2)]


def test_range_without_a_step_to_take():
    with pytest.raises(EvaluationError, match=r"range\(1, 5, 0\)") as caught:
        Functions().expand("range", [np.array([1]), np.array([5]), np.array([0])], [INT] * 3, Codec())
    assert caught.value.code == "zero-step"
    with pytest.raises(FunctionMismatch, match="generator"):
        Functions().apply("range", [np.array([1]), np.array([5])], [INT, INT], Codec())
    with pytest.raises(FunctionMismatch, match="not a generator"):
        Functions().expand("abs", [np.array([1])], [INT], Codec())


def test_a_range_that_nothing_could_hold():
    with pytest.raises(EvaluationError) as caught:
        expanded([np.array([LEAST]), np.array([MOST])])
    assert caught.value.code == "range-too-long"


def _float_range(*bounds: float) -> list[float]:
    codec, functions = Codec(), Functions()
    columns = [np.array([codec.encode_value(float(bound), FLOAT)]) for bound in bounds]
    expansion = functions.expand("range", columns, [FLOAT] * len(bounds), codec)
    found = [values for _, values in expansion.pieces(10)]
    assert all(rows.tolist() == [0] * len(values) for rows, values in expansion.pieces(10_000))
    return codec.decode_column(np.concatenate([np.empty(0, np.int64), *found]), FLOAT)


def test_a_range_of_floats():
    assert _float_range(0, 2.5) == [0.0, 1.0, 2.0]
    assert _float_range(2, 0.5) == [2.0, 1.0]
    assert _float_range(0, 1, 0.25) == [0.0, 0.25, 0.5, 0.75]
    assert _float_range(1, 0, 0.25) == []
    assert _float_range(0, 5, INF) == [0.0]
    assert _float_range(NAN, 5) == _float_range(0, NAN) == _float_range(0, 5, NAN) == []
    assert str(Functions().result_type("range", [INT, FLOAT])) == "float"


@given(st.floats(-100, 100), st.floats(-100, 100), st.floats(0.01, 50) | st.floats(-50, -0.01))
def test_a_range_of_floats_adds_the_step_again_and_again(start, stop, step):
    expected, value = [], start
    while value < stop if step > 0 else value > stop:
        expected.append(value + 0.0)
        value += step
    assert _float_range(start, stop, step) == expected


@pytest.mark.parametrize(
    "bounds, code",
    [
        ((0, 1, 0), "zero-step"),
        ((1e300, 2e300, 1), "zero-step"),
        ((-INF, 0), "zero-step"),
        ((2.0**53 - 1, 2.0**53 + 4), "zero-step"),
        ((0, INF), "range-too-long"),
        ((0, 1, 1e-12), "range-too-long"),
    ],
)
def test_a_range_of_floats_without_an_end(bounds, code):
    with pytest.raises(EvaluationError) as caught:
        _float_range(*bounds)
    assert caught.value.code == code


def test_a_range_at_the_end_of_the_ints():
    found = expanded([np.array([LEAST]), np.array([MOST]), np.array([2**62])])
    assert [value for _, value in found] == [LEAST, LEAST + 2**62, 0, 2**62]


def test_a_long_range_comes_in_pieces():
    pieces = Functions().expand("range", [np.array([0]), np.array([10**9])], [INT] * 2, Codec()).pieces(1000)
    rows, values = next(pieces)
    assert rows.dtype == values.dtype == np.int64
    assert values.tolist() == list(range(1000)) and next(pieces)[1][0] == 1000
