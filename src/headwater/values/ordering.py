"""Which of two values comes first.

Equality is equality of codes, so a test `X = Y` holds exactly where a join on X and Y would meet. The order
is total within each type: numbers by value with NaN above all (and equal to itself), strings by code point,
lists element by element, dates and timestamps by time, false before true. An int and a float compare as the
numbers they are, without rounding either; so do decimals beside either of them, and decimals of different scales.

A null is equal to itself and to nothing else. It is neither below nor above anything: `<`, `<=`, `>` and `>=` do not
hold where one side is null. Where rows are put in order, nulls come after all values, and labelled nulls after them
by their text.

>>> from headwater.values.special import NULL
>>> from headwater.values.types import FLOAT, INT
>>> codec = Codec()
>>> big, near = np.array([2**53 + 1]), codec.encode_column([2.0**53], FLOAT)
>>> compare("=", big, near, INT, FLOAT, codec).tolist(), compare(">", big, near, INT, FLOAT, codec).tolist()
([False], [True])
>>> null = np.array([NULL])
>>> compare("=", null, null, INT, FLOAT, codec).tolist(), compare("<=", null, null, INT, INT, codec).tolist()
([True], [False])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.values.codec import Codec
from headwater.values.columns import floats
from headwater.values.dictionary import Codes
from headwater.values.keys import order_key
from headwater.values.scalars import is_coded
from headwater.values.signatures import FunctionMismatch
from headwater.values.special import (
    FIRST,
    MOST_COMPARED_SINGLY,
    NULL_KEY,
    LabelledNull,
    float_keys,
    has_special,
    is_special,
)
from headwater.values.types import FLOAT, STRING, Type, TypeClash, unify

ORDERED_VALUE = 100
"""About what a string or list takes while it is put in order."""
_FEWEST_REDUCED = 32  # so few codes are not worth reducing to distinct ones
_OPERATORS: dict[str, Callable[[Codes, Codes], NDArray[np.bool_]]] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}  # fmt: skip
_NUMBERS = {"int", "float", "decimal"}
_INT_AND_FLOAT = {"int", "float"}


_ORDERS = ("<", "<=", ">", ">=")


def check_comparable(op: str, left: Type | None, right: Type | None) -> None:
    """Raise `FunctionMismatch` unless values of these types can be compared."""
    if op not in _OPERATORS and op[1:] not in _ORDERS:
        raise FunctionMismatch(f"there is no comparison {op}")
    if left is right or left is not None and right is not None and {left.name, right.name} <= _NUMBERS:
        return
    try:
        unify(left, right)
    except TypeClash:
        raise FunctionMismatch(f"{left} {op} {right} compares values of different types") from None


def compare(
    op: str, left: Codes, right: Codes, left_type: Type | None, right_type: Type | None, codec: Codec
) -> NDArray[np.bool_]:
    """Where `left op right` holds, row by row; either side may be a single row. Without a type all codes are null."""
    check_comparable(op, left_type, right_type)
    if op[1:] in _ORDERS:  # `!<` holds where `<` does not, as of nulls
        return ~compare(op[1:], left, right, left_type, right_type, codec)
    equality = op in ("=", "!=")
    if left_type is None or right_type is None or _same(left_type, right_type) and equality:
        return _holds(op, left, right) if equality else np.zeros(np.broadcast(left, right).shape, bool)
    special = has_special(left) or has_special(right)
    nulls = codec.specials.nulls(left) | codec.specials.nulls(right) if special else None
    if _same(left_type, right_type):
        keys = _around_specials if special else _plain_keys
        holds = _holds(op, *keys([left, right], left_type, codec))
    else:
        holds = _holds(
            op, _mixed_sign(left, right, left_type, right_type, codec), np.zeros(1, dtype=np.int64)
        )
    if nulls is not None:
        holds = np.where(nulls, _holds(op, left, right) if equality else False, holds)
    return holds


def _same(left: Type, right: Type) -> bool:
    """Whether codes of both types mean the same."""
    return left.name == right.name and left.scale == right.scale


def _mixed_sign(left: Codes, right: Codes, left_type: Type, right_type: Type, codec: Codec) -> Codes:
    """-1, 0 or 1 as the left is below, equal to or above the right, where they are numbers of different types."""
    if {left_type.name, right_type.name} == _INT_AND_FLOAT:
        compared = _few_int_to_float if max(left.size, right.size) <= MOST_COMPARED_SINGLY else _int_to_float
        if left_type.name == "int":
            return compared(codec.specials.numbers(left), floats(right, codec.specials))
        return -compared(codec.specials.numbers(right), floats(left, codec.specials))
    rows = np.broadcast_arrays(left, right)
    pairs = zip(
        codec.decode_column(rows[0], left_type), codec.decode_column(rows[1], right_type), strict=True
    )
    return np.fromiter((_sign(a, b) for a, b in pairs), np.int64, len(rows[0]))


def _sign(left: Any, right: Any) -> int:
    """Exactly, as Python compares ints, floats and decimals; NaN is above all, and nulls do not count."""
    if left is None or right is None or isinstance(left, LabelledNull) or isinstance(right, LabelledNull):
        return 0
    if left != left or right != right:
        return int(left != left) - int(right != right)
    return int(left > right) - int(left < right)


def _holds(op: str, left: Codes, right: Codes) -> NDArray[np.bool_]:
    return _OPERATORS[op](left, right)


def _few_int_to_float(ints: Codes, numbers: NDArray[np.float64]) -> Codes:
    """What `_int_to_float` does, one after another."""
    few, others = ints.tolist(), numbers.tolist()
    few, others = (few * len(others), others) if len(few) == 1 else (few, others)
    others = others * len(few) if len(others) == 1 else others
    return np.array([_sign(one, other) for one, other in zip(few, others, strict=True)], np.int64)


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

    Keys of strings and lists, and of wide numbers, are ranks among the values given: they mean nothing outside this
    call. Nulls come last.

    >>> codec = Codec()
    >>> codes = codec.strings.encode(["pear", "fig", "plum"])
    >>> order_keys([codes], STRING, codec)[0].tolist()
    [1, 0, 2]
    """
    keys = _around_specials if any(map(has_special, columns)) else _plain_keys
    return keys(columns, type, codec)


def _plain_keys(columns: Sequence[Codes], type: Type, codec: Codec) -> list[Codes]:
    """Keys where no code is special."""
    if type == FLOAT:
        return list(map(float_keys, columns))
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
        values = list(map(order_key, values))
    rank = {value: place for place, value in enumerate(sorted(set(values)))}
    ranks = np.array([rank[value] for value in values], dtype=np.int64)[places.reshape(-1)]
    ends = np.cumsum([len(column) for column in columns])
    return [ranks[end - len(column) : end] for column, end in zip(columns, ends.tolist(), strict=True)]


def _around_specials(columns: Sequence[Codes], type: Type, codec: Codec) -> list[Codes]:
    """Keys where some codes are special: wide numbers are below or above all plain ones, nulls above everything."""
    codes = np.concatenate(columns)
    special = is_special(codes)
    keys = np.empty(len(codes), np.int64)
    keys[~special] = _plain_keys([codes[~special]], type, codec)[0]
    distinct, places = np.unique(codes[special], return_inverse=True)
    keys[special] = _special_keys(distinct, codec)[places.reshape(-1)]
    ends = np.cumsum([len(column) for column in columns])
    return [keys[end - len(column) : end] for column, end in zip(columns, ends.tolist(), strict=True)]


def _special_keys(codes: Codes, codec: Codec) -> Codes:
    """A key for each of these distinct special codes, by which nulls are in order too."""
    keys = codec.specials.keys()[codes - FIRST]
    nulls = np.flatnonzero(keys == NULL_KEY)
    texts = [str(entry) if entry is not None else "" for entry in codec.specials.decode(codes[nulls])]
    for rank, place in enumerate(sorted(range(len(texts)), key=texts.__getitem__)):
        keys[nulls[place]] = NULL_KEY + 1 - len(texts) + rank
    return keys
