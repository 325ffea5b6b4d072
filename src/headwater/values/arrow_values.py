"""Values of Arrow arrays as Python has them, and back: for types whose values do not come a chunk at a time.

What comes out of `python_values` still goes through `scalars`, which makes it canonical and says what is wrong with
it.

>>> import pyarrow
>>> python_values(pyarrow.array([{"a": [1, None]}, None]))
[{'a': (1, None)}, None]
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from headwater.values.arrow_numbers import numbers_of
from headwater.values.arrow_types import is_list, unwrapped
from headwater.values.instants import EPOCH_UTC, FIRST_MICROSECOND, LAST_MICROSECOND
from headwater.values.misfit import Misfit
from headwater.values.nanosecond import EPOCH, MICROSECOND, UTC, NanosecondDatetime
from headwater.values.record import Months
from headwater.values.types import Type

OUTSIDE = "it is outside the years 1 to 9999"
_UNITS = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}


def python_values(array: Any, type: Type | None = None) -> list[Any]:
    """The values of an array, as canonical as that is cheap; `type` is the one they are meant for, if known."""
    from pyarrow import types as kinds

    array = unwrapped(array.combine_chunks() if hasattr(array, "chunks") else array)
    arrow = array.type
    if kinds.is_timestamp(arrow):
        return _with_nulls(array, _moments)
    if is_list(arrow):
        return _with_nulls(array, lambda some: _lists(some, type))
    if kinds.is_map(arrow):
        return _with_nulls(array, lambda some: _maps(some, type))
    if kinds.is_struct(arrow):
        return _records(array, type)
    if kinds.is_interval(arrow):
        return [None if each is None else _interval(each, type) for each in array.to_pylist()]
    try:
        values: list[Any] = array.to_pylist()
    except (OverflowError, ValueError):
        raise Misfit(OUTSIDE, row=_first_unreadable(array)) from None
    return values


def _with_nulls(array: Any, read: Callable[[Any], list[Any]]) -> list[Any]:
    if not array.null_count:
        return read(array)
    values = iter(read(array.drop_null()))
    return [next(values) if valid else None for valid in array.is_valid().to_pylist()]


def _first_unreadable(array: Any) -> int:
    """The first value that Python has nothing for; for elements of a list, counted among all elements."""
    for row, value in enumerate(array):
        try:
            value.as_py()
        except (OverflowError, ValueError):
            return row
    return 0


def _moments(array: Any) -> list[Any]:
    import pyarrow as pa

    zone = UTC if array.type.tz is not None else None
    counts = array.cast(pa.int64())
    if array.type.unit == "ns":
        return [_nanosecond(count, zone) for count in counts.to_pylist()]
    limit = _UNITS[array.type.unit]
    numbers = numbers_of(counts)
    outside = np.flatnonzero((numbers < FIRST_MICROSECOND // limit) | (numbers > LAST_MICROSECOND // limit))
    if outside.size:
        raise Misfit(OUTSIDE, row=int(outside[0]))
    start = EPOCH if zone is None else EPOCH_UTC
    return [start + datetime.timedelta(microseconds=count * limit) for count in counts.to_pylist()]


def _nanosecond(count: int, zone: datetime.tzinfo | None) -> datetime.datetime:
    if count % 1000:
        return NanosecondDatetime.at(count, zone)
    return (EPOCH if zone is None else EPOCH_UTC) + datetime.timedelta(microseconds=count // 1000)


def _lists(array: Any, type: Type | None) -> list[Any]:
    import pyarrow as pa

    if not pa.types.is_list(array.type) and not pa.types.is_large_list(array.type):
        array = array.cast(pa.large_list(array.type.value_type))
    return _cut(array.offsets.to_pylist(), python_values_between(array.offsets, array.values, _part(type, 0)))


def _maps(array: Any, type: Type | None) -> list[Any]:
    keys = python_values_between(array.offsets, array.keys, _part(type, 0))
    items = python_values_between(array.offsets, array.items, _part(type, 1))
    return _cut(array.offsets.to_pylist(), list(zip(keys, items, strict=True)))


def python_values_between(offsets: Any, values: Any, type: Type | None) -> list[Any]:
    """The values from the first of the offsets to the last."""
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    return python_values(values.slice(first, last - first), type)


def _cut(ends: list[int], elements: list[Any]) -> list[Any]:
    """The elements cut at the offsets. Much faster than to_pylist() of lists."""
    return [tuple(elements[start - ends[0] : end - ends[0]]) for start, end in pairwise(ends)]


def _records(array: Any, type: Type | None) -> list[Any]:
    names = [array.type.field(number).name for number in range(array.type.num_fields)]
    if len(set(names)) < len(names):
        raise Misfit(f"the fields {', '.join(names)} have the same names", code="unsupported-type")
    wanted = dict(zip(type.fields, type.parts, strict=True)) if type is not None and type.fields else {}
    columns = [
        python_values(each, wanted.get(name)) for name, each in zip(names, array.flatten(), strict=True)
    ]
    rows = zip(*columns, strict=True) if columns else iter([()] * len(array))
    valid = array.is_valid().to_pylist()
    return [
        dict(zip(names, row, strict=True)) if there else None for row, there in zip(rows, valid, strict=True)
    ]


def _part(type: Type | None, place: int) -> Type | None:
    return type.parts[place] if type is not None and len(type.parts) > place else None


def _interval(value: Any, type: Type | None) -> Any:
    """An interval of Arrow's, which has months, days and nanoseconds: here it is one of months or of the others."""
    months, days, nanoseconds = value
    if months and (days or nanoseconds):
        raise Misfit(
            f"an interval of {months} months and {days} days is neither",
            hint="keep the months and the days in two columns",
        )
    if months or (type is not None and type.name == "interval_months" and not (days or nanoseconds)):
        return Months(months)
    if nanoseconds % 1000:
        raise Misfit(f"{nanoseconds} nanoseconds are not a whole number of microseconds")
    return datetime.timedelta(days=days, microseconds=nanoseconds // 1000)


# ------------------------------------------------------------------ out


def arrow_values(values: Sequence[Any], type: Type) -> Sequence[Any]:
    """Canonical values as pyarrow takes them for an array of `type`."""
    convert = _converter(type)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _converter(type: Type | None) -> Callable[[Any], Any] | None:
    """How a value that is not null is made one that pyarrow takes; `None` if it is already."""
    if type is None:
        return None
    if type.name.endswith("_ns"):
        return lambda value: value.nanoseconds
    if type.name == "interval":  # pyarrow refuses the longest ones as timedelta
        return lambda value: value // MICROSECOND
    if type.name == "interval_months":
        return lambda value: (value.months, 0, 0)
    if type.name == "list":
        inner = _converter(type.element)
        return None if inner is None else lambda value: [_with(inner, item) for item in value]
    if type.name == "map":
        key, item = map(_converter, type.parts)
        return lambda value: [(_with(key, each), _with(item, value[each])) for each in value]
    if type.name == "struct":
        parts = dict(zip(type.fields, map(_converter, type.parts), strict=True))
        return lambda value: {name: _with(parts[name], value[name]) for name in value}
    return None


def _with(convert: Callable[[Any], Any] | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)
