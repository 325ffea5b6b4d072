"""64-bit ints, added and multiplied: the true result, or the error `overflow`.

>>> add(np.array([1, 2]), np.array([3])).tolist()
[4, 5]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EvaluationError
from headwater.values.dictionary import Codes
from headwater.values.scalars import INT_MIN


def overflow(call: str) -> EvaluationError:
    """The error for a result that no int is."""
    hint = "compute with decimals or floats: decimal(X, 38, 0), to_float(X)"
    return EvaluationError("overflow", f"{call} does not fit a 64-bit int", hint=hint)


def refuse(bad: NDArray[np.bool_], op: str, left: Codes, right: Codes) -> None:
    """Raise `overflow` for the first row where the result is bad."""
    if bad.any():
        row = int(np.argmax(bad))
        a, b = np.broadcast_arrays(left, right)
        raise overflow(f"{a[row]} {op} {b[row]}")


def add(left: Codes, right: Codes) -> Codes:
    """Exact sums."""
    total = left + right
    refuse(((left ^ total) & (right ^ total)) < 0, "+", left, right)
    return total


def subtract(left: Codes, right: Codes) -> Codes:
    """Exact differences."""
    total = left - right
    refuse(((left ^ right) & (left ^ total)) < 0, "-", left, right)
    return total


def multiply(left: Codes, right: Codes) -> Codes:
    """Exact products."""
    product = left * right
    near = np.abs(left.astype(np.float64) * right.astype(np.float64))
    if near.size and near.max() >= 2.0**62:
        # The float product is off by a relative 2**-51 at most. Near the limit, a product that does not fit
        # has wrapped round once and so has the wrong sign.
        far = near >= 2.0**63 * (1 + 2.0**-40)
        wrong_sign = (product < 0) != ((left < 0) != (right < 0))
        refuse(far | (near >= 2.0**62) & wrong_sign, "*", left, right)
    return product


def negate(value: Codes) -> Codes:
    """Exact opposites."""
    if (value == INT_MIN).any():
        raise overflow(f"-({INT_MIN})")
    return -value
