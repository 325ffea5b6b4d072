"""The type of a column of texts that nobody declared, from all of its texts.

It is int, float, date or bool if every text is written the plain way of that type, else string. Nothing may
be lost by it: `007` and `+1` make a column of strings, as ints would not give these texts back.

>>> import pyarrow as pa
>>> [str(infer(pa.array(texts))) for texts in (["1", "-2"], ["1", "2.5", "nan"], ["01"], ["true"], ["nan"])]
['int', 'float', 'string', 'bool', 'string']
>>> str(together([INT, FLOAT])), str(together([INT, STRING]))
('float', 'string')
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.files.cells import BadCell, convert
from headwater.files.list_cells import read_list
from headwater.values.types import BOOL, DATE, FLOAT, INT, STRING, Type, list_of

_NUMBER = r"(0|-?[1-9][0-9]*|-?[0-9]\.[0-9]+|-?[1-9][0-9]*\.[0-9]+|-?[0-9](\.[0-9]+)?[eE][+-]?[0-9]+)"
_PATTERNS = (
    (INT, r"^ *(0|-?[1-9][0-9]{0,18}) *$"),
    (FLOAT, rf"^ *({_NUMBER}|-?inf|nan) *$"),
    (DATE, r"^ *[0-9]{4}-[0-9]{2}-[0-9]{2} *$"),
    (BOOL, r"^ *(true|false) *$"),
)


def infer(texts: Any, type: Type | None = None) -> Type:
    """The type of an Arrow column of strings that has rows; `type` is a list whose elements have none yet."""
    if type is not None and type.name == "list":
        return _infer_list(texts, type)
    for candidate, pattern in _PATTERNS:
        if pc.all(pc.match_substring_regex(texts, pattern)).as_py():
            try:
                convert(texts, candidate)
            except BadCell:
                break  # 64 bits are too few, or there is no such day
            if candidate == FLOAT and not pc.any(pc.match_substring_regex(texts, "[0-9]")).as_py():
                break  # all of them `inf` and `nan`: words
            return candidate
    return STRING


def _infer_list(texts: Any, type: Type) -> Type:
    """Lists of what all their innermost elements together are."""
    depth = 1
    while type.element is not None:
        type, depth = type.element, depth + 1
    leaves: list[str] = []
    for row, text in enumerate(texts.to_pylist()):
        try:
            _collect(read_list(text), leaves)
        except ValueError as error:
            raise BadCell(str(error), row) from None
    found = infer(pa.array(leaves, pa.string())) if leaves else STRING
    for _ in range(depth):
        found = list_of(found)
    return found


def _collect(items: list[Any], leaves: list[str]) -> None:
    for item in items:
        if isinstance(item, list):
            _collect(item, leaves)
        else:
            leaves.append(item)


def together(types: Iterable[Type]) -> Type:
    """The type that holds the texts of columns which, each on its own, would have these types."""
    distinct = set(types)
    if len(distinct) == 1:
        return distinct.pop()
    elements = [type.element for type in distinct if type.element is not None]
    if len(elements) == len(distinct):
        return list_of(together(elements))
    return FLOAT if distinct == {INT, FLOAT} else STRING
