"""Arithmetic on codes: ints exact or an error, floats as IEEE 754 has them.

- `+ - * neg abs` of ints: the true result, or the error `overflow` if it does not fit 64 bits.
- `/` of ints truncates toward zero and `%` has the sign of the dividend, as in Souffle and C; `x ^ -n` is
  `1 / x ^ n` truncated likewise. A zero divisor is the error `division-by-zero`.
- `land lor lxor lnot` take 0 for false and any other int for true, and give 1 or 0.
- Shifts use the lower 6 bits of their right operand, and `bshl` drops what leaves the 64 bits.
- An int beside a float becomes a float. Float results are those of one IEEE operation; where that may depend
  on how many values are computed together (`^`), they are computed one by one, so that a row
  that is derived again gets the same bits.
- `floor`, `ceil` and `round` (ties to even) give ints.
- `+` of two strings puts them together, as P2 and RapidNet do.
- Sums of dates, timestamps and intervals are in `durations`, those of decimals in `decimals`.

>>> divide(np.array([-7, 7]), np.array([2])).tolist(), remainder(np.array([-7, 7]), np.array([2])).tolist()
([-3, 3], [-1, 1])
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EvaluationError
from headwater.values.codec import Codec
from headwater.values.columns import float_codes, floats
from headwater.values.dictionary import Codes
from headwater.values.durations import DURATIONS
from headwater.values.exact_ints import add, multiply, negate, overflow, refuse, subtract
from headwater.values.ordering import order_keys
from headwater.values.scalars import INT_MAX, INT_MIN, canonical_float
from headwater.values.signatures import Overload, Plain, Vectorised, pointwise, vectorised
from headwater.values.types import Type


def _check_divisor(op: str, left: Codes, right: Codes) -> None:
    zero = right == 0
    if zero.any():
        a = np.broadcast_to(left, np.broadcast_shapes(left.shape, right.shape))
        row = int(np.argmax(np.broadcast_to(zero, a.shape)))
        raise EvaluationError(
            "division-by-zero", f"{a[row]} {op} 0", hint="keep zero divisors out with a test before: D != 0"
        )


def divide(left: Codes, right: Codes) -> Codes:
    """Quotients, truncated toward zero."""
    _check_divisor("/", left, right)
    refuse((left == INT_MIN) & (right == -1), "/", left, right)
    quotient = left // right
    round_up: NDArray[np.bool_] = (quotient * right != left) & ((left < 0) != (right < 0))
    return quotient + round_up


def remainder(left: Codes, right: Codes) -> Codes:
    """Remainders, with the sign of the dividend."""
    _check_divisor("%", left, right)
    rest: Codes = np.fmod(left, np.where(right == -1, 1, right))
    return rest


def power(base: int, exponent: int) -> int:
    """An exact power; a negative exponent divides 1 by the power, truncating.

    >>> power(-2, 63), power(2, -1), power(-1, -3), power(0, 0)
    (-9223372036854775808, 0, -1, 1)
    """
    if exponent < 0:
        if base == 0:
            raise EvaluationError("division-by-zero", f"0 ^ {exponent}", hint="keep 0 out with a test before")
        return (base if exponent % 2 else 1) if abs(base) == 1 else 0
    if abs(base) > 1 and exponent > 63:
        raise overflow(f"{base} ^ {exponent}")
    result: int = base ** (exponent if abs(base) > 1 else min(exponent, 2 + exponent % 2))
    if not INT_MIN <= result <= INT_MAX:
        raise overflow(f"{base} ^ {exponent}")
    return result


def _absolute(value: Codes) -> Codes:
    if (value == INT_MIN).any():
        raise overflow(f"abs({INT_MIN})")
    return np.abs(value)


def _shift_right_unsigned(left: Codes, right: Codes) -> Codes:
    return (left.view(np.uint64) >> (right & 63).view(np.uint64)).view(np.int64)


# ------------------------------------------------------------------ floats


def float_power(base: float, exponent: float) -> float:
    """IEEE `pow`: infinities and NaN instead of exceptions."""
    try:
        return canonical_float(math.pow(base, exponent))
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def to_int(name: str, value: float, rounding: Callable[[float], int] = int) -> int:
    """The int that a float becomes, or `overflow`, also for NaN."""
    if not -(2.0**63) <= value < 2.0**63:
        raise overflow(f"{name} of {value!r}")
    return rounding(value)


# ------------------------------------------------------------------ as overloads


def _on_ints(function: Callable[..., Any], first: int = INT_MIN, last: int = INT_MAX) -> Vectorised:
    """Run on the ints, days or microseconds themselves; results outside `first` to `last` overflow."""

    def run(columns: Sequence[Codes], types: Sequence[Type | None], result: Type, codec: Codec) -> Codes:
        numbers = np.asarray(function(*map(codec.specials.numbers, columns)), dtype=np.int64)
        if first == INT_MIN:
            return codec.specials.int_codes(numbers)
        if numbers.size and (numbers.min() < first or numbers.max() > last):
            raise EvaluationError("overflow", f"a {result} outside the years 1 to 9999 was computed")
        return numbers

    return run


def _on_floats(function: Callable[..., Any]) -> Vectorised:
    def run(columns: Sequence[Codes], types: Sequence[Type | None], result: Type, codec: Codec) -> Codes:
        with np.errstate(all="ignore"):
            numbers = [floats(column, codec.specials) for column in columns]
            return float_codes(np.asarray(function(*numbers)), codec.specials)

    return run


def _plain_ints(function: Callable[..., Any]) -> Plain:
    def run(columns: Sequence[Codes], codec: Codec) -> Codes:
        return codec.specials.int_codes(np.asarray(function(*columns), dtype=np.int64))

    return run


def _plain_floats(function: Callable[..., Any]) -> Plain:
    def run(columns: Sequence[Codes], codec: Codec) -> Codes:
        with np.errstate(all="ignore"):
            numbers = [np.ascontiguousarray(column).view(np.float64) for column in columns]
            return float_codes(np.asarray(function(*numbers)), codec.specials)

    return run


def _best(sign: int) -> Vectorised:
    """The least (1) or greatest (-1) value of each row."""

    def run(columns: Sequence[Codes], types: Sequence[Type | None], result: Type, codec: Codec) -> Codes:
        columns = list(np.broadcast_arrays(*columns))
        keys = order_keys(columns, result, codec)
        best, best_key = columns[0], keys[0]
        for column, key in zip(columns[1:], keys[1:], strict=True):
            better = key < best_key if sign > 0 else key > best_key
            best, best_key = np.where(better, column, best), np.where(better, key, best_key)
        return best

    return run


def _numeric(ints: Callable[..., Any], numbers: Callable[..., Any], arity: int = 2) -> list[Overload]:
    int_text = ", ".join(["int"] * arity) + " -> int"
    return [
        vectorised(int_text, _on_ints(ints), _plain_ints(ints)),
        vectorised(int_text.replace("int", "float"), _on_floats(numbers), _plain_floats(numbers)),
    ]


def _bits(function: Callable[..., Any], arity: int = 2) -> list[Overload]:
    return [vectorised(", ".join(["int"] * arity) + " -> int", _on_ints(function))]


def _rounding(name: str, function: Callable[[float], int]) -> list[Overload]:
    return [
        vectorised("int -> int", _on_ints(np.copy)),
        pointwise(name, "float -> int", lambda value: to_int(name, value, function)),
    ]


_MIN = [vectorised(f"{t}, {t}... -> {t}", _best(1)) for t in ("int", "float", "T")]
_MAX = [vectorised(f"{t}, {t}... -> {t}", _best(-1)) for t in ("int", "float", "T")]

ARITHMETIC: Mapping[str, list[Overload]] = {
    "+": [
        *_numeric(add, np.add),
        *DURATIONS["+"],
        pointwise("+", "string, string -> string", operator.add),
    ],
    "-": [*_numeric(subtract, np.subtract), *DURATIONS["-"]],
    "*": [*_numeric(multiply, np.multiply), *DURATIONS["*"]],
    "/": [*_numeric(divide, np.divide), *DURATIONS["/"]],
    "%": _numeric(remainder, np.fmod),
    "f_modulo": _numeric(remainder, np.fmod),
    "^": [pointwise("^", "int, int -> int", power), pointwise("^", "float, float -> float", float_power)],
    "neg": [*_numeric(negate, np.negative, 1), *DURATIONS["neg"]],
    "abs": _numeric(_absolute, np.abs, 1),
    "band": _bits(np.bitwise_and),
    "bor": _bits(np.bitwise_or),
    "bxor": _bits(np.bitwise_xor),
    "bnot": _bits(np.invert, 1),
    "bshl": _bits(lambda left, right: np.left_shift(left, right & 63)),
    "bshr": _bits(lambda left, right: np.right_shift(left, right & 63)),
    "bshru": _bits(_shift_right_unsigned),
    "land": _bits(lambda left, right: (left != 0) & (right != 0)),
    "lor": _bits(lambda left, right: (left != 0) | (right != 0)),
    "lxor": _bits(lambda left, right: (left != 0) ^ (right != 0)),
    "lnot": _bits(lambda value: value == 0, 1),
    "min": _MIN,
    "max": _MAX,
    "f_min": _MIN,
    "f_max": _MAX,
    "unlabelled": [vectorised("T -> T", lambda columns, types, result, codec: columns[0])],
    "sqrt": [vectorised("float -> float", _on_floats(np.sqrt))],
    "floor": _rounding("floor", math.floor),
    "ceil": _rounding("ceil", math.ceil),
    "round": _rounding("round", round),
}
