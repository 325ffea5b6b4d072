"""Lists as the text of a cell: `[a, b, "c, d"]`.

A list in a list is written the same way, up to `MOST_NESTED` deep. An element that could be misread is a JSON
string; all others are bare, and blanks around them do not count. A bare `null` is no value.

>>> write_list(("a", "b, c", "", ("x",)))
'[a, "b, c", "", [x]]'
>>> read_list('[a, "b, c","" , [x] ]')
['a', 'b, c', '', ['x']]
"""

from __future__ import annotations

import json
import re
from typing import Any

from headwater.values.forms import form

_BARE = re.compile(r"[^\s\[\],\"\\](?:[^\[\],\"\\\r\n\t]*[^\s\[\],\"\\])?")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_SPACE = re.compile(r"\s*")

MOST_NESTED = 100


def write_list(items: tuple[Any, ...]) -> str:
    """The text of a list."""
    return f"[{', '.join(map(_write, items))}]"


def _write(item: Any) -> str:
    if isinstance(item, (tuple, list)):
        return write_list(tuple(item))
    if item is None:
        return "null"
    text = form(item)
    return text if _BARE.fullmatch(text) and text != "null" else json.dumps(text, ensure_ascii=False)


def read_list(text: str) -> list[Any]:
    """The elements as texts, and as lists of them; raises `ValueError` with words for the user."""
    items, end = _read(text, _skip(text, 0), 1)
    if _skip(text, end) < len(text):
        raise ValueError(f"there is more after the list: {text[end:]!r}")
    return items


def _read(text: str, start: int, depth: int) -> tuple[list[Any], int]:
    if depth > MOST_NESTED:
        raise ValueError(f"its lists are nested more than {MOST_NESTED} deep")
    if not text.startswith("[", start):
        raise ValueError("it is not a list like [a, b]")
    items: list[Any] = []
    position = _skip(text, start + 1)
    if text.startswith("]", position):
        return items, position + 1
    while True:
        item, position = _item(text, position, depth)
        items.append(item)
        position = _skip(text, position)
        if text.startswith("]", position):
            return items, position + 1
        if not text.startswith(",", position):
            raise ValueError(f"expected ',' or ']' at character {position + 1} of the list")
        position = _skip(text, position + 1)


def _item(text: str, position: int, depth: int) -> tuple[Any, int]:
    if text.startswith("[", position):
        return _read(text, position, depth + 1)
    quoted = _STRING.match(text, position)
    if quoted is not None:
        try:
            return json.loads(quoted[0], strict=False), quoted.end()
        except json.JSONDecodeError:
            raise ValueError(f"{quoted[0]} is not a string as JSON has them") from None
    bare = _BARE.match(text, position)
    if bare is None:
        raise ValueError(f"expected an element at character {position + 1} of the list")
    return None if bare[0] == "null" else bare[0], bare.end()


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    assert found is not None  # it matches nothing, too
    return found.end()
