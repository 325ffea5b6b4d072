"""Intervals of a ring: NDlog's `K in (N, S]`, as Chord has them (Loo et al. 2005).

Identifiers lie on a circle. One is in the interval from `low` to `high` if it is met on the way from `low` upwards,
past the greatest and on from the least, to `high`. Round brackets leave an end out. From an identifier to itself
the way leads once round the whole ring.

>>> [key for key in range(8) if in_ring(key, 6, 2, "(]")]
[0, 1, 2, 7]
>>> [key for key in range(8) if in_ring(key, 2, 6, "[)")]
[2, 3, 4, 5]
>>> in_ring(3, 3, 3, "(]"), in_ring(3, 3, 3, "()"), in_ring(5, 3, 3, "()")
(True, False, True)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.values.keys import order_key
from headwater.values.signatures import Overload, pointwise

ENDS = ("()", "(]", "[)", "[]")
"""Whether the ends belong to an interval, as it is written."""


def in_ring(key: Any, low: Any, high: Any, ends: str) -> bool:
    """Whether `key` is met on the way from `low` to `high`."""
    if ends not in ENDS:
        raise ValueError(f"the ends of an interval are one of {', '.join(ENDS)}")
    if key in (low, high):
        return (key == low and ends[0] == "[") or (key == high and ends[1] == "]")
    first, middle, last = order_key(low), order_key(key), order_key(high)
    if low == high:
        return True
    return bool(first < middle < last) if first < last else bool(first < middle or middle < last)


RING: Mapping[str, list[Overload]] = {
    "in_ring": [pointwise("in_ring", "T, T, T, string -> bool", in_ring)],
}


# ------------------------------------------------------------------ identifiers

BITS = 160
_DIGITS = BITS // 4


def id_plus(left: str | int, right: str | int) -> str:
    """The identifier so many steps on, round the ring of 2^160.

    >>> id_plus("f" * 40, 2), id_minus(id_plus("a" * 40, 5), 5) == "a" * 40
    ('0000000000000000000000000000000000000001', True)
    """
    return id_written(_number(left) + _number(right))


def id_minus(left: str | int, right: str | int) -> str:
    """How far it is from one identifier to another, or the one so many steps before."""
    return id_written(_number(left) - _number(right))


def id_shift(number: str | int, power: int) -> str:
    """A number times a power of 2."""
    if power < 0:
        raise ValueError("the power is negative")
    return id_written(_number(number) << power if power < BITS else 0)


def id_unshift(identifier: str | int, power: int) -> str:
    """An identifier without its last bits.

    >>> id_unshift(id_shift(5, 100), 99) == id_written(10)
    True
    """
    if power < 0:
        raise ValueError("the power is negative")
    return id_written(_number(identifier) >> power)


def _number(value: str | int) -> int:
    if isinstance(value, int):
        return value
    if len(value) != _DIGITS or not all(digit in "0123456789abcdef" for digit in value):
        raise ValueError(f"{value!r} is no identifier of {_DIGITS} hexadecimal digits")
    return int(value, 16)


def id_written(number: int) -> str:
    """A number as an identifier, round the ring.

    >>> id_written(255)
    '00000000000000000000000000000000000000ff'
    """
    return f"{number % (1 << BITS):0{_DIGITS}x}"
