"""The types a column can have.

A type is data: a name and what it is made of. Lists, maps and records have *parts*, decimals a precision and a
scale. An unknown type is `None` everywhere, also as a part; it unifies with any other. Unification never converts:
an int column does not unify with a float column, nor decimals of different scales. Two decimals of one scale do:
their values have the same codes, and the wider holds both.

>>> str(unify(list_of(None), list_of(STRING))), str(unify(decimal_of(5, 2), decimal_of(12, 2)))
('list[string]', 'decimal(12,2)')
>>> str(parse_type("symbol")), str(parse_type("{ name: str, ages: list[map[string,int]] }"))
('string', '{name: string, ages: list[map[string, int]]}')
"""

from __future__ import annotations

import datetime
import decimal
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.values.nanosecond import NanosecondDatetime
from headwater.values.record import FrozenMap, Months, Struct


@dataclass(frozen=True)
class Type:
    """A column's type.

    `parts` are the types of a list's elements, of a map's keys and values, or of a record's `fields`.
    """

    name: str
    parts: tuple[Type | None, ...] = ()
    fields: tuple[str, ...] = ()
    precision: int = 0
    scale: int = 0

    def __hash__(self) -> int:
        """By the name alone: types are looked up with every call of a function, and few have the same name."""
        return hash(self.name)

    @property
    def element(self) -> Type | None:
        """The type of a list's elements."""
        return self.parts[0] if self.name == "list" else None

    def __str__(self) -> str:
        """Write the type the way `parse_type` reads it."""
        if self.name == "struct":
            shown = zip(map(field_name, self.fields), self.parts, strict=True)
            return "{" + ", ".join(f"{name}: {_open(part)}" for name, part in shown) + "}"
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if not any(self.parts):
            return self.name
        return f"{self.name}[{', '.join(map(_open, self.parts))}]"


def _open(part: Type | None) -> str:
    return "_" if part is None else str(part)


INT = Type("int")
FLOAT = Type("float")
STRING = Type("string")
BINARY = Type("binary")
BOOL = Type("bool")
DATE = Type("date")
TIME = Type("time")
TIMESTAMP = Type("timestamp")
TIMESTAMP_NTZ = Type("timestamp_ntz")
TIMESTAMP_NS = Type("timestamp_ns")
TIMESTAMP_NTZ_NS = Type("timestamp_ntz_ns")
INTERVAL = Type("interval")
INTERVAL_MONTHS = Type("interval_months")


MOST_LEVELS = 32
"""How deep lists, maps and records may be nested: Arrow reads files of up to 64 levels."""
MOST_DIGITS = 38
"""The largest precision of a decimal, as in Spark, Arrow's decimal128 and DuckDB."""
LONG_DIGITS = 20
"""The precision at which an int stands beside a decimal, as in Spark."""


def list_of(element: Type | None) -> Type:
    """The type of lists whose elements have the given type (`None`: not known yet)."""
    return Type("list", (element,))


def map_of(key: Type | None, value: Type | None) -> Type:
    """The type of maps from keys to values of these types."""
    return Type("map", (key, value))


def struct_of(fields: Mapping[str, Type | None]) -> Type:
    """The type of records with these fields, in this order."""
    return Type("struct", tuple(fields.values()), tuple(fields))


def decimal_of(precision: int, scale: int) -> Type:
    """The type of decimals with so many digits in all, and after the point."""
    return Type("decimal", precision=precision, scale=scale)


_NAMES = {
    "int": INT, "integer": INT, "number": INT, "unsigned": INT, "bigint": INT, "long": INT, "int64": INT,
    "float": FLOAT, "double": FLOAT, "real": FLOAT, "float64": FLOAT,
    "string": STRING, "symbol": STRING, "str": STRING, "text": STRING, "varchar": STRING, "address": STRING,
    "bool": BOOL, "boolean": BOOL, "binary": BINARY, "bytes": BINARY, "blob": BINARY,
    "date": DATE, "time": TIME, "timestamp": TIMESTAMP, "datetime": TIMESTAMP, "timestamp_ntz": TIMESTAMP_NTZ,
    "timestamp_ns": TIMESTAMP_NS, "timestamp_ntz_ns": TIMESTAMP_NTZ_NS,
    "interval": INTERVAL, "interval_months": INTERVAL_MONTHS,
    "list": list_of(None), "map": map_of(None, None), "decimal": decimal_of(MOST_DIGITS, 0),
}  # fmt: skip

TYPES_IN_WORDS = (
    "int, float, decimal(p,s), string, binary, bool, date, time, timestamp, timestamp_ntz, interval, "
    "interval_months, list[...], map[..., ...] and {field: type, ...}"
)
"""For messages: the types that there are."""

# ------------------------------------------------------------------ names of types

_WORD = re.compile(r'\s*([^\W]\w*|"(?:\\.|[^"\\])*"|[\[\](){},:])')
_FIELD = re.compile(r"[^\W\d]\w*")


def field_name(name: str) -> str:
    """The name of a field as it is written: as it is, or as a JSON string."""
    return name if _FIELD.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def parse_type(name: str) -> Type | None:
    """The type called `name` in any of the dialects, or `None` if there is no such type."""
    try:
        reader = _TypeReader(name)
        found = reader.type(MOST_LEVELS)
        return found if reader.done() else None
    except _UnreadableType:
        return None


class _UnreadableType(Exception):  # noqa: N818
    """The text is no type."""


class _TypeReader:
    """Reads the words of a type's name from left to right."""

    def __init__(self, text: str):
        self._words: list[str] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            word = _WORD.match(text, position)
            if word is None:
                raise _UnreadableType
            self._words.append(word[1])
            position = word.end()
        self._words.reverse()

    def done(self) -> bool:
        """Whether all words are read."""
        return not self._words

    def type(self, levels: int) -> Type | None:
        """The type that comes next; `levels` may be nested in it."""
        word = self._next()
        if word == "{":
            return self._struct(levels - 1)
        if word == "_":
            return None
        found = _NAMES.get(word.lower())
        if found is None:
            raise _UnreadableType
        if found.name == "decimal" and self._take("("):
            return self._decimal()
        if found.parts and self._take("["):
            if not levels:
                raise _UnreadableType
            parts = [self.type(levels - 1)]
            while self._take(","):
                parts.append(self.type(levels - 1))
            if len(parts) != len(found.parts) or not self._take("]"):
                raise _UnreadableType
            return Type(found.name, tuple(parts))
        return found

    def _decimal(self) -> Type:
        digits = [self._number()]
        if self._take(","):
            digits.append(self._number())
        precision, scale = digits[0], (digits[1:] or [0])[0]
        if not self._take(")") or not is_decimal(precision, scale):
            raise _UnreadableType
        return decimal_of(precision, scale)

    def _struct(self, levels: int) -> Type:
        if levels < 0:
            raise _UnreadableType
        fields: dict[str, Type | None] = {}
        while not self._take("}"):
            if fields and not self._take(","):
                raise _UnreadableType
            name = self._next()
            name = json.loads(name, strict=False) if name.startswith('"') else name
            if not self._take(":") or name in fields:
                raise _UnreadableType
            fields[name] = self.type(levels)
        return struct_of(fields)

    def _next(self) -> str:
        if not self._words:
            raise _UnreadableType
        return self._words.pop()

    def _take(self, word: str) -> bool:
        if self._words and self._words[-1] == word:
            self._words.pop()
            return True
        return False

    def _number(self) -> int:
        word = self._next()
        if not word.isdecimal() or len(word) > 2:
            raise _UnreadableType
        return int(word)


def is_decimal(precision: int, scale: int) -> bool:
    """Whether there is a decimal type with these digits."""
    return 1 <= precision <= MOST_DIGITS and 0 <= scale <= precision


# ------------------------------------------------------------------ unifying


class TypeClash(Exception):  # noqa: N818
    """Two types that do not unify; callers turn it into an error with a place."""

    def __init__(self, left: Type, right: Type):
        """Keep both for the message."""
        super().__init__(f"{left} and {right}")
        self.left = left
        self.right = right


def unify(left: Type | None, right: Type | None) -> Type | None:
    """The one type that both stand for; `None` when neither is known; raises `TypeClash` when they differ."""
    if left is None or right is None or left == right:
        return right if left is None else left
    if left.name != right.name or left.fields != right.fields or left.scale != right.scale:
        raise TypeClash(left, right)
    if left.name == "decimal":
        return max(left, right, key=lambda each: each.precision)
    return Type(left.name, tuple(map(unify, left.parts, right.parts)), left.fields)


def type_of(value: object) -> Type | None:
    """The type of a constant, or `None` if no column can hold it. (For rows, see `scalars.value_type`.)"""
    if isinstance(value, decimal.Decimal):
        return decimal_type(value)
    for kind, type_ in PYTHON_TYPES:
        if isinstance(value, kind):
            return _zoned(type_, value)
    try:
        if isinstance(value, (list, tuple)):
            return list_of(_together(value))
        if isinstance(value, Struct):
            return struct_of({name: _part_type(item) for name, item in value.items()})
        if isinstance(value, FrozenMap):
            return map_of(_together(list(value.keys())), _together(list(value.values())))
    except TypeClash:
        pass
    return None


def _zoned(type_: Type, value: object) -> Type:
    """Without a zone, a time is not an instant."""
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return TIMESTAMP_NTZ_NS if type_ == TIMESTAMP_NS else TIMESTAMP_NTZ
    return type_


def _together(values: Sequence[object]) -> Type | None:
    together: Type | None = None
    for value in values:
        together = unify(together, _part_type(value))
    return together


def _part_type(value: object) -> Type | None:
    """The type of a part of a value; a null there leaves it open."""
    type_ = type_of(value)
    if type_ is None and value is not None:
        raise TypeClash(INT, INT)
    return type_


def widest_decimal(types: Sequence[Type]) -> Type:
    """The narrowest decimal type that holds the values of all of these, cut to the digits that there are."""
    scale = max(type_.scale for type_ in types)
    before = max(type_.precision - type_.scale for type_ in types)
    return decimal_of(min(MOST_DIGITS, before + scale), scale)


def decimal_type(value: decimal.Decimal) -> Type | None:
    """The narrowest decimal type that holds the value.

    >>> str(decimal_type(decimal.Decimal("-12.50"))), str(decimal_type(decimal.Decimal("1e2")))
    ('decimal(4,2)', 'decimal(3,0)')
    """
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):  # NaN or infinite
        return None
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale, 1)
    return decimal_of(precision, scale) if is_decimal(precision, scale) else None


PYTHON_TYPES: tuple[tuple[type, Type], ...] = (
    (bool, BOOL), (int, INT), (float, FLOAT), (str, STRING), (bytes, BINARY),
    (NanosecondDatetime, TIMESTAMP_NS), (datetime.datetime, TIMESTAMP), (datetime.date, DATE), (datetime.time, TIME),
    (datetime.timedelta, INTERVAL), (Months, INTERVAL_MONTHS),
)  # fmt: skip
"""The types of plain Python values, decimals apart; of times, those that have a zone."""


def types_to_json(types: tuple[Type | None, ...]) -> list[str | None]:
    """Types by name."""
    return [None if type_ is None else str(type_) for type_ in types]


def types_from_json(names: list[str | None]) -> tuple[Type | None, ...]:
    """Types from what `types_to_json` gave."""
    return tuple(None if name is None else parse_type(name) for name in names)
