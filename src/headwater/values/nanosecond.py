"""A time with nanoseconds, which Python's own has not.

>>> moment = NanosecondDatetime.at(1_000_000_001)
>>> moment, moment.second, moment.nanosecond, moment.nanoseconds
(NanosecondDatetime('1970-01-01T00:00:01.000000001'), 1, 1, 1000000001)
"""

from __future__ import annotations

import datetime
from typing import Any

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)


class NanosecondDatetime(datetime.datetime):
    """A datetime whose `nanosecond` counts what is below its `microsecond`: 0 to 999.

    Comparing takes the nanoseconds into account; arithmetic gives plain datetimes and drops them. A zone is UTC.
    """

    nanosecond: int

    @classmethod
    def of(cls, value: datetime.datetime) -> NanosecondDatetime:
        """A datetime, which may be a pandas Timestamp, with the nanoseconds it has."""
        made = cls.combine(value.date(), value.time(), value.tzinfo)
        made.nanosecond = getattr(value, "nanosecond", 0)
        return made

    @classmethod
    def at(cls, nanoseconds: int, tzinfo: datetime.tzinfo | None = None) -> NanosecondDatetime:
        """The time so many nanoseconds after the start of 1970."""
        made = cls.of((EPOCH + (nanoseconds // 1000) * MICROSECOND).replace(tzinfo=tzinfo))
        made.nanosecond = nanoseconds % 1000
        return made

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds since the start of 1970, of the wall clock or in UTC."""
        plain = datetime.datetime.combine(self.date(), self.time())
        return ((plain - EPOCH) // MICROSECOND) * 1000 + getattr(self, "nanosecond", 0)

    def isoformat(self, *args: Any, **kwargs: Any) -> str:
        """ISO 8601 with nine digits of a second."""
        offset = "" if self.tzinfo is None else "+00:00"
        return f"{self:%Y-%m-%dT%H:%M:%S}.{1000 * self.microsecond + self.nanosecond:09d}{offset}"

    def __repr__(self) -> str:
        return f"NanosecondDatetime({self.isoformat()!r})"

    def __str__(self) -> str:
        return self.isoformat()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) is True and self._below(other) == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.nanosecond)) if self.nanosecond else super().__hash__()

    def __lt__(self, other: datetime.datetime) -> bool:  # type: ignore[override]
        return super().__lt__(other) or (super().__eq__(other) and self._below(other) < 0)

    def __le__(self, other: datetime.datetime) -> bool:  # type: ignore[override]
        return self < other or self == other

    def __gt__(self, other: datetime.datetime) -> bool:  # type: ignore[override]
        return not self <= other

    def __ge__(self, other: datetime.datetime) -> bool:  # type: ignore[override]
        return not self < other

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return NanosecondDatetime.at, (self.nanoseconds, self.tzinfo)

    def _below(self, other: object) -> int:
        return self.nanosecond - int(getattr(other, "nanosecond", 0))
