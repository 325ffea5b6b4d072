"""Values as texts, and back: what files, programs and `to_string` have in common.

A decimal is written in digits, bytes in hexadecimal, times as ISO 8601 has them, durations too: `P1DT2H30M`, and
`P1Y2M` for months. An instant is written in UTC, without an offset. A text is read exactly or not at all.

>>> form(datetime.timedelta(days=-1, seconds=0.5)), parse_interval("-PT23H59M59.5S")
('-PT23H59M59.5S', datetime.timedelta(days=-1, microseconds=500000))
>>> parse_interval("2 days 3 hours"), parse_months("P1Y2M"), parse_decimal("1e3"), parse_binary("00ff")
(datetime.timedelta(days=2, seconds=10800), Months(14), Decimal('1000'), b'\\x00\\xff')
>>> str(parse_timestamp("2024-02-29 12:30:00+02:00")), str(parse_timestamp_ntz("2024-02-29T12:30:00.000000001"))
('2024-02-29 10:30:00+00:00', '2024-02-29T12:30:00.000000001')
"""

from __future__ import annotations

import datetime
import decimal
import re
from typing import Any

from headwater.values.nanosecond import MICROSECOND, UTC, NanosecondDatetime
from headwater.values.record import FrozenMap, Months, Struct
from headwater.values.types import MOST_DIGITS, decimal_type, field_name

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?(\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_TIME = re.compile(r"([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:\.([0-9]{1,6}))?")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?")
_INTERVAL = re.compile(
    r"(-)?P(?:([0-9]+)W)?(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]{1,6}))?S)?)?"
)
_AMOUNT = re.compile(r"([+-]?[0-9]+) *(week|day|hour|minute|second|millisecond|microsecond)s?(?: +|$)")
_MONTHS = re.compile(r"(-)?P(?:([0-9]+)Y)?(?:([0-9]+)M)?")


def form(value: Any) -> str:
    """A value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(form, value))}]"
    if isinstance(value, Struct):
        return "{" + ", ".join(f"{field_name(name)}: {form(item)}" for name, item in value.items()) + "}"
    if isinstance(value, FrozenMap):
        return "{" + ", ".join(f"{form(key)}: {form(item)}" for key, item in value.items()) + "}"
    if value is None:
        return "null"
    return _plain_form(value)


def _plain_form(value: Any) -> str:
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, NanosecondDatetime):
        return value.isoformat().removesuffix("+00:00")
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return _interval_form(value)
    if isinstance(value, Months):
        years, months = divmod(abs(value.months), 12)
        parts = (f"{years}Y" if years else "") + (f"{months}M" if months or not years else "")
        return f"{'-' if value.months < 0 else ''}P{parts}"
    return str(value)


def _interval_form(value: datetime.timedelta) -> str:
    seconds, micros = divmod(abs(value) // MICROSECOND, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if seconds or fraction or not (days or clock):
        clock += f"{seconds}{fraction}S"
    sign = "-" if value < datetime.timedelta(0) else ""
    return f"{sign}P{f'{days}D' if days else ''}{f'T{clock}' if clock else ''}"


# ------------------------------------------------------------------ back


def parse_date(text: str) -> datetime.date:
    """The date written in `text`."""
    if not _DATE.fullmatch(text):
        raise ValueError("it is not a date like 2024-02-29")
    return datetime.date.fromisoformat(text)


def parse_timestamp(text: str) -> datetime.datetime:
    """The instant written in `text`, in UTC; without an offset it is one in UTC."""
    moment = _moment(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    below = getattr(moment, "nanosecond", None)
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("in UTC it is outside the years 1 to 9999") from None
    return _with_nanosecond(moment, below)


def parse_timestamp_ntz(text: str) -> datetime.datetime:
    """The time on a clock without a zone that is written in `text`."""
    moment = _moment(text)
    if moment.tzinfo is not None:
        raise ValueError("it has a zone: write a time without one, or use timestamp")
    return moment


def _moment(text: str) -> datetime.datetime:
    found = _TIMESTAMP.fullmatch(text)
    if not found or (found[4] and not found[3]) or (found[6] and not found[2]):
        raise ValueError("it is not a time like 2024-02-29T12:30:00.5+01:00")
    # datetime.fromisoformat before Python 3.11 takes neither Z nor other than 3 or 6 digits of a second.
    digits = f"{found[5] or '':0<9}"
    offset = "+00:00" if found[6] == "Z" else found[6] or ""
    fraction = f".{digits[:6]}" if found[4] else ""
    moment = datetime.datetime.fromisoformat(found[1] + (found[2] or "") + fraction + offset)
    return _with_nanosecond(moment, int(digits[6:]) if len(found[5] or "") > 6 else None)


def _with_nanosecond(moment: datetime.datetime, below: int | None) -> datetime.datetime:
    if below is None:
        return moment
    made = NanosecondDatetime.of(moment)
    made.nanosecond = below
    return made


def parse_time(text: str) -> datetime.time:
    """The time of day written in `text`."""
    found = _TIME.fullmatch(text)
    if not found or (found[3] and not found[2]):
        raise ValueError("it is not a time of day like 12:30:00.5")
    return datetime.time.fromisoformat(f"{found[1]}{found[2] or ':00'}.{found[3] or '':0<6}")


def parse_interval(text: str) -> datetime.timedelta:
    """The duration written in `text`: ISO 8601, or words like `2 days 3 hours`."""
    found = _INTERVAL.fullmatch(text)
    if found and any(found.groups()[1:]) and not text.endswith("T"):
        sign, weeks, days, hours, minutes, seconds, fraction = found.groups()
        parts = [int(part or 0) for part in (weeks, days, hours, minutes, seconds, f"{fraction or '':0<6}")]
        names = ("weeks", "days", "hours", "minutes", "seconds", "microseconds")
        return _timedelta(dict(zip(names, parts, strict=True))) * (-1 if sign else 1)
    total, position = datetime.timedelta(0), 0
    while (amount := _AMOUNT.match(text, position)) is not None:
        total += _timedelta({f"{amount[2]}s": int(amount[1])})
        position = amount.end()
    if not position or position < len(text):
        raise ValueError("it is not an interval like P1DT2H30M or 1 day 2 hours")
    return total


def _timedelta(parts: dict[str, int]) -> datetime.timedelta:
    try:
        return datetime.timedelta(**parts)
    except OverflowError:
        raise ValueError("it is too long for an interval") from None


def parse_months(text: str) -> Months:
    """The number of months written in `text`."""
    if text == "PT0S":  # as an interval of nothing is written, where only its type tells of what
        return Months(0)
    found = _MONTHS.fullmatch(text)
    if not found or not (found[2] or found[3]):
        raise ValueError("it is not a number of months like P1Y2M")
    return Months((12 * int(found[2] or 0) + int(found[3] or 0)) * (-1 if found[1] else 1))


def parse_decimal(text: str) -> decimal.Decimal:
    """The decimal number written in `text`, as it is."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError("it is not a decimal number like 12.50")
    value = decimal.Decimal(text)
    if decimal_type(value) is None:
        raise ValueError(f"it has more than {MOST_DIGITS} digits")
    exponent = value.as_tuple().exponent
    return value if isinstance(exponent, int) and exponent <= 0 else decimal.Decimal(int(value))


def parse_binary(text: str) -> bytes:
    """The bytes written in `text` in hexadecimal, with `0x` before it or without."""
    text = text.removeprefix("0x")
    if len(text) % 2 or not re.fullmatch("[0-9a-fA-F]*", text):
        raise ValueError("it is not an even number of hexadecimal digits")
    return bytes.fromhex(text)


def parse_bool(text: str) -> bool:
    """Either of the words."""
    if text not in ("true", "false"):
        raise ValueError("it is neither true nor false")
    return text == "true"
