"""Functions of days, times and durations. Their sums and differences are in `durations`.

Text is read as ISO 8601, see `forms`; a time without an offset is one in UTC. A timestamp becomes one without a zone,
and back, by what a clock in UTC shows.

>>> parse_timestamp("2024-02-29 12:30:00+02:00")
datetime.datetime(2024, 2, 29, 10, 30, tzinfo=datetime.timezone.utc)
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from headwater.values.forms import (
    parse_binary,
    parse_date,
    parse_interval,
    parse_months,
    parse_time,
    parse_timestamp,
    parse_timestamp_ntz,
)
from headwater.values.nanosecond import UTC
from headwater.values.record import Months
from headwater.values.signatures import Overload, pointwise

_MOMENTS = ("timestamp", "timestamp_ntz", "timestamp_ns", "timestamp_ntz_ns")


def _plain(moment: datetime.datetime, zone: datetime.timezone | None) -> datetime.datetime:
    """The moment in whole microseconds, with the zone or without one."""
    return datetime.datetime.combine(moment.date(), moment.time(), zone)


def _midnight(zone: datetime.timezone | None) -> Callable[[datetime.date], datetime.datetime]:
    return lambda day: datetime.datetime(day.year, day.month, day.day, tzinfo=zone)


def _part(name: str, types: tuple[str, ...]) -> list[Overload]:
    def part(value: Any) -> int:
        return int(getattr(value, name))

    return [pointwise(name, f"{type} -> int", part) for type in types]


def _microseconds(parse: Callable[[str], datetime.datetime]) -> Callable[[str], datetime.datetime]:
    def read(text: str) -> datetime.datetime:
        moment = parse(text)
        if getattr(moment, "nanosecond", 0):
            raise ValueError("it is not a whole number of microseconds")
        return _plain(moment, UTC if moment.tzinfo is not None else None)

    return read


def _instants(name: str, zone: datetime.timezone | None, parse: Callable[[str], Any]) -> list[Overload]:
    """The ways to a timestamp with or without a zone; what is below a microsecond is dropped."""
    return [
        pointwise(name, f"string -> {name}", _microseconds(parse)),
        pointwise(name, f"date -> {name}", _midnight(zone)),
        *(pointwise(name, f"{type} -> {name}", lambda moment: _plain(moment, zone)) for type in _MOMENTS),
    ]


MOMENTS: Mapping[str, list[Overload]] = {
    "year": _part("year", ("date", *_MOMENTS)),
    "month": _part("month", ("date", *_MOMENTS)),
    "day": _part("day", ("date", *_MOMENTS)),
    "hour": _part("hour", ("time", *_MOMENTS)),
    "minute": _part("minute", ("time", *_MOMENTS)),
    "second": _part("second", ("time", *_MOMENTS)),
    "date": [
        pointwise("date", "string -> date", parse_date),
        *(pointwise("date", f"{type} -> date", datetime.datetime.date) for type in _MOMENTS),
        pointwise("date", "int, int, int -> date", datetime.date),
    ],
    "time": [
        pointwise("time", "string -> time", parse_time),
        *(pointwise("time", f"{type} -> time", lambda moment: moment.time()) for type in _MOMENTS),
        pointwise("time", "int, int, int -> time", datetime.time),
    ],
    "timestamp": _instants("timestamp", UTC, parse_timestamp),
    "timestamp_ntz": _instants("timestamp_ntz", None, parse_timestamp_ntz),
    "interval": [
        pointwise("interval", "string -> interval", parse_interval),
        pointwise("interval", "int -> interval", lambda count: datetime.timedelta(microseconds=count)),
    ],
    "interval_months": [
        pointwise("interval_months", "string -> interval_months", parse_months),
        pointwise("interval_months", "int -> interval_months", Months),
    ],
    "binary": [
        pointwise("binary", "string -> binary", parse_binary),
    ],
}
