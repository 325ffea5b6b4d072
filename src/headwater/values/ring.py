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
