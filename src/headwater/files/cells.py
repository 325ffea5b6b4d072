"""A column of texts as a column of values, and back.

Whole columns are converted at once where their texts are in the plain form of their type; where one is not,
value by value, which accepts some more (blanks around numbers, `0x1F`) and says what is wrong with the rest.

>>> import pyarrow as pa
>>> convert(pa.array(["1", " 2", "0x1F"]), INT).to_pylist()
[1, 2, 31]
>>> convert(pa.array(["2024-02-30"]), DATE)
Traceback (most recent call last):
headwater.files.cells.BadCell: day is out of range for month
>>> to_text(pa.array([1.0, 1e300])).to_pylist()
['1.0', '1e+300']
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.files.json_values import TEXT_FORMS, from_json, to_json
from headwater.files.list_cells import read_list, write_list
from headwater.values.arrow_types import arrow_type, column_type, type_from_arrow
from headwater.values.arrow_values import arrow_values, python_values
from headwater.values.forms import form
from headwater.values.scalars import Misfit, canonical
from headwater.values.types import BOOL, DATE, FLOAT, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type

__all__ = ["DATE", "INT", "BadCell", "convert", "parse_cell", "to_text"]

_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"
PLAIN = {
    "int": r"^-?[0-9]{1,19}$",
    "float": r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$",
    "bool": r"^(true|false)$",
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "timestamp": _MOMENT,
    "timestamp_ntz": _MOMENT,
}
"""Texts that Arrow may convert: what it makes of them is what `parse_cell` makes of them."""

_INT = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)")
_FLOAT = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|inf(inity)?|nan)", re.IGNORECASE)
_BOOLS = {"true": True, "false": False, "1": True, "0": False}


class BadCell(Exception):  # noqa: N818
    """A text that is no value of its column's type."""

    def __init__(self, reason: str, row: int = 0):
        """Say what is wrong, and in which row (from 0)."""
        super().__init__(reason)
        self.reason = reason
        self.row = row


def convert(texts: Any, type: Type) -> Any:
    """The values of a column of `type` as an Arrow column; raises `BadCell` at the first that is none."""
    if type == STRING:
        return texts
    arrow = arrow_type(type)
    pattern = PLAIN.get(type.name)
    if pattern is not None and pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py():
        try:
            values = texts.cast(pa.timestamp("us")).cast(arrow) if type == TIMESTAMP else texts.cast(arrow)
            if type != FLOAT or not pc.any(pc.is_inf(values)).as_py():
                return values
        except pa.ArrowException:
            pass  # too large, or no such day
    return pa.array(arrow_values(_one_by_one(texts.to_pylist(), type), type), arrow)


def _one_by_one(texts: list[str], type: Type) -> list[Any]:
    values = []
    for row, text in enumerate(texts):
        try:
            values.append(canonical(parse_cell(text, type), type))
        except ValueError as error:
            raise BadCell(str(error), row) from None
        except Misfit as misfit:
            raise BadCell(misfit.reason, row) from None
    return values


def parse_cell(text: str, type: Type) -> Any:
    """The value that one text stands for; raises `ValueError` with words for the user."""
    if is_json(type):
        return _from_json(text, type)
    if type.name == "list":
        return _elements(read_list(text), type)
    return text if type == STRING else _PARSERS[type.name](text.strip(" \t"))


def is_json(type: Type | None) -> bool:
    """Whether values of the type are JSON in a cell: records, maps, and lists of them."""
    return type is not None and (type.name in ("struct", "map") or any(map(is_json, type.parts)))


def _from_json(text: str, type: Type) -> Any:
    try:
        return from_json(json.loads(text), type)
    except (json.JSONDecodeError, RecursionError):
        raise ValueError("it is not JSON") from None


def _elements(items: list[Any], type: Type) -> tuple[Any, ...]:
    inner = type.element
    if inner is None:
        inner = STRING
    if inner.name == "list":
        if not all(item is None or isinstance(item, list) for item in items):
            raise ValueError(f"its elements should be lists: {type}")
        return tuple(None if item is None else _elements(item, inner) for item in items)
    if any(isinstance(item, list) for item in items):
        raise ValueError(f"its elements should not be lists: {type}")
    return tuple(None if item is None else parse_cell(item, inner) for item in items)


def _parse_int(text: str) -> int:
    if not _INT.fullmatch(text):
        raise ValueError("it is not a whole number")
    digits = text.lstrip("+-").lower()
    base = {"0x": 16, "0b": 2}.get(digits[:2], 10)
    value = int(digits, base) * (-1 if text.startswith("-") else 1)
    if not -(2**63) <= value < 2**63:
        raise ValueError("it does not fit 64 bits")
    return value


def _parse_float(text: str) -> float:
    if not _FLOAT.fullmatch(text):
        raise ValueError("it is not a number")
    value = float(text)
    if math.isinf(value) and "inf" not in text.lower():
        raise ValueError("it is too large for a float")
    return value


def _parse_bool(text: str) -> bool:
    if text.lower() not in _BOOLS:
        raise ValueError("it is neither true nor false")
    return _BOOLS[text.lower()]


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "int": _parse_int,
    "float": _parse_float,
    "bool": _parse_bool,
    **TEXT_FORMS,
}


# ------------------------------------------------------------------ out


def to_text(column: Any, *, short_floats: bool = False) -> Any:
    """A column of values as an Arrow column of texts, from which `convert` gives the same values.

    With `short_floats`, `1.0` is written as `1`: a float again only where the column's type is declared.
    """
    kind = column.type
    if pa.types.is_string(kind):
        return column
    type = type_from_arrow(kind)
    if is_json(type):
        return _texts(column, lambda value: json.dumps(to_json(value), ensure_ascii=False))
    if pa.types.is_list(kind):
        return _texts(column, write_list)
    if not (pa.types.is_floating(kind) or type in (INT, BOOL, DATE, TIMESTAMP, TIMESTAMP_NTZ)):
        return _texts(column, _form)
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp(kind.unit))  # in UTC
    texts = column.cast(pa.string())
    if pa.types.is_floating(kind) and short_floats:
        return pc.replace_substring_regex(texts, r"^(-?[0-9]+)\.0$", r"\1")
    if pa.types.is_floating(kind):
        whole = pc.match_substring_regex(texts, "^-?[0-9]+$")  # 1.0 stays a float, also when read undeclared
        return pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    if pa.types.is_timestamp(kind):
        return pc.replace_substring(pc.replace_substring_regex(texts, r"\.0+$", ""), " ", "T")
    return texts


def _form(value: Any) -> str:
    return f"0x{value.hex()}" if isinstance(value, bytes) else form(value)  # never an empty cell


def _texts(column: Any, write: Callable[[Any], str]) -> Any:
    values = python_values(column, column_type(column, ours=True))
    return pa.array([None if value is None else write(value) for value in values], pa.string())
