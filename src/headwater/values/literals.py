"""Constants that programs write as a call of one string: `date("2024-01-31")`, `decimal("12.50")`; and floats with
more digits than they keep.

>>> literal(datetime.timedelta(hours=1)), LITERALS["interval"]("PT1H")
('interval("PT1H")', datetime.timedelta(seconds=3600))
>>> literal("a") is None
True
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Mapping
from typing import Any

from headwater.values import forms
from headwater.values.record import Months

LITERALS: Mapping[str, Callable[[str], Any]] = {
    "date": forms.parse_date,
    "time": forms.parse_time,
    "timestamp": forms.parse_timestamp,
    "timestamp_ntz": forms.parse_timestamp_ntz,
    "interval": forms.parse_interval,
    "interval_months": forms.parse_months,
    "decimal": forms.parse_decimal,
    "binary": forms.parse_binary,
}
"""How the string of each is read; raises `ValueError` with words for the user."""


class WrittenFloat(float):
    """A float that is written with more digits than it keeps; they count where a decimal is expected.

    >>> WrittenFloat("0.12345678901234567890"), float(WrittenFloat("0.12345678901234567890"))
    (0.12345678901234567890, 0.12345678901234568)
    """

    digits: decimal.Decimal

    def __new__(cls, text: str | decimal.Decimal) -> WrittenFloat:
        """The nearest float, with the digits."""
        made = super().__new__(cls, text)
        made.digits = decimal.Decimal(text)
        return made

    def __repr__(self) -> str:
        return str(self.digits)

    def __eq__(self, other: object) -> bool:
        return self.digits == other.digits if isinstance(other, WrittenFloat) else float(self) == other

    def __hash__(self) -> int:
        return float.__hash__(self)

    def __neg__(self) -> WrittenFloat:
        return WrittenFloat(self.digits.copy_negate())


_CLASSES: tuple[tuple[type, str], ...] = (
    (datetime.datetime, "timestamp"), (datetime.date, "date"), (datetime.time, "time"),
    (datetime.timedelta, "interval"), (Months, "interval_months"), (decimal.Decimal, "decimal"), (bytes, "binary"),
)  # fmt: skip


def literal_name(value: object) -> str | None:
    """The name of the call that a value is written as; `None` for values that are written otherwise."""
    for kind, name in _CLASSES:
        if isinstance(value, kind):
            without_zone = isinstance(value, datetime.datetime) and value.tzinfo is None
            return "timestamp_ntz" if without_zone else name
    return None


def literal(value: object) -> str | None:
    """A value as a call; `None` for values that are written otherwise."""
    name = literal_name(value)
    return None if name is None else f'{name}("{forms.form(value)}")'
