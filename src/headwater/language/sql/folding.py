"""Constant expressions as constants: `DATE '1994-01-01' + INTERVAL '1' YEAR` is a date, `0.06 - 0.01` a decimal.

Only what every system computes alike: sums, differences and products of ints and decimals, dates and intervals.

>>> import datetime
>>> from headwater.language.sql.scalars import Function
>>> from headwater.values.record import Months
>>> from headwater.values.types import DATE, INTERVAL_MONTHS
>>> parts = (Value(datetime.date(2024, 1, 31), DATE), Value(Months(1), INTERVAL_MONTHS))
>>> str(folded(Function("add", parts, DATE)).value)
'2024-02-29'
"""

from __future__ import annotations

import calendar
import datetime
from decimal import Decimal

from headwater.language.sql.algebra import Operator, map_scalars, transform
from headwater.language.sql.inference import type_of
from headwater.language.sql.scalars import Function, Scalar, Value, transform_scalar
from headwater.values.record import Months


def fold_constants(plan: Operator) -> Operator:
    """The plan with constant expressions computed."""
    return transform(plan, lambda operator: map_scalars(operator, folded))


def folded(scalar: Scalar) -> Scalar:
    """A scalar with its constant parts computed."""
    return transform_scalar(scalar, _computed)


def _computed(scalar: Scalar) -> Scalar:
    match scalar:
        case Function(
            name="add" | "subtract" | "multiply" as name, arguments=(Value() as left, Value() as right)
        ):
            value = _result(name, left.value, right.value)
            return scalar if value is None else Value(value, type_of(scalar), scalar.place)
        case _:
            return scalar


def _result(name: str, left: object, right: object) -> object:
    """What a function gives; `None` where it is left to the system."""
    if _is_exact(left) and _is_exact(right):
        if name == "multiply":
            return left * right  # type: ignore[operator]
        return left + right if name == "add" else left - right  # type: ignore[operator]
    if name == "multiply" or type(left) is not datetime.date:
        return None
    sign = 1 if name == "add" else -1
    if isinstance(right, Months):
        return _months_later(left, sign * right.months)
    if isinstance(right, datetime.timedelta) and right == datetime.timedelta(days=right.days):
        return left + sign * right
    return None


def _is_exact(value: object) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _months_later(date: datetime.date, months: int) -> datetime.date | None:
    """The same day so many months later, or the last one of a shorter month."""
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        return None
    last = calendar.monthrange(year, month + 1)[1]
    return datetime.date(year, month + 1, min(date.day, last))
