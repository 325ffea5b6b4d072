"""The types of decimals under arithmetic and aggregates: precision and scale as Spark has them.

Where these would pass 38 digits, the scale is cut as Spark cuts it, to 6 at the least.

>>> str(product_type(decimal_of(12, 2), decimal_of(5, 3))), str(quotient_type(decimal_of(12, 2), decimal_of(20, 0)))
('decimal(18,5)', 'decimal(33,23)')
>>> str(sum_type(decimal_of(12, 2))), str(average_type(decimal_of(12, 2)))
('decimal(22,2)', 'decimal(16,6)')
"""

from __future__ import annotations

from headwater.values.types import INT, LONG_DIGITS, MOST_DIGITS, Type, decimal_of

LEAST_SCALE = 6
"""So many digits after the point are kept where a result has too many."""


def as_decimal(type: Type) -> Type:
    """The decimal type at which a number stands beside a decimal."""
    return decimal_of(LONG_DIGITS, 0) if type == INT else type


def _adjusted(precision: int, scale: int) -> Type:
    """The type with these digits, cut to 38: what is before the point is kept first."""
    if precision <= MOST_DIGITS:
        return decimal_of(precision, scale)
    before = precision - scale
    return decimal_of(MOST_DIGITS, max(MOST_DIGITS - before, min(scale, LEAST_SCALE)))


def total_type(left: Type, right: Type) -> Type:
    """The type of a sum or difference of two."""
    scale = max(left.scale, right.scale)
    return _adjusted(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def product_type(left: Type, right: Type) -> Type:
    """The type of a product."""
    return _adjusted(left.precision + right.precision + 1, left.scale + right.scale)


def quotient_type(left: Type, right: Type) -> Type:
    """The type of a quotient."""
    scale = max(LEAST_SCALE, left.scale + right.precision + 1)
    return _adjusted(left.precision - left.scale + right.scale + scale, scale)


def remainder_type(left: Type, right: Type) -> Type:
    """The type of a remainder."""
    scale = max(left.scale, right.scale)
    return _adjusted(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def sum_type(type: Type) -> Type:
    """The type of the aggregate `sum`."""
    return decimal_of(min(MOST_DIGITS, type.precision + 10), type.scale)


def average_type(type: Type) -> Type:
    """The type of the aggregate `avg`."""
    return decimal_of(min(MOST_DIGITS, type.precision + 4), min(MOST_DIGITS, type.scale + 4))
