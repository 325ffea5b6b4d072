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

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.files.list_cells import read_list, write_list
from headwater.values.arrow import arrow_type
from headwater.values.moments import parse_date, parse_timestamp
from headwater.values.types import DATE, FLOAT, INT, STRING, Type

__all__ = ["DATE", "INT", "BadCell", "convert", "parse_cell", "to_text"]

PLAIN = {
    "int": r"^-?[0-9]{1,19}$",
    "float": r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$",
    "bool": r"^(true|false)$",
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "timestamp": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$",
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
            values = texts.cast(arrow)
            if type != FLOAT or not pc.any(pc.is_inf(values)).as_py():
                return values
        except pa.ArrowException:
            pass  # too large, or no such day
    return pa.array(_one_by_one(texts.to_pylist(), type), arrow)


def _one_by_one(texts: list[str], type: Type) -> list[Any]:
    values = []
    for row, text in enumerate(texts):
        try:
            values.append(parse_cell(text, type))
        except ValueError as error:
            raise BadCell(str(error), row) from None
    return values


def parse_cell(text: str, type: Type) -> Any:
    """The value that one text stands for; raises `ValueError` with words for the user."""
    if type.name == "list":
        return _elements(read_list(text), type)
    return text if type == STRING else _PARSERS[type.name](text.strip(" \t"))


def _elements(items: list[Any], type: Type) -> tuple[Any, ...]:
    inner = type.element
    if inner is None:
        inner = STRING
    if inner.name == "list":
        if not all(isinstance(item, list) for item in items):
            raise ValueError(f"its elements should be lists: {type}")
        return tuple(_elements(item, inner) for item in items)
    if any(isinstance(item, list) for item in items):
        raise ValueError(f"its elements should not be lists: {type}")
    return tuple(parse_cell(item, inner) for item in items)


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
    "date": parse_date,
    "timestamp": parse_timestamp,
}


# ------------------------------------------------------------------ out


def to_text(column: Any, *, short_floats: bool = False) -> Any:
    """A column of values as an Arrow column of texts, from which `convert` gives the same values.

    With `short_floats`, `1.0` is written as `1`: a float again only where the column's type is declared.
    """
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_list(kind):
        return pa.array([write_list(tuple(items)) for items in column.to_pylist()], pa.string())
    texts = column.cast(pa.string())
    if pa.types.is_floating(kind) and short_floats:
        return pc.replace_substring_regex(texts, r"^(-?[0-9]+)\.0$", r"\1")
    if pa.types.is_floating(kind):
        whole = pc.match_substring_regex(texts, "^-?[0-9]+$")  # 1.0 stays a float, also when read undeclared
        return pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    if pa.types.is_timestamp(kind):
        return pc.replace_substring(pc.replace_substring_regex(texts, r"\.000000$", ""), " ", "T")
    return texts
