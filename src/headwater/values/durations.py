"""Sums and differences of times and durations.

A date plus or minus an int is days away, a timestamp microseconds; the difference of two is an int. An interval is
added to a timestamp or a time of day, which must stay within its day. Months are added as in Spark: to the same day
of another month, or to its last day if there is no such day.

>>> add_months(datetime.date(2024, 1, 31), Months(1)), add_months(datetime.date(2024, 3, 31), Months(-13))
(datetime.date(2024, 2, 29), datetime.date(2023, 2, 28))
"""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headwater.errors import EvaluationError
from headwater.values.codec import Codec
from headwater.values.dictionary import Codes
from headwater.values.exact_ints import add, multiply, negate, subtract
from headwater.values.instants import DAY, FIRST_DAY, FIRST_MICROSECOND, LAST_DAY, LAST_MICROSECOND
from headwater.values.nanosecond import MICROSECOND
from headwater.values.record import Months
from headwater.values.signatures import Overload, Vectorised, pointwise, vectorised
from headwater.values.types import Type

_RANGES: Mapping[str, tuple[int, int, str]] = {
    "date": (FIRST_DAY, LAST_DAY, "outside the years 1 to 9999"),
    "timestamp": (FIRST_MICROSECOND, LAST_MICROSECOND, "outside the years 1 to 9999"),
    "timestamp_ntz": (FIRST_MICROSECOND, LAST_MICROSECOND, "outside the years 1 to 9999"),
    "time": (0, DAY - 1, "outside of its day"),
    "interval_months": (-(2**31), 2**31 - 1, "of more than 32 bits"),
}


def _on_counts(function: Callable[..., Any], scale: int = 1) -> Vectorised:
    """Run on what the codes count; the last argument counts `scale` times as much."""

    def run(columns: Sequence[Codes], types: Sequence[Type], result: Type, codec: Codec) -> Codes:
        counts = [codec.specials.numbers(column) for column in columns]
        if scale > 1:
            counts[-1] = multiply(counts[-1], np.array([scale], np.int64))
        found = np.asarray(function(*counts), dtype=np.int64)
        first, last, words = _RANGES.get(result.name, (-(2**63), 2**63 - 1, ""))
        if words and found.size and (found.min() < first or found.max() > last):
            raise EvaluationError("overflow", f"a {result} {words} was computed")
        return codec.specials.int_codes(found)

    return run


def _divide(interval: datetime.timedelta, by: int) -> datetime.timedelta:
    if by == 0:
        raise EvaluationError("division-by-zero", f"{interval} / 0", hint="keep zero divisors out: D != 0")
    micros = interval // MICROSECOND
    whole = abs(micros) // abs(by)
    return datetime.timedelta(microseconds=whole if (micros < 0) == (by < 0) else -whole)


def add_months(moment: Any, months: Months) -> Any:
    """The same day so many months later; the last of the month if it has no such day."""
    year, month = divmod(12 * moment.year + moment.month - 1 + months.months, 12)
    if not 1 <= year <= 9999:
        raise EvaluationError("overflow", f"{moment} + {months} is outside the years 1 to 9999")
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


def _less_months(moment: Any, months: Months) -> Any:
    return add_months(moment, Months(-months.months))


def _sums(op: str, function: Callable[..., Any]) -> list[Overload]:
    """`moment op duration`, and for sums the other way round."""
    ways = [("date", "int", 1)]
    ways += [(name, "int", 1) for name in ("timestamp", "timestamp_ntz", "timestamp_ns", "timestamp_ntz_ns")]
    ways += [(name, "interval", 1) for name in ("timestamp", "timestamp_ntz", "time", "interval")]
    ways += [(name, "interval", 1000) for name in ("timestamp_ns", "timestamp_ntz_ns")]
    ways += [("interval_months", "interval_months", 1)]
    found = []
    for moment, duration, scale in ways:
        found.append(vectorised(f"{moment}, {duration} -> {moment}", _on_counts(function, scale)))
        if op == "+" and moment != duration and scale == 1:
            found.append(vectorised(f"{duration}, {moment} -> {moment}", _on_counts(function)))
    by_months = add_months if op == "+" else _less_months
    for name in ("date", "timestamp", "timestamp_ntz"):
        found.append(pointwise(op, f"{name}, interval_months -> {name}", by_months))
    return found


def _differences() -> list[Overload]:
    names = ("date", "time", "timestamp", "timestamp_ntz", "timestamp_ns", "timestamp_ntz_ns")
    return [vectorised(f"{name}, {name} -> int", _on_counts(subtract)) for name in names]


DURATIONS: Mapping[str, list[Overload]] = {
    "+": _sums("+", add),
    "-": [*_sums("-", subtract), *_differences()],
    "*": [
        vectorised(f"{left}, {right} -> {name}", _on_counts(multiply))
        for name in ("interval", "interval_months")
        for left, right in ((name, "int"), ("int", name))
    ],
    "/": [pointwise("/", "interval, int -> interval", _divide)],
    "neg": [vectorised(f"{name} -> {name}", _on_counts(negate)) for name in ("interval", "interval_months")],
}
