"""Between which floats a database's averages of integers are, given the exact sum and the number of values.

DuckDB divides in C's `long double` and rounds again to a `DOUBLE`, or makes the average a sum and a count and divides
these in `double`. Which of the two depends on the type, on what else a query asks for, and on what its statistics say
of NULLs; so a filter more can change it, and a `long double` has other bits on other machines. So no float is said to
be the average. What holds: whichever way it is computed, the average is between the lowest and the highest one here,
and these are one float, the nearest to the true quotient, where

- the sum is below `MOST_SURE_SUM`, and the group has at most `MOST_SURE_VALUES` values. A quotient by n that is not
  in the middle of two floats is 1/(2n) of their distance away from there or more, and `long double` has 11 bits more
  than `double`, or none: rounding to it does not lead to the middle.
- the sum is so small, and the average is a whole number. No way of dividing rounds that.

Else they are `SPREAD` of the average apart from the quotient: sums of more than 53 bits are rounded when they become
floats (128 bits in up to three steps), and so are quotients, each by up to 2**-53.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.language.sql.scalars import And, Case, Cast, Compare, Function, Or, Scalar, Value
from headwater.values.types import FLOAT

MOST_SURE_VALUES = 512
MOST_SURE_SUM = 2.0**51
SPREAD = 2.0**-50
BOUNDS = ("lowest_avg", "highest_avg")
"""The aggregates that say them."""
_FINER_THAN_LONG_DOUBLE = 2**63
"""Quotients in `long double` are nearer than one part of so many."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def bounds(quotients: Floats, counts: Ints, function: str) -> Floats:
    """The lowest averages (`lowest_avg`) or the highest ones, of the floats nearest to true quotients.

    >>> bounds(np.array([2.5, 1e16]), np.array([2, 1]), "highest_avg").tolist()
    [2.5, 1.0000000000000008e+16]
    """
    unsure = _unsure(quotients, counts)
    if not unsure.any():
        return quotients
    spread = np.abs(quotients) * SPREAD
    found: Floats = quotients + (spread if function == "highest_avg" else -spread)
    return np.where(unsure, found, quotients)


def bound_scalar(total: Scalar, count: Scalar, function: str) -> Scalar:
    """The same of a sum and a count, as an expression."""

    def number(value: float) -> Value:
        return Value(float(value), FLOAT)

    def computed(name: str, *arguments: Scalar) -> Function:
        return Function(name, arguments, FLOAT)

    count = Cast(count, FLOAT)
    quotient = computed("divide", Cast(total, FLOAT), count)
    size = computed("absolute", quotient)
    few = Compare("<=", count, number(MOST_SURE_VALUES))
    whole = Compare("=", quotient, Cast(Function("floor", (quotient,)), FLOAT))
    small = Compare("<=", computed("multiply", size, count), number(MOST_SURE_SUM))
    moved = computed(
        "add" if function == "highest_avg" else "subtract",
        quotient,
        computed("multiply", size, number(SPREAD)),
    )
    return Case(((And((small, Or((few, whole)))), quotient),), moved)


def first_unsure(quotients: Floats, counts: Ints) -> npt.NDArray[np.intp]:
    """The places of averages that may not be the nearest float, at a first look: most of them are."""
    return np.flatnonzero(_unsure(quotients, counts))


def is_nearest(total: int, count: int) -> bool:
    """Whether the average of a sum is the float nearest to the quotient, however it is computed.

    >>> is_nearest(1_000_001, 3_000), is_nearest(497453632664, 5619), is_nearest(2**60 + 1, 3)
    (True, False, False)
    """
    if abs(total) > MOST_SURE_SUM:
        return False
    fine, divisor = total * _FINER_THAN_LONG_DOUBLE, count * _FINER_THAN_LONG_DOUBLE
    return (fine - abs(total)) / divisor == (fine + abs(total)) / divisor


def _unsure(quotients: Floats, counts: Ints) -> npt.NDArray[np.bool_]:
    size = np.abs(quotients)
    many = counts > MOST_SURE_VALUES
    if many.any():
        many &= quotients != np.floor(quotients)
    return many | (size * counts > MOST_SURE_SUM)
