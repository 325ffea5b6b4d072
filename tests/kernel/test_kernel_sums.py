"""Sums within a join: of floats, as Python adds them."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import headwater as hw
from headwater.kernel import compiled, join
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.types import FLOAT

compiled.load()
TINY = 5e-324
NUMBERS = st.one_of(
    st.none(), st.floats(width=64), st.sampled_from([0.0, -0.0, TINY, -TINY, math.nan, -math.inf])
)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8), st.booleans())
@example([(1.0, -1.0), (-0.0, -0.0), (math.inf, -math.inf)], False)
@example([(0.0, TINY)], True)
def test_plain_sums_have_the_codes_that_functions_give_and_others_are_told(pairs, subtract):
    codec = Codec()
    columns = [codec.encode_column(list(side), FLOAT) for side in zip(*pairs, strict=True)]
    bindings = np.ascontiguousarray(np.stack([*columns, np.arange(len(pairs))], axis=1))
    out = np.empty((len(pairs), 3), np.int64)
    none = np.empty(0, np.int64)
    row = join.append_float_sum(bindings, 0, 1, none, subtract, np.array([1]), out)
    expected = Functions().apply("-" if subtract else "+", columns, [FLOAT, FLOAT], codec)
    plain = len(pairs) if row < 0 else row
    assert out[:plain, 1].tolist() == expected[:plain].tolist()
    assert out[:, [0, 2]].tolist() == bindings[:, [1, 2]].tolist()
    if row >= 0:
        a, b = pairs[row]
        total = None if a is None or b is None else a - b if subtract else a + b
        specials = [value for value in (a, b, total) if value is None or -1e-300 < value < 0]
        assert specials


def test_a_view_over_odd_floats_is_what_python_computes():
    rows = [(1, 2.5, -2.5), (2, None, 1.0), (3, 0.0, -TINY), (4, math.inf, -math.inf), (5, 1e308, 1e308)]
    database = hw.connect()
    database.define("r(k: int, a: float?, b: float). s(K, C) :- r(K, A, B), C = A + B.")
    database.apply(insert={"r": rows})
    found = dict(database["s"].rows())
    assert math.isnan(found.pop(4))
    assert found == {1: 0.0, 2: None, 3: -TINY, 5: math.inf}
