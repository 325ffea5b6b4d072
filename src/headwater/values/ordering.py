"""Which of two values comes first.

Equality is equality of codes, so a test `X = Y` holds exactly where a join on X and Y would meet. The order
is total within each type: numbers by value with NaN above all (and equal to itself), strings by code point,
lists element by element, dates and timestamps by time, false before true. An int and a float compare as the
numbers they are, without rounding either.

>>> from headwater.values.columns import float_codes
>>> big = np.array([2**53 + 1])
>>> compare("=", big, float_codes(np.array([2.0**53])), INT, FLOAT, Codec()).tolist()
[False]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.values.codec import Codec
from headwater.values.columns import floats
from headwater.values.dictionary import Codes
from headwater.values.scalars import is_coded
from headwater.values.signatures import FunctionMismatch
from headwater.values.types import FLOAT, INT, STRING, Type, TypeClash, unify

ORDERED_VALUE = 100
"""About what a string or list takes while it is put in order."""
_FEWEST_REDUCED = 32  # so few codes are not worth reducing to distinct ones
_OPERATORS: dict[str, Callable[[Codes, Codes], NDArray[np.bool_]]] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}  # fmt: skip


def check_comparable(op: str, left: Type | None, right: Type | None) -> None:
    """Raise `FunctionMismatch` unless values of these types can be compared."""
    if op not in _OPERATORS:
        raise FunctionMismatch(f"there is no comparison {op}")
    if {left, right} == {INT, FLOAT}:
        return
    try:
        unify(left, right)
    except TypeClash:
        raise FunctionMismatch(f"{left} {op} {right} compares values of different types") from None


def compare(
    op: str, left: Codes, right: Codes, left_type: Type, right_type: Type, codec: Codec
) -> NDArray[np.bool_]:
    """Where `left op right` holds, row by row; either side may be a single row."""
    check_comparable(op, left_type, right_type)
    if left_type.name != right_type.name:
        if left_type == INT:
            sign = _int_to_float(left, floats(right))
        else:
            sign = -_int_to_float(right, floats(left))
        return _holds(op, sign, np.zeros(1, dtype=np.int64))
    if op not in ("=", "!="):
        left, right = order_keys([left, right], left_type, codec)
    return _holds(op, left, right)


def _holds(op: str, left: Codes, right: Codes) -> NDArray[np.bool_]:
    return _OPERATORS[op](left, right)


def _int_to_float(ints: Codes, numbers: NDArray[np.float64]) -> Codes:
    """-1, 0 or 1 as the int is below, equal to or above the float; NaN is above all."""
    ints, numbers = np.broadcast_arrays(ints, numbers)
    above = np.isnan(numbers) | (numbers >= 2.0**63)
    below = numbers < -(2.0**63)
    inside = np.where(above | below, 0.0, numbers)
    floor = np.floor(inside)
    whole = floor.astype(np.int64)
    sign = np.sign(np.where(ints == whole, np.where(inside > floor, -1, 0), np.where(ints < whole, -1, 1)))
    return np.where(above, -1, np.where(below, 1, sign)).astype(np.int64)


def order_keys(columns: Sequence[Codes], type: Type, codec: Codec) -> list[Codes]:
    """For each column of codes of one type, ints in the same order as the values.

    Keys of strings and lists are ranks among the values given: they mean nothing outside this call.

    >>> codec = Codec()
    >>> codes = codec.strings.encode(["pear", "fig", "plum"])
    >>> order_keys([codes], STRING, codec)[0].tolist()
    [1, 0, 2]
    """
    if type == FLOAT:
        # The bits of positive floats are in order; those of negative ones in reverse. NaN is above infinity.
        return [column ^ ((column >> 63) & np.int64(2**63 - 1)) for column in columns]
    if not is_coded(type):
        return list(columns)
    length = sum(map(len, columns))
    codec.budget.ask(ORDERED_VALUE * length, f"putting {length:,} strings or lists in order")
    codes = np.concatenate(columns)
    if len(codes) <= _FEWEST_REDUCED:
        distinct, places = codes, np.arange(len(codes))
    else:
        distinct, places = np.unique(codes, return_inverse=True)
    values = codec.decode_column(distinct, type)
    if type != STRING:
        values = list(map(_list_key, values))
    rank = {value: place for place, value in enumerate(sorted(set(values)))}
    ranks = np.array([rank[value] for value in values], dtype=np.int64)[places.reshape(-1)]
    ends = np.cumsum([len(column) for column in columns])
    return [ranks[end - len(column) : end] for column, end in zip(columns, ends.tolist(), strict=True)]


def _list_key(value: Any) -> Any:
    """A key that is comparable whatever the leaves are, with NaN above all numbers."""
    if isinstance(value, tuple):
        return tuple(map(_list_key, value))
    if isinstance(value, float) and value != value:
        return (_kind(value), 1, 0.0)
    return (_kind(value), 0, value)


def _kind(value: object) -> str:
    return "number" if isinstance(value, (int, float)) else type(value).__name__
