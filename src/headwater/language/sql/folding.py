"""Constant expressions as constants: `DATE '1994-01-01' + INTERVAL '1' YEAR` is a date, `0.06 - 0.01` a decimal.

Only what every system computes alike: sums, differences and products of ints and decimals, and dates and intervals.
What these make is a date in Spark, and a time at midnight in others: where that is compared with a date or a time,
the date says the same, and elsewhere it is left to the system.

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
from dataclasses import replace
from decimal import Decimal

from headwater.language.sql.algebra import Operator, map_scalars, transform
from headwater.language.sql.inference import type_of
from headwater.language.sql.scalars import (
    Compare,
    Days,
    Function,
    InList,
    Scalar,
    Value,
    transform_scalar,
)
from headwater.values.record import Months
from headwater.values.types import DATE, TIMESTAMP, TIMESTAMP_NTZ


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
            if type_of(scalar) in (DATE, None):
                day = moved_date(scalar)
                if day is not None:
                    return Value(day, DATE, scalar.place)
            value = _result(name, left.value, right.value)
            return scalar if value is None else Value(value, type_of(scalar), scalar.place)
        case Compare(left=left, right=right):
            return replace(scalar, left=_beside_moments(left, right), right=_beside_moments(right, left))
        case InList(argument=argument, items=items):
            return replace(scalar, items=tuple(_beside_moments(item, argument) for item in items))
        case _:
            return scalar


def _beside_moments(scalar: Scalar, other: Scalar) -> Scalar:
    """A scalar that is compared with another one, as the date that it is the midnight of."""
    if not isinstance(scalar, Function) or type_of(other) not in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        return scalar
    day = moved_date(scalar)
    return scalar if day is None else Value(day, DATE, scalar.place)


def moved_date(scalar: Scalar) -> datetime.date | None:
    """The day that a constant date is with intervals of days and months; `None` for everything else."""
    match scalar:
        case Value(value=datetime.date() as day) if not isinstance(day, datetime.datetime):
            return day
        case Function(name="add" | "subtract" as name, arguments=(left, Value(value=span))):
            from_day, sign = moved_date(left), 1 if name == "add" else -1
            if from_day is None:
                return None
            if isinstance(span, Months):
                return _months_later(from_day, sign * span.months)
            return _days_later(from_day, sign * span.days) if isinstance(span, Days) else None
        case _:
            return None


def _result(name: str, left: object, right: object) -> object:
    """What a function of numbers gives; `None` where it is left to the system."""
    if not (_is_exact(left) and _is_exact(right)):
        return None
    if name == "multiply":
        return left * right  # type: ignore[operator]
    return left + right if name == "add" else left - right  # type: ignore[operator]


def _is_exact(value: object) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _days_later(date: datetime.date, days: int) -> datetime.date | None:
    """The day so many days later, if there is a name for it here."""
    try:
        return date + datetime.timedelta(days=days)
    except OverflowError:
        return None


def _months_later(date: datetime.date, months: int) -> datetime.date | None:
    """The same day so many months later, or the last one of a shorter month."""
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        return None
    last = calendar.monthrange(year, month + 1)[1]
    return datetime.date(year, month + 1, min(date.day, last))
