"""Functions called as rules call them, through codes; ints of all sizes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.scalars import value_type

LEAST, MOST = -(2**63), 2**63 - 1
small_or_large = st.integers(-10, 10) | st.integers(LEAST, MOST) | st.integers(-(2**32), 2**32)


def call(name: str, *arguments, types=None, functions: Functions | None = None):
    """Apply a function to one row of values, through codes."""
    functions, codec = functions or Functions(), Codec()
    types = types or [value_type(argument) for argument in arguments]
    columns = [
        np.array([codec.encode_value(argument, type)])
        for argument, type in zip(arguments, types, strict=True)
    ]
    result = functions.result_type(name, types)
    return codec.decode_value(functions.apply(name, columns, types, codec)[0], result)
