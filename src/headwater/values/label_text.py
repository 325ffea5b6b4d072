"""Labelled nulls, and the values in them, as text that says their types, and back.

Text is quoted with `'`; what is neither text nor a number is a call of a text, as programs write it:
`?f(1, 'a', date('2024-01-31'))`. Lists are `[1, null]`, records `{name: 'ann'}`, maps `map('a', 1)`.

>>> from headwater.values.labelled import LabelledNull
>>> null = LabelledNull("f", (1, "it's", LabelledNull("g", (None, 2.0))))
>>> literal(null)
"?f(1, 'it\\\\'s', ?g(null, 2.0))"
>>> parse_label(literal(null)) == null
True
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.values import forms
from headwater.values.labelled import LabelledNull
from headwater.values.literals import LITERALS, literal_name
from headwater.values.record import FrozenMap, Struct

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_MEANT = {escaped[1]: plain for plain, escaped in _ESCAPES.items()}
_WORDS: dict[str, Any] = {
    "null": None, "true": True, "false": False, "nan": math.nan, "inf": math.inf, "-inf": -math.inf,
}  # fmt: skip
_SPECIAL = re.compile(r"[\\'\x00-\x1f\x7f\x85\u2028\u2029]")
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PLAIN_TEXT = re.compile(r"'[^'\\]*'")
_PLAIN_INT = re.compile(r"-?[0-9]+")
_PLAIN_TEXTS = re.compile(r"'[^'\\\n]*'(?:\n'[^'\\\n]*')*")
_PLAIN_INTS = re.compile(r"-?[0-9]+(?:\n-?[0-9]+)*")
_FIELD = re.compile(r"[^\W\d]\w*")
_TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<number>-?\d[\w.+-]*)|(?P<word>\?|-?[^\W\d]\w*)"
    r"|(?P<mark>[(),\[\]{}:]))",
    re.DOTALL,
)


def literal(value: Any) -> str:
    """A value as text that tells its type; `parse_literal` reads it."""
    if isinstance(value, LabelledNull):
        return f"?{value.function}({_commas(value.arguments)})"
    if isinstance(value, str):
        return f"'{_SPECIAL.sub(_escape, value)}'"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, tuple):
        return f"[{_commas(value)}]"
    if isinstance(value, Struct):
        return "{" + ", ".join(f"{_field(name)}: {literal(each)}" for name, each in value.items()) + "}"
    if isinstance(value, Mapping):
        return f"map({_commas(part for item in value.items() for part in item)})"
    name = literal_name(value)
    return repr(value) if name is None else f"{name}('{forms.form(value)}')"


def _commas(values: Any) -> str:
    return ", ".join(map(literal, values))


def _field(name: str) -> str:
    return name if _FIELD.fullmatch(name) else literal(name)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}"


# ------------------------------------------------------------------ back


def parse_label(text: str) -> LabelledNull:
    """The labelled null that a text shows; raises `ValueError` if it shows none."""
    value = parse_literal(text)
    if not isinstance(value, LabelledNull):
        raise ValueError(f"{text!r} is not a labelled null like ?f(1, 'a')")
    return value


def parse_literal(text: str) -> Any:
    """The value that `literal` wrote; raises `ValueError`."""
    if text[:1] == "'":
        if _PLAIN_TEXT.fullmatch(text):
            return text[1:-1]
    elif _PLAIN_INT.fullmatch(text):
        return int(text)
    reader = _LabelReader(text)
    value = reader.value()
    if reader.rest():
        raise ValueError(f"{text!r} is not a value like ?f(1, 'a')")
    return value


def parse_literals(texts: Sequence[str]) -> list[Any]:
    """The values of many texts, as of a column: those of ints alone, and of plain texts alone, are read at once.

    >>> parse_literals(["1", "-2"]), parse_literals(["'a'", "'b'"]), parse_literals(["1", "null", "'it\\\\'s'"])
    ([1, -2], ['a', 'b'], [1, None, "it's"])
    """
    together = "\n".join(texts)
    if together.count("\n") == len(texts) - 1:
        if _PLAIN_INTS.fullmatch(together):
            return list(map(int, texts))
        if _PLAIN_TEXTS.fullmatch(together):
            return [text[1:-1] for text in texts]
    known: dict[str, Any] = {text: parse_literal(text) for text in set(texts)}
    return [known[text] for text in texts]


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
            raise ValueError(f"{self._text!r} is not a value like ?f(1, 'a')")
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
            return tuple(self._until("]"))
        if token["mark"] == "{":
            return Struct(dict(self._until("}", self._named)))
        return self._word(token["word"] or token["mark"])

    def _word(self, word: str) -> Any:
        if word == "?":
            name = self._next()["word"]
            if name is None:
                raise ValueError(f"{self._text!r} has a labelled null without a name")
            self._expect("(")
            return LabelledNull(name, self._until(")"))
        if word == "map":
            self._expect("(")
            parts = self._until(")")
            return FrozenMap(dict(zip(parts[::2], parts[1::2], strict=True)))
        if word in LITERALS:
            self._expect("(")
            (text,) = self._until(")")
            return LITERALS[word](text)
        if word not in _WORDS:
            raise ValueError(f"{word!r} is not a value in {self._text!r}")
        return _WORDS[word]

    def _named(self) -> tuple[str, Any]:
        token = self._next()
        name = token["word"] if token["string"] is None else _ESCAPED.sub(_meant, token["string"][1:-1])
        self._expect(":")
        return name, self.value()

    def _expect(self, mark: str) -> None:
        if self._next()["mark"] != mark:
            raise ValueError(f"{mark} is missing in {self._text!r}")

    def _until(self, end: str, read: Any = None) -> list[Any]:
        values: list[Any] = []
        while True:
            before = self._at
            token = self._next()
            if token["mark"] == end:
                return values
            if not values:
                self._at = before
            elif token["mark"] != ",":
                raise ValueError(f"a comma is missing in {self._text!r}")
            values.append((read or self.value)())


def _meant(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _MEANT.get(escape, escape)
