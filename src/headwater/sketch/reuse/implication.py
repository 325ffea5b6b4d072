"""When one condition implies another of the same shape: `v > 5` implies `v > 3`.

Conditions are compared part by part, so what differs are constants of comparisons and lists. Strings are never
told to be in order: what comes after what is up to the system's collation.
"""

from __future__ import annotations

import datetime
from decimal import Decimal

from headwater.language.sql.scalars import (
    FLIPPED,
    OPPOSITE,
    And,
    Compare,
    InList,
    Not,
    Or,
    Scalar,
    Value,
)


def implies(stricter: Scalar, looser: Scalar) -> bool:
    """Whether a condition is true only where the other is; `False` where that is not known."""
    if stricter == looser:
        return True
    match stricter, looser:
        case (And(parts=some), And(parts=others)) | (Or(parts=some), Or(parts=others)):
            return len(some) == len(others) and all(map(implies, some, others))
        case Compare(), Compare():
            return _compared(stricter, looser)
        case Not(argument=Compare() as one), Not(argument=Compare() as other):
            if one.operator not in OPPOSITE or other.operator not in OPPOSITE:
                return False
            return _compared(
                Compare(OPPOSITE[one.operator], one.left, one.right),
                Compare(OPPOSITE[other.operator], other.left, other.right),
            )
        case InList(argument=one, items=some), InList(argument=other, items=others):
            return one == other and all(item in others for item in some)
        case _:
            return False


def _compared(stricter: Compare, looser: Compare) -> bool:
    if isinstance(stricter.left, Value):
        stricter = Compare(FLIPPED[stricter.operator], stricter.right, stricter.left)
    if isinstance(looser.left, Value):
        looser = Compare(FLIPPED[looser.operator], looser.right, looser.left)
    if (stricter.operator, stricter.left) != (looser.operator, looser.left):
        return False
    if not isinstance(stricter.right, Value) or not isinstance(looser.right, Value):
        return stricter.right == looser.right
    return _bounded(stricter.operator, stricter.right.value, looser.right.value)


def _bounded(operator: str, value: object, other: object) -> bool:
    """Whether a bound is at least as strict as another."""
    if not _ordered(value, other):
        return False
    if operator in (">", ">="):
        return bool(value >= other)  # type: ignore[operator]
    if operator in ("<", "<="):
        return bool(value <= other)  # type: ignore[operator]
    return value == other


def _ordered(value: object, other: object) -> bool:
    """Whether two constants are in an order that all systems agree on."""
    number = int | float | Decimal
    if isinstance(value, number) and isinstance(other, number):
        return (
            not isinstance(value, bool) and not isinstance(other, bool) and value == value and other == other
        )
    if isinstance(value, datetime.datetime) and isinstance(other, datetime.datetime):
        return (value.utcoffset() is None) == (other.utcoffset() is None)
    return type(value) is type(other) and isinstance(value, datetime.date)
