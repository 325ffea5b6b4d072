"""Functions of strings, and conversions between strings and other types.

Lengths and positions count code points, from 0. `match` wants the whole string to match, see
`patterns`. Conversions from strings take plain decimal notation only and fail on anything
else: no blanks around it, no underscores. `to_string` gives what the conversions back take.

`ord` gives an int that is the same for equal strings, on every machine and in every version: the first 63
bits of the BLAKE2b digest of the UTF-8 bytes. (Souffle gives the symbol's number in its table, which depends
on the order in which symbols were met.) Distinct strings get distinct ints but for a chance of 1 in 2**63 a
pair, and their order means nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.values.arithmetic import to_int
from headwater.values.forms import form
from headwater.values.patterns import matches
from headwater.values.ring import id_minus, id_plus, id_shift, id_unshift
from headwater.values.scalars import canonical_float, value_type
from headwater.values.signatures import Overload, pointwise

_INT = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf|nan")


def parse_int(text: str) -> int:
    """The int written in `text`."""
    if not _INT.fullmatch(text):
        raise ValueError("it is not a whole number")
    if not -(2**63) <= (value := int(text)) < 2**63:
        raise ValueError("it does not fit 64 bits")
    return value


def parse_float(text: str) -> float:
    """The float nearest to what is written in `text`."""
    if not _FLOAT.fullmatch(text):
        raise ValueError("it is not a number")
    return canonical_float(float(text))


def substring(text: str, start: int, length: int) -> str:
    """At most `length` characters from `start` on; nothing where either is negative.

    >>> substring("headwater", 4, 3), substring("head", 2, 100), substring("head", -1, 2)
    ('wat', 'ad', '')
    """
    return text[start : start + length] if start >= 0 and length > 0 else ""


def ordinal(text: str) -> int:
    """A stable int for a string; see the module."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def _split(text: str, separator: str) -> tuple[str, ...]:
    if not separator:
        raise ValueError("the separator is empty")
    return tuple(text.split(separator))


def _truncate(value: float) -> int:
    return to_int("to_int", value)


def _unsigned(value: int) -> int:
    if value < 0:
        raise ValueError("it is negative, and ints are not taken modulo a power of 2")
    return value


_TO_INT = (
    ("string -> int", parse_int),
    ("int -> int", int),
    ("float -> int", _truncate),
    ("bool -> int", int),
)
_TO_UNSIGNED = tuple(
    (text, lambda value, convert=convert: _unsigned(convert(value))) for text, convert in _TO_INT
)
_IDENTIFIERS = ("string, string -> string", "string, int -> string", "int, string -> string")
_SHIFTED = ("int, int -> string", "string, int -> string")
_TO_FLOAT = (("float -> float", canonical_float), ("string -> float", parse_float), ("bool -> float", float))

_SINGLE: Mapping[str, tuple[str, Any]] = {
    "cat": ("string, string... -> string", lambda *parts: "".join(parts)),
    "strlen": ("string -> int", len),
    "substr": ("string, int, int -> string", substring),
    "lower": ("string -> string", str.lower),
    "upper": ("string -> string", str.upper),
    "strip": ("string -> string", str.strip),
    "replace": ("string, string, string -> string", lambda text, old, new: text.replace(old, new)),
    "split": ("string, string -> list[string]", _split),
    "join": ("list[string], string -> string", lambda parts, separator: separator.join(parts)),
    "contains": ("string, string -> bool", lambda needle, text: needle in text),
    "match": ("string, string -> bool", matches),
    "starts_with": ("string, string -> bool", lambda text, start: text.startswith(start)),
    "ends_with": ("string, string -> bool", lambda text, end: text.endswith(end)),
    "ord": ("string -> int", ordinal),
    "f_hashIp": ("string -> int", ordinal),
    "f_sha1": ("string -> string", lambda text: hashlib.sha1(text.encode()).hexdigest()),
    "f_tostr": ("_ -> string", form),
    "f_tovar": ("_ -> string", form),
    "f_catAll": ("_, _... -> string", lambda *parts: "".join(map(form, parts))),
    "f_pEDB": ("_, _... -> string", lambda *parts: "".join(map(form, parts))),
    "f_pIDB": ("list[string], _ -> string", lambda ways, place: f"({' + '.join(ways)})@{form(place)}"),
    "f_pRULE": (
        "list[string], _, string -> string",
        lambda parts, place, rule: f"{rule}({' * '.join(parts)})@{form(place)}",
    ),
    "to_string": ("_ -> string", form),
}


def _named(names: Sequence[str], ways: Sequence[tuple[str, Any]]) -> dict[str, list[Overload]]:
    return {name: [pointwise(name, text, function) for text, function in ways] for name in names}


def type_name(value: Any) -> str:
    """The type of a value, by its name; of nothing, `null`."""
    return "null" if value is None else str(value_type(value))


TEXT: Mapping[str, list[Overload]] = {
    **_named(("f_idPlus",), [(text, id_plus) for text in _IDENTIFIERS]),
    **_named(("f_idMinus",), [(text, id_minus) for text in _IDENTIFIERS]),
    **_named(("f_idShift",), [(text, id_shift) for text in _SHIFTED]),
    **_named(("f_idUnshift",), [(text, id_unshift) for text in _SHIFTED]),
    "f_typeOf": [pointwise("f_typeOf", "_ -> string", type_name, strict=False)],
    **{name: [pointwise(name, text, function)] for name, (text, function) in _SINGLE.items()},
    **_named(("to_number", "to_int"), _TO_INT),
    **_named(("to_unsigned",), _TO_UNSIGNED),
    **_named(("to_float",), _TO_FLOAT),
    **_named(("ftoi", "utoi"), [_TO_INT[1], _TO_INT[2]]),
    **_named(("ftou", "itou"), [_TO_UNSIGNED[1], _TO_UNSIGNED[2]]),
    **_named(("itof", "utof"), [_TO_FLOAT[0]]),
}
