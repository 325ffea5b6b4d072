"""Days, times and durations: their canonical forms and their codes.

A date is the days since 1970, a timestamp the microseconds (or nanoseconds) since then, a time of day those since
midnight, an interval its microseconds, a year-month interval its months. A timestamp is an instant: its canonical
form is a datetime in UTC, and one without a zone is taken as one in UTC. A `timestamp_ntz` is what a clock on some
wall shows: a datetime without a zone, and one with a zone is refused.

>>> moment_code(datetime.time(0, 0, 1), TIME), moment_value(1_000_000, TIME)
(1000000, datetime.time(0, 0, 1))
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np

from headwater.values.misfit import Misfit, wrong
from headwater.values.nanosecond import EPOCH, MICROSECOND, UTC, NanosecondDatetime
from headwater.values.record import Months
from headwater.values.types import (
    DATE,
    INTERVAL,
    INTERVAL_MONTHS,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMP_NTZ,
    TIMESTAMP_NTZ_NS,
    Type,
)

EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
EPOCH_UTC = EPOCH.replace(tzinfo=UTC)
FIRST_DAY, LAST_DAY = datetime.date.min.toordinal() - EPOCH_DAY, datetime.date.max.toordinal() - EPOCH_DAY
DAY = 86_400_000_000
FIRST_MICROSECOND, LAST_MICROSECOND = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1
_DECLARE = {
    "timestamp": "declare the column timestamp_ns",
    "timestamp_ntz": "declare the column timestamp_ntz_ns",
}


def plain_moment(value: np.datetime64 | np.timedelta64) -> Any:
    """A value of numpy's as Python's own."""
    unit = np.datetime_data(value.dtype)[0]
    if isinstance(value, np.timedelta64):
        micro = value.astype("timedelta64[us]")
        if micro.astype(value.dtype) != value:
            raise Misfit(f"{value} is not a whole number of microseconds")
        return datetime.timedelta(microseconds=int(micro.astype(np.int64)))
    if unit in ("Y", "M", "W", "D"):
        return value.astype("datetime64[D]").item()
    if unit in ("ns", "ps", "fs", "as"):
        nano = value.astype("datetime64[ns]")
        if nano.astype(value.dtype) != value:
            raise Misfit(f"{value} is not a whole number of nanoseconds")
        count = int(nano.astype(np.int64))
        if count % 1000:
            return NanosecondDatetime.at(count)
    moment = value.astype("datetime64[us]").item()
    if not isinstance(moment, datetime.datetime):
        raise Misfit("it is outside the years 1 to 9999")
    return moment


def _of_text(value: object, kind: str) -> str | None:
    """How a text becomes what is needed."""
    return f"make it one: datetime.{kind}.fromisoformat({value!r})" if isinstance(value, str) else None


def _date(value: Any, _: Type) -> datetime.date:
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        hint = "take its .date()" if isinstance(value, datetime.datetime) else _of_text(value, "date")
        raise wrong(value, hint)
    return datetime.date(value.year, value.month, value.day)


def _time(value: Any, _: Type) -> datetime.time:
    if not isinstance(value, datetime.time):
        hint = "take its .time()" if isinstance(value, datetime.datetime) else _of_text(value, "time")
        raise wrong(value, hint)
    if value.tzinfo is not None:
        raise Misfit(
            f"{value} has a zone", hint="a time of day has none: take it off with .replace(tzinfo=None)"
        )
    return datetime.time(value.hour, value.minute, value.second, value.microsecond)


def _timestamp(value: Any, type: Type) -> datetime.datetime:
    if not isinstance(value, datetime.datetime):
        hint = "make it a datetime.datetime" if isinstance(value, datetime.date) else None
        raise wrong(value, hint or _of_text(value, "datetime"))
    below = getattr(value, "nanosecond", 0)  # also pandas.Timestamp
    nanoseconds = type.name.endswith("_ns")
    if below and not nanoseconds:
        raise Misfit(f"{value} is not a whole number of microseconds", hint=_DECLARE[type.name])
    if "ntz" in type.name:
        if value.tzinfo is not None:
            raise Misfit(f"{value} has a zone", hint="declare the column a timestamp, or take the zone off")
        moment = datetime.datetime.combine(value.date(), value.time())
    else:
        moment = _in_utc(value)
    if not nanoseconds:
        return moment
    made = NanosecondDatetime.of(moment)
    made.nanosecond = below
    if not -(2**63) <= made.nanoseconds < 2**63:
        raise Misfit(f"{value} is outside the years 1677 to 2262, which have nanoseconds")
    return made


def _in_utc(value: datetime.datetime) -> datetime.datetime:
    if value.tzinfo is not None:
        try:
            value = value.astimezone(UTC)
        except OverflowError:
            raise Misfit(f"{value} in UTC is outside the years 1 to 9999") from None
    return datetime.datetime.combine(value.date(), value.time(), UTC)


def _interval(value: Any, _: Type) -> datetime.timedelta:
    if not isinstance(value, datetime.timedelta):
        raise wrong(value)
    if getattr(value, "nanoseconds", 0):  # pandas.Timedelta
        raise Misfit(f"{value} is not a whole number of microseconds")
    plain = datetime.timedelta(value.days, value.seconds, value.microseconds)
    if not -(2**63) <= plain // MICROSECOND < 2**63:
        raise Misfit(f"{value} does not fit 64 bits of microseconds")
    return plain


def _months(value: Any, _: Type) -> Months:
    if not isinstance(value, Months):
        raise wrong(value, "give headwater.Months(14)")
    if not -(2**31) <= value.months < 2**31:
        raise Misfit(f"{value} does not fit 32 bits")
    return value


CANONICAL_MOMENTS: dict[str, Callable[[Any, Type], Any]] = {
    "date": _date, "time": _time, "timestamp": _timestamp, "timestamp_ntz": _timestamp, "timestamp_ns": _timestamp,
    "timestamp_ntz_ns": _timestamp, "interval": _interval, "interval_months": _months,
}  # fmt: skip
"""The canonical form of a value, by the name of its type; raises `Misfit`."""


def moment_code(value: Any, type: Type) -> int:
    """The own code of a canonical value of one of these types."""
    return _CODES[type](value)  # type: ignore[no-any-return]


def moment_value(code: int, type: Type) -> Any:
    """The value with this code."""
    return _VALUES[type](code)


def _since_midnight(value: datetime.time) -> int:
    seconds = 3600 * value.hour + 60 * value.minute + value.second
    return 1_000_000 * seconds + value.microsecond


def _of_day(code: int) -> datetime.time:
    seconds, micros = divmod(code, 1_000_000)
    minutes, second = divmod(seconds, 60)
    return datetime.time(minutes // 60, minutes % 60, second, micros)


_CODES: dict[Type, Callable[[Any], Any]] = {
    DATE: lambda value: value.toordinal() - EPOCH_DAY,
    TIME: _since_midnight,
    TIMESTAMP: lambda value: (value - EPOCH_UTC) // MICROSECOND,
    TIMESTAMP_NTZ: lambda value: (value - EPOCH) // MICROSECOND,
    TIMESTAMP_NS: lambda value: value.nanoseconds,
    TIMESTAMP_NTZ_NS: lambda value: value.nanoseconds,
    INTERVAL: lambda value: value // MICROSECOND,
    INTERVAL_MONTHS: lambda value: value.months,
}
_VALUES: dict[Type, Callable[[int], Any]] = {
    DATE: lambda code: datetime.date.fromordinal(code + EPOCH_DAY),
    TIME: _of_day,
    TIMESTAMP: lambda code: EPOCH_UTC + datetime.timedelta(microseconds=code),
    TIMESTAMP_NTZ: lambda code: EPOCH + datetime.timedelta(microseconds=code),
    TIMESTAMP_NS: lambda code: NanosecondDatetime.at(code, UTC),
    TIMESTAMP_NTZ_NS: NanosecondDatetime.at,
    INTERVAL: lambda code: datetime.timedelta(microseconds=code),
    INTERVAL_MONTHS: Months,
}
