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

    Comparing, moving by a `timedelta`, `replace` and `astimezone` keep the nanoseconds. The difference of two is
    a `timedelta`, which has none. What a database gives is in UTC, or has no zone.
    """

    nanosecond: int = 0

    @classmethod
    def of(cls, value: datetime.datetime) -> NanosecondDatetime:
        """A datetime, which may be a pandas Timestamp, with the nanoseconds it has."""
        made = cls.combine(value.date(), value.time(), value.tzinfo)
        made.nanosecond = getattr(value, "nanosecond", 0)
        return made

    @classmethod
    def at(cls, nanoseconds: int, tzinfo: datetime.tzinfo | None = None) -> NanosecondDatetime:
        """The time so many nanoseconds after the start of 1970, which began in UTC if there is a zone."""
        moment = EPOCH + (nanoseconds // 1000) * MICROSECOND
        if tzinfo is not None:
            moment = moment.replace(tzinfo=UTC).astimezone(tzinfo)
        return cls._with(moment, nanoseconds % 1000)

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds since the start of 1970, of the wall clock or in UTC."""
        plain = datetime.datetime.combine(self.date(), self.time()) - (
            self.utcoffset() or datetime.timedelta(0)
        )
        return ((plain - EPOCH) // MICROSECOND) * 1000 + self.nanosecond

    def isoformat(self, *args: Any, **kwargs: Any) -> str:
        """ISO 8601 with nine digits of a second."""
        written = super().isoformat(timespec="microseconds")
        below = len("1970-01-01T00:00:00.000000")
        return f"{written[:below]}{self.nanosecond:03d}{written[below:]}"

    def replace(self, *args: Any, **kwargs: Any) -> NanosecondDatetime:
        """The same time with other parts, as for a datetime; also with another `nanosecond`."""
        nanosecond = kwargs.pop("nanosecond", self.nanosecond)
        return self._with(super().replace(*args, **kwargs), nanosecond)

    def astimezone(self, tz: datetime.tzinfo | None = None) -> NanosecondDatetime:
        """The same instant as clocks of another zone show it."""
        return self._with(super().astimezone(tz), self.nanosecond)

    def __add__(self, other: datetime.timedelta) -> NanosecondDatetime:
        found = super().__add__(other)
        return self._with(found, self.nanosecond) if isinstance(found, datetime.datetime) else found

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        found = super().__sub__(other)
        return self._with(found, self.nanosecond) if isinstance(found, datetime.datetime) else found

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

    @classmethod
    def _with(cls, moment: datetime.datetime, nanosecond: int) -> NanosecondDatetime:
        """What a datetime's method gave, with nanoseconds again."""
        made = cls.of(moment)
        made.nanosecond = nanosecond
        return made

    def _below(self, other: object) -> int:
        return self.nanosecond - int(getattr(other, "nanosecond", 0))
