"""Constants written as the columns and values beside them need.

A number in a rule is *weak*: it may stand where a float or a decimal is expected, and is then written as one, if one
equals it. So may a time without a zone where a time with one is written, as `timestamp("2024-01-31T10:00:00")`, and a
time in microseconds where nanoseconds are expected. Beside a decimal, a number in a rule is the decimal that is
written there: `P * 1.1` is exact. This holds for constants in lists and records, too.
"""

from __future__ import annotations

import datetime
import decimal
from dataclasses import replace

from headwater.errors import Place, RuleError
from headwater.language.program import Call, Constant, Term
from headwater.values.literals import WrittenFloat
from headwater.values.nanosecond import UTC, NanosecondDatetime
from headwater.values.record import FrozenMap, Struct
from headwater.values.scalars import Misfit, canonical
from headwater.values.types import (
    FLOAT,
    INT,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMP_NTZ,
    TIMESTAMP_NTZ_NS,
    Type,
    decimal_type,
)

_WEAKER: dict[Type, tuple[Type, ...]] = {
    FLOAT: (INT,),
    TIMESTAMP_NTZ: (TIMESTAMP,),
    TIMESTAMP_NS: (TIMESTAMP,),
    TIMESTAMP_NTZ_NS: (TIMESTAMP, TIMESTAMP_NS, TIMESTAMP_NTZ),
}
"""For types of columns, the types of constants that may stand there as well."""
_BESIDE_DECIMALS = frozenset(("+", "-", "*", "/", "%", "min", "max", "f_min", "f_max"))


def is_weak(type: Type) -> bool:
    """Whether a constant of this type may be written as one of another."""
    if type.parts:
        return any(part is not None and is_weak(part) for part in type.parts)
    return type in (INT, FLOAT, TIMESTAMP, TIMESTAMP_NS, TIMESTAMP_NTZ) or type.name == "decimal"


def has_int(type: Type) -> bool:
    """Whether an int is in it: the weakest, so that others decide first."""
    return type == INT or any(part is not None and has_int(part) for part in type.parts)


def has_number(type: Type) -> bool:
    """Whether it is a number, or an int is in it."""
    return has_int(type) or type == FLOAT or type.name == "decimal"


def takes(column: Type, constant: Type) -> bool:
    """Whether a weak constant (or one made of such) can be written as a constant of the column's type."""
    if column.parts and column.name == constant.name and column.fields == constant.fields:
        pairs = zip(column.parts, constant.parts, strict=True)
        return all(own is None or wanted is None or takes(wanted, own) for wanted, own in pairs)
    if column.name == "decimal":
        return has_number(constant) and not constant.parts
    return column == constant or constant in _WEAKER.get(column, ())


def fit(value: object, type: Type | None, place: Place | None = None) -> object:
    """The value as a column of this type holds it: an int as a float or a decimal where one is expected.

    >>> from headwater.values.types import decimal_of, list_of
    >>> fit(1, FLOAT), fit((1, 2), list_of(FLOAT)), fit("a", FLOAT), fit(1.5, decimal_of(5, 2))
    (1.0, (1.0, 2.0), 'a', Decimal('1.50'))
    """
    if type is None or isinstance(value, bool):
        return value
    if isinstance(value, tuple):
        return tuple(fit(item, type.element, place) for item in value)
    if isinstance(value, Struct) and type.fields == tuple(value):
        parts = zip(value.items(), type.parts, strict=True)
        return Struct({name: fit(item, part, place) for (name, item), part in parts})
    if isinstance(value, FrozenMap) and type.name == "map":
        key, part = type.parts
        return FrozenMap({fit(k, key, place): fit(item, part, place) for k, item in value.items()})
    if type == FLOAT and isinstance(value, int):
        if abs(value) >= 2**63 or int(float(value)) != value:
            raise RuleError("type-clash", f"no float equals {value}", place=place, hint="write it as a float")
        return float(value)
    if type.name == "decimal" and isinstance(value, (int, float, decimal.Decimal)):
        return _fit_decimal(value, type, place)
    if isinstance(value, datetime.datetime) and type.name.startswith("timestamp"):
        return _fit_moment(value, type)
    return value


def _fit_decimal(value: int | float | decimal.Decimal, type: Type, place: Place | None) -> object:
    try:
        return canonical(as_written(value), type)
    except Misfit as misfit:
        raise RuleError(
            "type-clash", f"{misfit.reason}, expected {type}", place=place, hint=misfit.hint
        ) from None


def as_written(value: int | float | decimal.Decimal) -> decimal.Decimal:
    """The decimal with the digits that a number is written with."""
    if isinstance(value, WrittenFloat):
        return value.digits
    return decimal.Decimal(repr(value)) if isinstance(value, float) else decimal.Decimal(value)


def _fit_moment(value: datetime.datetime, type: Type) -> datetime.datetime:
    zone = None if "ntz" in type.name else UTC
    moment = value.replace(tzinfo=zone)
    if type.name.endswith("_ns"):
        made = NanosecondDatetime.of(moment)
        made.nanosecond = getattr(value, "nanosecond", 0)
        return made
    return moment


def beside_decimals(call: Call, types: list[Type | None]) -> Call:
    """The call with its numbers written as decimals, if one of the arguments is a decimal."""
    if call.function not in _BESIDE_DECIMALS or not any(t is not None and t.name == "decimal" for t in types):
        return call
    return replace(call, args=tuple(map(_decimal, call.args)))


def open_numbers(call: Call, types: list[Type | None]) -> list[Type | None]:
    """The types of arguments of which one is not known yet: it may be a decimal, and then so are written numbers."""
    if call.function not in _BESIDE_DECIMALS:
        return types
    return [
        None if isinstance(arg, Constant) and type_ == FLOAT else type_
        for arg, type_ in zip(call.args, types, strict=True)
    ]


def beside(term: Term, other: Type | None) -> Term:
    """A constant of a comparison, written as the type on the other side needs."""
    if other is None or not isinstance(term, Constant):
        return term
    if other.name == "decimal":
        return _decimal(term)
    if isinstance(term.value, datetime.datetime) and other.name.startswith("timestamp"):
        return replace(term, value=_fit_moment(term.value, other))
    return term


def _decimal(term: Term) -> Term:
    if not isinstance(term, Constant) or type(term.value) not in (int, float, WrittenFloat):
        return term
    written = as_written(term.value)  # type: ignore[arg-type]
    exponent = written.as_tuple().exponent
    if isinstance(exponent, int) and exponent > 0:
        written = decimal.Decimal(int(written))
    return term if decimal_type(written) is None else replace(term, value=written, type=None)
