"""One value at a time: is it of the column's type, what is its canonical form, what is its code?

The canonical form is a plain Python value, the same for all values that the engine must not tell apart: `-0.0` is
`0.0`, every NaN is one object, a decimal has the scale of its type, an instant is a datetime in UTC, a numpy scalar
is the Python scalar, a list is a tuple, a dict a `Struct` or a `FrozenMap`. Nothing is rounded on the way in: an
int that no float64 equals does not enter a float column, nor nanoseconds a timestamp column.

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
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headwater.values.instants import CANONICAL_MOMENTS, moment_code, moment_value, plain_moment
from headwater.values.keys import known_by
from headwater.values.misfit import Misfit, class_name, show, wrong
from headwater.values.record import FrozenMap, Struct
from headwater.values.special import LAST, LAST_PLAIN, LabelledNull
from headwater.values.types import (
    BINARY,
    BOOL,
    DATE,
    FLOAT,
    INT,
    MOST_DIGITS,
    MOST_LEVELS,
    PYTHON_TYPES,
    Type,
    decimal_of,
    decimal_type,
    list_of,
    map_of,
    struct_of,
)

__all__ = [
    "DATE", "Misfit", "canonical", "canonical_float", "class_name", "common_type", "fixed_code", "fixed_value",
    "is_coded", "is_missing", "is_wide", "show", "unscaled_of", "value_type", "widen",
]  # fmt: skip

NAN = float("nan")
NAN_BITS = 0x7FF8000000000000
INT_MIN, INT_MAX = -(2**63), 2**63 - 1


def is_coded(type: Type) -> bool:
    """Whether values of this type are positions in a dictionary (strings, lists, records) rather than bits."""
    return type.name in _CODED


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
    if isinstance(value, (np.datetime64, np.timedelta64)):
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
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return plain_moment(value)
    if isinstance(value, np.floating) and value.dtype.itemsize > 8:
        if float(value) != value:
            raise Misfit(f"{value} is not a 64-bit float")
        return float(value)
    return value.item()


def _int(value: Any, _: Type) -> int:
    if isinstance(value, decimal.Decimal) and value.is_finite() and value == value.to_integral_value():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(value)
    if not INT_MIN <= value <= INT_MAX:
        raise Misfit(f"{show(value)} does not fit 64 bits", hint="declare the column decimal(38,0)")
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
    raise wrong(value)


def canonical_float(value: float) -> float:
    """The one float that stands for `value`: no negative zero, one NaN."""
    return NAN if value != value else value + 0.0


def _string(value: Any, _: Type) -> str:
    if not isinstance(value, str):
        raise wrong(value, "decode it to str first" if isinstance(value, (bytes, bytearray)) else None)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Misfit(f"{show(value)} is not valid Unicode: it has half of a surrogate pair") from None
    return str(value)


def _bool(value: Any, _: Type) -> bool:
    if not isinstance(value, bool):
        raise wrong(value)
    return value


def _list(value: Any, type: Type) -> tuple[Any, ...]:
    if isinstance(value, np.ndarray):
        value = list(value)
    if not isinstance(value, (list, tuple)):
        raise wrong(value)
    element = type.element
    if element is None:
        element = common_type(value)
    if element is None:
        element = INT  # there are no elements, or only nulls
    return tuple(_part(item, element) for item in value)


def _binary(value: Any, _: Type) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise wrong(value, "encode it to bytes first" if isinstance(value, str) else None)
    return bytes(value)


def _decimal(value: Any, type: Type) -> decimal.Decimal:
    if isinstance(value, int) and not isinstance(value, bool):
        value = decimal.Decimal(value)
    if not isinstance(value, decimal.Decimal):
        hint = (
            "make it a decimal.Decimal from its digits: Decimal(str(x))" if isinstance(value, float) else None
        )
        raise wrong(value, hint)
    units = unscaled_of(value, type.scale)
    if abs(units) >= 10**type.precision:
        raise Misfit(f"{show(value)} has more digits than {type}", hint="declare more digits, at most 38")
    return decimal.Decimal(units).scaleb(-type.scale, _EXACT)


def unscaled_of(value: decimal.Decimal, scale: int) -> int:
    """The integer that a decimal is at a scale; raises `Misfit` unless it has so few digits after the point."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise Misfit(f"{value} is not a number", hint="leave it out, or use floats")
    shift = exponent + scale
    if shift > 2 * MOST_DIGITS and any(digits):
        raise Misfit(f"{show(value)} has more than {MOST_DIGITS} digits")
    units = int("".join(map(str, digits)))
    units, rest = (units * 10 ** min(shift, 2 * MOST_DIGITS), 0) if shift >= 0 else divmod(units, 10**-shift)
    if rest:
        raise Misfit(
            f"{show(value)} has more than {scale} digits after the point",
            hint="round it, or declare a larger scale",
        )
    return int(-units if sign else units)


def _record(value: Any, type: Type) -> Struct:
    if not isinstance(value, Mapping):
        raise wrong(value, "give a dict of its fields")
    unknown = [name for name in value if name not in type.fields]
    if unknown:
        raise Misfit(
            f"{show(value)} has a field {unknown[0]}", hint=f"its fields are {', '.join(type.fields)}"
        )
    parts = zip(type.fields, type.parts, strict=True)
    return Struct({name: _part(value.get(name), part) for name, part in parts})


def _map(value: Any, type: Type) -> FrozenMap:
    if isinstance(value, (list, tuple)) and all(isinstance(item, tuple) and len(item) == 2 for item in value):
        if len({known_by(_part(key, type.parts[0])) for key, _ in value}) < len(value):
            raise Misfit(f"{show(value)} has a key twice")
        value = dict(value)
    if not isinstance(value, Mapping):
        raise wrong(value, "give a dict")
    key_type, part = type.parts
    items = {_part(key, key_type): _part(item, part) for key, item in value.items()}
    if None in items:
        raise Misfit(f"{show(value)} has a key that is null")
    return FrozenMap(items)


def _part(value: Any, type: Type | None) -> Any:
    """The canonical form of a part of a value."""
    part = canonical(value, type or value_type(value) or INT)
    if isinstance(part, LabelledNull):
        raise Misfit(
            "a list, map or record cannot hold a labelled null",
            hint="put the labelled null in a column of its own",
        )
    return part


_CODED = frozenset(("string", "binary", "list", "map", "struct"))
_EXACT = decimal.Context(prec=200)
_CANONICAL: dict[str, Callable[[Any, Type], Any]] = {
    "int": _int, "float": _float, "decimal": _decimal, "string": _string, "binary": _binary, "bool": _bool,
    "list": _list, "struct": _record, "map": _map, **CANONICAL_MOMENTS,
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
    if {left.name, right.name} <= {"decimal", "int"}:
        return decimal_of(MOST_DIGITS, max(left.scale, right.scale))
    if left.name.removesuffix("_ns") == right.name.removesuffix("_ns"):
        return (
            max(left, right, key=lambda each: len(each.name)) if not left.parts else _widen_parts(left, right)
        )
    hint = None
    if {left.name, right.name} == {"timestamp", "timestamp_ntz"}:
        hint = (
            "some have a time zone and some have none: declare the column a timestamp, to take these in UTC"
        )
    raise Misfit(f"{left} and {right} do not go together", hint=hint)


def _widen_parts(left: Type, right: Type) -> Type:
    if left.name != "struct":
        return Type(left.name, tuple(map(widen, left.parts, right.parts)))
    parts = dict(zip(left.fields, left.parts, strict=True))
    for name, part in zip(right.fields, right.parts, strict=True):
        parts[name] = widen(parts.get(name), part)
    return struct_of(parts)


def value_type(value: Any, levels: int = MOST_LEVELS) -> Type | None:
    """The type of one value, `None` if it is missing or a labelled null; raises `Misfit` for what no column holds."""
    if is_missing(value) or isinstance(value, LabelledNull):
        return None
    if isinstance(value, np.generic):
        value = _plain(value)
    if isinstance(value, (list, tuple, np.ndarray, Mapping)):
        if not levels:
            raise Misfit(f"lists are nested more than {MOST_LEVELS} levels deep")
        if isinstance(value, Mapping):
            return _mapping_type(value, levels - 1)
        return list_of(common_type(value, levels - 1))
    if isinstance(value, decimal.Decimal):
        found = decimal_type(value)
        if found is None:
            raise Misfit(f"{show(value)} is not a number of at most {MOST_DIGITS} digits")
        return decimal_of(MOST_DIGITS, found.scale)
    if isinstance(value, datetime.datetime):
        name = "timestamp" if value.tzinfo is not None else "timestamp_ntz"
        return Type(f"{name}_ns" if getattr(value, "nanosecond", 0) else name)
    for kind, type in PYTHON_TYPES:
        if isinstance(value, kind):
            return type
    if isinstance(value, (bytearray, memoryview)):
        return BINARY
    raise wrong(value, _MADE_INTO.get(_class_of(value).__name__))


def _mapping_type(value: Mapping[Any, Any], levels: int) -> Type:
    """Of a mapping whose keys are strings, a record; of a `FrozenMap`, and of others, a map."""
    if (
        isinstance(value, Struct)
        or not isinstance(value, FrozenMap)
        and all(isinstance(key, str) for key in value)
    ):
        return struct_of({name: value_type(item, levels) for name, item in value.items()})
    return map_of(common_type(list(value), levels), common_type(list(value.values()), levels))


_class_of = type
_MADE_INTO = {
    "UUID": "make it a string or bytes: str(x) or x.bytes",
    "Period": "make it a timestamp: x.to_timestamp()",
    "set": "make it a list",
    "frozenset": "make it a list",
    "complex": "keep its parts in two columns",
}
"""What to do with values that no column holds, by the name of their class."""


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


# ------------------------------------------------------------------ codes


def is_wide(code: int, type: Type) -> bool:
    """Whether a value's own code is not one that a plain value can have, so that it is an entry of the specials."""
    return code <= LAST or (code > LAST_PLAIN and type != FLOAT)


def fixed_code(value: Any, type: Type) -> int:
    """The own code of a canonical value whose type needs no dictionary; see `is_wide`."""
    if type == FLOAT:
        bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
        return NAN_BITS if value != value else bits
    if type.name == "decimal":
        return unscaled_of(value, type.scale)
    if type.name in CANONICAL_MOMENTS:
        return moment_code(value, type)
    return int(value)


def fixed_value(code: int, type: Type) -> Any:
    """The value with this code, for a type that needs no dictionary."""
    if type == FLOAT:
        return canonical_float(struct.unpack("<d", struct.pack("<q", code))[0])
    if type.name == "decimal":
        return decimal.Decimal(code).scaleb(-type.scale, _EXACT)
    if type.name in CANONICAL_MOMENTS:
        return moment_value(code, type)
    return bool(code) if type == BOOL else int(code)
