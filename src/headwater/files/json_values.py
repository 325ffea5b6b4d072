"""Values as JSON can hold them, and back.

What JSON lacks is written as strings: dates, times and durations as ISO 8601 has them, decimals in digits, bytes in
hexadecimal, and the floats inf, -inf and nan. A map is an object where its keys are strings, else an array of pairs.

>>> to_json((math.nan, Struct({"at": datetime.date(2024, 1, 31)})))
['nan', {'at': '2024-01-31'}]
>>> from_json({"price": 1.5}, parse_type("{price: decimal(5,2)}"))
{'price': Decimal('1.5')}
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Mapping
from typing import Any

from headwater.values import forms
from headwater.values.literals import literal_name
from headwater.values.record import Struct
from headwater.values.scalars import NAN
from headwater.values.types import Type, parse_type

__all__ = ["FLOATS", "TEXT_FORMS", "Struct", "datetime", "from_json", "parse_type", "to_json"]

FLOATS = {"nan": NAN, "inf": math.inf, "-inf": -math.inf}
TEXT_FORMS: Mapping[str, Callable[[str], Any]] = {
    "date": forms.parse_date,
    "time": forms.parse_time,
    "timestamp": forms.parse_timestamp,
    "timestamp_ns": forms.parse_timestamp,
    "timestamp_ntz": forms.parse_timestamp_ntz,
    "timestamp_ntz_ns": forms.parse_timestamp_ntz,
    "interval": forms.parse_interval,
    "interval_months": forms.parse_months,
    "decimal": forms.parse_decimal,
    "binary": forms.parse_binary,
}
"""How texts of types are read that have no other form in a file; raises `ValueError` with words for the user."""


def to_json(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: to_json(item) for key, item in value.items()}
        return [[to_json(key), to_json(item)] for key, item in value.items()]
    return value if literal_name(value) is None else forms.form(value)


def from_json(value: Any, type: Type | None) -> Any:
    """What JSON holds for a value of `type`; whether it is one is for `canonical` to say."""
    if type is None:
        return value
    if isinstance(value, str) and type.name == "float":
        return FLOATS.get(value, value)
    if isinstance(value, str) and type.name in TEXT_FORMS:
        return TEXT_FORMS[type.name](value)
    if isinstance(value, float) and type.name == "decimal":
        return decimal.Decimal(repr(value))
    if isinstance(value, (list, tuple)) and type.name == "list":
        return tuple(from_json(item, type.element) for item in value)
    if type.name == "map":
        return _map(value, type)
    if isinstance(value, dict) and type.name == "struct":
        parts = dict(zip(type.fields, type.parts, strict=True))
        return {name: from_json(item, parts.get(name)) for name, item in value.items()}
    return value


def _map(value: Any, type: Type) -> Any:
    key_type, part = type.parts
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list) or not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs
    ):
        return value
    return [(from_json(key, key_type), from_json(item, part)) for key, item in pairs]
