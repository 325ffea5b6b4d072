"""Functions of users: called once for each combination of arguments, checked, refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from values_support import call, small_or_large

from headwater.errors import DataError, EvaluationError, RuleError
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.signatures import distinct_rows
from headwater.values.types import BOOL, FLOAT, INT, STRING


def test_registered_functions_are_called_once_for_each_combination():
    calls = []

    def distance(a: str, b: str) -> float:
        calls.append((a, b))
        return abs(len(a) - len(b))

    functions, codec = Functions(), Codec()
    functions.register("distance", distance, ["string", "string"], "float")
    left, right = codec.strings.encode(["a", "bb", "a", "a"]), codec.strings.encode(["ccc", "a", "ccc", "bb"])
    result = functions.apply("distance", [left, right], [STRING, STRING], codec)
    assert codec.decode_column(result, FLOAT) == [2.0, 1.0, 2.0, 1.0]
    assert sorted(calls) == [("a", "bb"), ("a", "ccc"), ("bb", "a")]
    assert functions.has("distance", 2) and functions.suggest("distanze") == ["distance"]


def test_registered_functions_may_take_anything_and_give_lists_and_tests():
    functions = Functions()
    functions.register("pack", lambda *values: list(map(str, values)), None, "list[string]")
    functions.register("is_even", lambda value: value % 2 == 0, [INT], BOOL)
    functions.register("half", lambda value: value / 2, [FLOAT], "float")
    assert call("pack", 1, "a", functions=functions) == ("1", "a")
    assert call("pack", functions=functions) == ()
    assert call("is_even", 4, functions=functions) is True and functions.is_test("is_even")
    assert call("half", 3, functions=functions) == 1.5
    functions.register("half", lambda value: value // 2, [INT], "int")
    assert call("half", 3, functions=functions) == 1


def test_registered_functions_that_fail():
    functions = Functions()
    functions.register("invert", lambda value: 1 / value, ["float"], "float")
    functions.register("name_of", lambda value: value, ["int"], "string")
    functions.register("find", lambda value: None, ["int"], "string")
    for name, argument, message in (
        ("invert", 0.0, "invert(0.0) failed: ZeroDivisionError: float division by zero"),
        ("name_of", 3, "name_of(3) should give string, but 3 is an int"),
    ):
        with pytest.raises(EvaluationError) as caught:
            call(name, argument, functions=functions)
        assert caught.value.code == "function-failed" and caught.value.message == message


def test_registrations_that_are_refused():
    functions = Functions()
    for name in ("strlen", "range", "f_now"):
        with pytest.raises(RuleError) as caught:
            functions.register(name, len, None, "int")
        assert caught.value.code == "reserved-name"
    for name in ("+", "a b", "1f", ""):
        with pytest.raises(DataError) as refused:
            functions.register(name, len, None, "int")
        assert refused.value.code == "wrong-type"
    with pytest.raises(RuleError, match="there is no type number2") as caught:
        functions.register("f", len, ["number2"], "int")
    assert caught.value.code == "unknown-type"
    assert not functions.has("f")


@given(
    st.lists(st.tuples(small_or_large, small_or_large, small_or_large), min_size=1)
    | st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1)
)
def test_distinct_rows(rows):
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    firsts, places = distinct_rows(columns)
    assert sorted(rows[i] for i in firsts) == sorted(set(rows))
    assert [rows[firsts[place]] for place in places] == rows
