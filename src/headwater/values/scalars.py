"""One value at a time: is it of the column's type, what is its canonical form, what is its code?

The canonical form is a plain Python value, the same for all values that the engine must not tell apart:
`-0.0` is `0.0`, every NaN is one object, an aware datetime is the naive one at the same instant in UTC, a
numpy scalar is the Python scalar, a list is a tuple. Nothing is rounded on the way in: an int that no float64
equals does not enter a float column, nor nanoseconds a timestamp column.

>>> canonical([1, 2], list_of(FLOAT))
(1.0, 2.0)
>>> fixed_code(datetime.date(1970, 1, 3), DATE), fixed_value(2, DATE)
(2, datetime.date(1970, 1, 3))
>>> canonical(True, INT)  # doctest: +IGNORE_EXCEPTION_DETAIL
Traceback (most recent call last):
headwater.values.scalars.Misfit: True is a bool
"""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Hashable
from typing import Any

import numpy as np

from headwater.values.special import LAST, LAST_PLAIN, LabelledNull
from headwater.values.types import BOOL, DATE, FLOAT, INT, MOST_LEVELS, STRING, TIMESTAMP, Type, list_of

NAN = float("nan")
NAN_BITS = 0x7FF8000000000000
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
EPOCH = datetime.datetime(1970, 1, 1)
FIRST_DAY, LAST_DAY = datetime.date.min.toordinal() - EPOCH_DAY, datetime.date.max.toordinal() - EPOCH_DAY
DAY = 86_400_000_000
FIRST_MICROSECOND, LAST_MICROSECOND = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1
MICROSECOND = datetime.timedelta(microseconds=1)


class Misfit(Exception):  # noqa: N818
    """A value that its column cannot hold; callers turn it into an error that names the column and row."""

    def __init__(self, reason: str, *, code: str = "wrong-type", hint: str | None = None, row: int = 0):
        """Say what is wrong with the value, and at which row (from 0) of its column it is."""
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.hint = hint
        self.row = row


def null_misfit(row: int = 0) -> Misfit:
    """There is a null where a value is needed."""
    hint = "a column always holds a value: leave such rows out, or put a value of your own in their place"
    return Misfit("there is no value (null)", code="null-value", hint=hint, row=row)


def show(value: object) -> str:
    """A value for an error message, cut where it is long.

    >>> show("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    try:
        text = repr(value)
    except Exception:  # too deep, too many digits, or a class that cannot show itself
        text = f"<{class_name(value)} that cannot be shown>"
    return text if len(text) <= 60 else text[:57] + "..."


def is_coded(type: Type) -> bool:
    """Whether values of this type are positions in a dictionary (strings and lists) rather than bits."""
    return type.name in ("string", "list")


def canonical(value: Any, type: Type) -> Any:
    """The canonical form of `value` in a column of `type`; raises `Misfit` if it does not belong there.

    A missing value is `None`, in a column of any type; so is a labelled null itself. Whether the column takes them
    is for others to say.
    """
    if is_missing(value):
        return None
    if isinstance(value, LabelledNull):
        return canonical_label(value)
    if isinstance(value, np.generic):
        value = _plain(value)
    return _CANONICAL[type.name](value, type)


def is_missing(value: object) -> bool:
    """Whether a Python value says that there is none: `None`, pandas' `NA` and `NaT`, numpy's `NaT`."""
    if value is None:
        return True
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return type(value).__name__ in ("NAType", "NaTType")


def canonical_label(value: LabelledNull) -> LabelledNull:
    """The labelled null with canonical arguments, each of its own type."""
    return LabelledNull(value.function, tuple(map(_argument, value.arguments)))


def _argument(value: Any) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, LabelledNull):
        return canonical_label(value)
    return canonical(value, value_type(value) or INT)


def _plain(value: np.generic) -> Any:
    if isinstance(value, np.datetime64):
        if np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D"):
            return value.astype("datetime64[D]").item()
        micro = value.astype("datetime64[us]")
        if micro.astype(value.dtype) != value:
            raise Misfit(f"{value} is not a whole number of microseconds")
        return micro.item()
    if isinstance(value, np.floating) and value.dtype.itemsize > 8:
        if float(value) != value:
            raise Misfit(f"{value} is not a 64-bit float")
        return float(value)
    return value.item()


def class_name(value: object) -> str:
    """What a value is in Python, with its article: `an int`."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _wrong(value: object, hint: str | None = None) -> Misfit:
    return Misfit(f"{show(value)} is {class_name(value)}", hint=hint)


def _int(value: Any, _: Type) -> int:
    if isinstance(value, decimal.Decimal) and value.is_finite() and value == value.to_integral_value():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(value)
    if not INT_MIN <= value <= INT_MAX:
        raise Misfit(f"{show(value)} does not fit 64 bits")
    return int(value)


def _float(value: Any, _: Type) -> float:
    if isinstance(value, float):
        return canonical_float(float(value))
    if isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool):
        try:
            rounded = float(value)
            if rounded == value:
                return canonical_float(rounded)
        except (ArithmeticError, ValueError):
            pass
        raise Misfit(f"no 64-bit float equals {show(value)}", hint="round it yourself with float()")
    raise _wrong(value)


def canonical_float(value: float) -> float:
    """The one float that stands for `value`: no negative zero, one NaN."""
    return NAN if value != value else value + 0.0


def _string(value: Any, _: Type) -> str:
    if not isinstance(value, str):
        raise _wrong(value, "decode it to str first" if isinstance(value, (bytes, bytearray)) else None)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Misfit(f"{show(value)} is not valid Unicode: it has half of a surrogate pair") from None
    return str(value)


def _bool(value: Any, _: Type) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value)
    return value


def _date(value: Any, _: Type) -> datetime.date:
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        hint = "take its .date()" if isinstance(value, datetime.datetime) else None
        raise _wrong(value, hint)
    return datetime.date(value.year, value.month, value.day)


def _timestamp(value: Any, _: Type) -> datetime.datetime:
    if not isinstance(value, datetime.datetime):
        hint = "make it a datetime.datetime" if isinstance(value, datetime.date) else None
        raise _wrong(value, hint)
    if getattr(value, "nanosecond", 0):  # pandas.Timestamp
        raise Misfit(f"{value} is not a whole number of microseconds")
    if value.tzinfo is not None:
        try:
            value = value.astimezone(datetime.timezone.utc)
        except OverflowError:
            raise Misfit(f"{value} in UTC is outside the years 1 to 9999") from None
    return datetime.datetime.combine(value.date(), value.time())


def _list(value: Any, type: Type) -> tuple[Any, ...]:
    if isinstance(value, np.ndarray):
        value = list(value)
    if not isinstance(value, (list, tuple)):
        raise _wrong(value)
    element = type.element
    if element is None:
        element = common_type(value)
    if element is None:
        element = INT  # there are no elements, or only nulls
    items = tuple(canonical(item, element) for item in value)
    if any(isinstance(item, LabelledNull) for item in items):
        raise Misfit(
            "a list cannot hold a labelled null", hint="put the labelled null in a column of its own"
        )
    return items


_CANONICAL = {
    "int": _int, "float": _float, "string": _string, "bool": _bool, "date": _date, "timestamp": _timestamp,
    "list": _list,
}  # fmt: skip


# ------------------------------------------------------------------ the type of values that came without one


def widen(left: Type | None, right: Type | None) -> Type | None:
    """The type that holds values of both: int and float make float. Raises `Misfit` if there is none.

    >>> str(widen(list_of(INT), list_of(FLOAT)))
    'list[float]'
    """
    if left is None or right is None or left == right:
        return right if left is None else left
    if {left, right} == {INT, FLOAT}:
        return FLOAT
    if left.name == right.name == "list":
        return list_of(widen(left.element, right.element))
    raise Misfit(f"{left} and {right} do not go together")


def value_type(value: Any, levels: int = MOST_LEVELS) -> Type | None:
    """The type of one value, `None` if it is missing or a labelled null; raises `Misfit` for what no column holds."""
    if is_missing(value) or isinstance(value, LabelledNull):
        return None
    if isinstance(value, np.generic):
        value = _plain(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        if not levels:
            raise Misfit(f"lists are nested more than {MOST_LEVELS} levels deep")
        return list_of(common_type(value, levels - 1))
    for kind, type in PYTHON_TYPES:
        if isinstance(value, kind):
            return type
    raise _wrong(value)


def common_type(values: Any, levels: int = MOST_LEVELS) -> Type | None:
    """The type that holds all of `values`; `None` if there are none. Raises `Misfit`, with its `row`."""
    common: Type | None = None
    for row, value in enumerate(values):
        try:
            common = widen(common, value_type(value, levels))
        except Misfit as misfit:
            misfit.row = row
            raise
    return common


PYTHON_TYPES: tuple[tuple[type, Type], ...] = (
    (bool, BOOL), (int, INT), (float, FLOAT), (str, STRING),
    (datetime.datetime, TIMESTAMP), (datetime.date, DATE),
)  # fmt: skip


# ------------------------------------------------------------------ codes


def is_wide(code: int, type: Type) -> bool:
    """Whether a value's own code is not one that a plain value can have, so that it is an entry of the specials."""
    return code <= LAST or (code > LAST_PLAIN and type != FLOAT)


def fixed_code(value: Any, type: Type) -> int:
    """The own code of a canonical value whose type needs no dictionary; see `is_wide`."""
    if type == FLOAT:
        bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
        return NAN_BITS if value != value else bits
    if type == DATE:
        days: int = value.toordinal() - EPOCH_DAY
        return days
    if type == TIMESTAMP:
        microseconds: int = (value - EPOCH) // MICROSECOND
        return microseconds
    return int(value)


def fixed_value(code: int, type: Type) -> Any:
    """The value with this code, for a type that needs no dictionary."""
    if type == FLOAT:
        return canonical_float(struct.unpack("<d", struct.pack("<q", code))[0])
    if type == DATE:
        return datetime.date.fromordinal(code + EPOCH_DAY)
    if type == TIMESTAMP:
        return EPOCH + datetime.timedelta(microseconds=code)
    return bool(code) if type == BOOL else int(code)


def list_key(value: tuple[Any, ...]) -> Hashable:
    """What a canonical list is known by in the dictionary of lists.

    Python holds `(1,) == (1.0,) == (True,)`; these are three lists here, so lists of floats and of bools are
    known by their kind as well. All leaves of a list have one type, so one leaf tells.
    """
    kind = type(value[0]) if value else tuple
    if kind is tuple or value[0] is None:
        kind = type(leaf(value))
    return (kind, value) if kind is float or kind is bool else value


def leaf(value: Any) -> Any:
    """Some innermost element of a list that is not null, `None` if there is none."""
    if not isinstance(value, tuple):
        return value
    for item in value:
        found = leaf(item)
        if found is not None:
            return found
    return None
