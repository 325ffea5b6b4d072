"""Functions of dates and timestamps. Their sums and differences are in `arithmetic`.

Text is read as ISO 8601: `2024-02-29`, `2024-02-29T12:30:00` or with a blank for the T, with or without a
fraction of the second and an offset; without one the time is UTC.

>>> parse_timestamp("2024-02-29 12:30:00+02:00")
datetime.datetime(2024, 2, 29, 10, 30)
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from headwater.values.scalars import canonical
from headwater.values.signatures import Overload, pointwise
from headwater.values.types import TIMESTAMP

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?(\.([0-9]{1,6}))?(Z|[+-][0-9]{2}:[0-9]{2})?"
)


def parse_date(text: str) -> datetime.date:
    """The date written in `text`."""
    if not _DATE.fullmatch(text):
        raise ValueError("it is not a date like 2024-02-29")
    return datetime.date.fromisoformat(text)


def parse_timestamp(text: str) -> datetime.datetime:
    """The instant written in `text`, in UTC."""
    found = _TIMESTAMP.fullmatch(text)
    if not found or (found[4] and not found[3]) or (found[6] and not found[2]):
        raise ValueError("it is not a time like 2024-02-29T12:30:00.5+01:00")
    # datetime.fromisoformat before Python 3.11 takes neither Z nor other than 3 or 6 digits of a second.
    fraction = f".{found[5]:0<6}" if found[4] else ""
    offset = "+00:00" if found[6] == "Z" else found[6] or ""
    moment = datetime.datetime.fromisoformat(found[1] + (found[2] or "") + fraction + offset)
    plain: datetime.datetime = canonical(moment, TIMESTAMP)
    return plain


def _midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime(day.year, day.month, day.day)


def _part(name: str) -> list[Overload]:
    def part(value: Any) -> int:
        return int(getattr(value, name))

    return [pointwise(name, "date -> int", part), pointwise(name, "timestamp -> int", part)]


MOMENTS: Mapping[str, list[Overload]] = {
    "year": _part("year"),
    "month": _part("month"),
    "day": _part("day"),
    "date": [
        pointwise("date", "string -> date", parse_date),
        pointwise("date", "timestamp -> date", datetime.datetime.date),
        pointwise("date", "int, int, int -> date", datetime.date),
    ],
    "timestamp": [
        pointwise("timestamp", "string -> timestamp", parse_timestamp),
        pointwise("timestamp", "date -> timestamp", _midnight),
    ],
}
