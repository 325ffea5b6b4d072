"""Comparisons and orders of values: as Python has them, exactly, NaN and numbers of different types among them."""

from __future__ import annotations

import datetime as dt
import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from values_support import LEAST, MOST, small_or_large

from headwater.values.codec import Codec
from headwater.values.functions import FunctionMismatch, Functions
from headwater.values.types import BOOL, DATE, FLOAT, INT, STRING, TIMESTAMP, list_of

NAN, INF = math.nan, math.inf
UTC = dt.timezone.utc


OPERATORS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
ORDERED = {
    INT: small_or_large,
    FLOAT: st.floats(allow_nan=False),
    STRING: text,
    BOOL: st.booleans(),
    DATE: st.dates(),
    TIMESTAMP: st.datetimes(timezones=st.just(UTC)),
    list_of(INT): st.lists(st.integers(-2, 2), max_size=3).map(tuple),
    list_of(STRING): st.lists(text, max_size=3).map(tuple),
    list_of(list_of(FLOAT)): st.lists(st.lists(st.floats(-1, 1), max_size=2).map(tuple), max_size=2).map(
        tuple
    ),
}


@given(st.data(), st.sampled_from(list(ORDERED)), st.sampled_from(list(OPERATORS)))
def test_comparisons_are_pythons(data, type, op):
    pairs = data.draw(st.lists(st.tuples(ORDERED[type], ORDERED[type]), min_size=1, max_size=4))
    codec = Codec()
    left = np.array([codec.encode_value(a, type) for a, _ in pairs])
    right = np.array([codec.encode_value(b, type) for _, b in pairs])
    result = Functions().compare(op, left, right, type, type, codec)
    assert result.dtype == np.bool_
    assert result.tolist() == [OPERATORS[op](a, b) for a, b in pairs]


nearby = st.integers(-3, 3).flatmap(
    lambda d: st.sampled_from([0, 2**53, -(2**53), MOST, LEAST]).map(lambda b: b + d)
)


@given(
    (small_or_large | nearby).filter(lambda value: LEAST <= value <= MOST),
    st.floats(allow_nan=False)
    | nearby.map(float)
    | st.sampled_from([INF, -INF, 2.0**63, -(2.0**63), 0.5, -0.5]),
    st.sampled_from(list(OPERATORS)),
)
def test_an_int_and_a_float_compare_exactly(integer, number, op):
    codec = Codec()
    a, b = np.array([codec.encode_value(integer, INT)]), np.array([codec.encode_value(number, FLOAT)])
    exact = Fraction(number) if math.isfinite(number) else number
    assert Functions().compare(op, a, b, INT, FLOAT, codec).tolist() == [OPERATORS[op](integer, exact)]
    assert Functions().compare(op, b, a, FLOAT, INT, codec).tolist() == [OPERATORS[op](exact, integer)]


def test_long_columns_of_strings_compare_like_short_ones():
    codec, words = Codec(), [f"w{i * 37 % 100}" for i in range(100)]
    left, right = codec.strings.encode(words), codec.strings.encode(words[::-1])
    result = Functions().compare("<", left, right, STRING, STRING, codec)
    assert result.tolist() == [a < b for a, b in zip(words, words[::-1], strict=True)]


def test_nan_is_equal_to_itself_and_above_all():
    codec, functions = Codec(), Functions()
    nan, most, one = (np.array([codec.encode_value(value, FLOAT)]) for value in (NAN, INF, 1.0))
    assert functions.compare("=", nan, nan, FLOAT, FLOAT, codec)[0]
    assert functions.compare(">", nan, most, FLOAT, FLOAT, codec)[0]
    assert functions.compare("<", np.array([1]), nan, INT, FLOAT, codec)[0]
    assert not functions.compare("<", nan, one, FLOAT, FLOAT, codec)[0]
    lists = [np.array([codec.encode_value(value, list_of(FLOAT))]) for value in ((NAN,), (INF,))]
    assert functions.compare(">", *lists, list_of(FLOAT), list_of(FLOAT), codec)[0]


@pytest.mark.parametrize(
    "left, right", [(INT, STRING), (BOOL, INT), (DATE, TIMESTAMP), (list_of(INT), list_of(STRING))]
)
def test_values_of_different_types_do_not_compare(left, right):
    functions = Functions()
    with pytest.raises(FunctionMismatch, match=f"{left.name}.* < {right.name}"):
        functions.check_comparable("<", left, right)
    with pytest.raises(FunctionMismatch):
        functions.compare("<", np.array([0]), np.array([0]), left, right, Codec())
    functions.check_comparable("<", left, None)
