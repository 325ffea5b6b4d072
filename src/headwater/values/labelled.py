"""Labelled nulls: values of which only the identity is known, by the function and the arguments that made them.

Two are equal exactly when functions and arguments are, types included: `?f(1)` is not `?f(1.0)`. Their text says
all of it and can be read again; so it is also how they are stored and sent.

>>> null = LabelledNull("f", (1, "it's", LabelledNull("g", (None, 2.0))))
>>> null
?f(1, 'it\\'s', ?g(null, 2.0))
>>> parse_label(str(null)) == null, LabelledNull("f", (1,)) == LabelledNull("f", (1.0,))
(True, False)
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable, Hashable
from typing import Any

LABEL = "?"
"""Ends the name of a column that holds the texts of another's labelled nulls."""


class LabelledNull:
    """A value made by `?function(arguments)`, equal to nothing but itself."""

    __slots__ = ("_hash", "_key", "arguments", "function")

    function: str
    arguments: tuple[Any, ...]

    def __init__(self, function: str, arguments: tuple[Any, ...] | list[Any] = ()):
        """Name the function and its arguments, which are values of any type, nulls and labelled nulls among them."""
        if not isinstance(function, str) or not _NAME.fullmatch(function):
            raise ValueError(f"{function!r} is not the name of a function")
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "arguments", tuple(map(_frozen, arguments)))
        key = (function, tuple(map(_identity, self.arguments)))
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_hash", hash(key))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a labelled null cannot be changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a labelled null cannot be changed: {name}")

    def __reduce__(self) -> tuple[type[LabelledNull], tuple[str, tuple[Any, ...]]]:
        return LabelledNull, (self.function, self.arguments)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, LabelledNull):
            return NotImplemented
        return self._hash == other._hash and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"?{self.function}({', '.join(map(literal, self.arguments))})"

    _key: tuple[Any, ...]
    _hash: int


def _frozen(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    return value + 0.0 if isinstance(value, float) else value


def _identity(value: Any) -> Hashable:
    """What tells a value from all others, also where Python holds `1 == 1.0 == True`."""
    if isinstance(value, tuple):
        return ("list", *map(_identity, value))
    if isinstance(value, float) and value != value:
        return ("float", "nan")
    if isinstance(value, decimal.Decimal):
        return ("decimal", value.as_tuple())
    return (type(value).__name__, value)


# ------------------------------------------------------------------ text

_TYPED: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "timestamp": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "binary": (bytes, bytes.hex, bytes.fromhex),
}
"""Values written as a call with one string: the Python class, its text, and reading that."""
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_MEANT = {escaped[1]: plain for plain, escaped in _ESCAPES.items()}
_WORDS: dict[str, Any] = {
    "null": None, "true": True, "false": False, "nan": math.nan, "inf": math.inf, "-inf": -math.inf,
}  # fmt: skip


def literal(value: Any) -> str:
    """A value as the argument of a labelled null is written; `parse_label` reads it with its type."""
    if isinstance(value, str):
        return f"'{_SPECIAL.sub(_escape, value)}'"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    for name, (kind, text, _) in _TYPED.items():
        if isinstance(value, kind):
            return f"{name}('{text(value)}')"
    return repr(value)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}"


_NAME = re.compile(r"[^\W\d]\w*")
_SPECIAL = re.compile(r"[\\'\x00-\x1f\x7f\x85\u2028\u2029]")
_TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<number>-?\d[\w.+-]*)|(?P<word>\?|-?[^\W\d]\w*)"
    r"|(?P<mark>[(),\[\]]))",
    re.DOTALL,
)


def parse_label(text: str) -> LabelledNull:
    """The labelled null that a text shows; raises `ValueError` if it shows none."""
    reader = _LabelReader(text)
    value = reader.value()
    if not isinstance(value, LabelledNull) or reader.rest():
        raise ValueError(f"{text!r} is not a labelled null like ?f(1, 'a')")
    return value


def parse_literal(text: str) -> Any:
    """The value that `literal` wrote; raises `ValueError`."""
    reader = _LabelReader(text)
    value = reader.value()
    if reader.rest():
        raise ValueError(f"{text!r} is not a value")
    return value


class _LabelReader:
    """A text from left to right."""

    def __init__(self, text: str):
        self._text = text
        self._at = 0

    def rest(self) -> str:
        return self._text[self._at :].strip()

    def _next(self) -> re.Match[str]:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise ValueError(f"{self._text!r} is not a labelled null like ?f(1, 'a')")
        self._at = found.end()
        return found

    def value(self) -> Any:
        token = self._next()
        if token["string"] is not None:
            return _ESCAPED.sub(_meant, token["string"][1:-1])
        if token["number"] is not None:
            number = token["number"]
            return int(number) if re.fullmatch(r"-?\d+", number) else float(number)
        if token["mark"] == "[":
            return self._until("]")
        word = token["word"]
        if word == "?":
            name = self._next()["word"] or ""
            self._open()
            return LabelledNull(name, self._until(")"))
        if word in _TYPED:
            self._open()
            (text,) = self._until(")")
            return _TYPED[word][2](text)
        if word not in _WORDS:
            raise ValueError(f"{word!r} is not a value in {self._text!r}")
        return _WORDS[word]

    def _open(self) -> None:
        if self._next()["mark"] != "(":
            raise ValueError(f"a bracket is missing in {self._text!r}")

    def _until(self, end: str) -> tuple[Any, ...]:
        values: list[Any] = []
        while True:
            before = self._at
            token = self._next()
            if token["mark"] == end:
                return tuple(values)
            if not values:
                self._at = before
            elif token["mark"] != ",":
                raise ValueError(f"a comma is missing in {self._text!r}")
            values.append(self.value())


_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


def _meant(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _MEANT.get(escape, escape)
