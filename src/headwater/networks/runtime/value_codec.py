"""Values as bytes and back: a byte for the type, then the value. Any value that a row can have.

What is not a number, a text, bytes or a list is written as text, in the form that labelled nulls have it.

>>> import datetime
>>> out = bytearray()
>>> put_values(out, ("a", -7, None, datetime.date(2024, 2, 29)))
>>> get_values(WireReader(b"." + bytes(out), ord(".")))
('a', -7, None, datetime.date(2024, 2, 29))
"""

from __future__ import annotations

import struct
from typing import Any

from headwater.annotations.wire import WireReader, damaged, put_varint
from headwater.values.label_text import literal, parse_literal
from headwater.values.scalars import NAN

_NULL, _FALSE, _TRUE, _INT, _TEXT, _FLOAT, _LIST, _BYTES, _LITERAL = range(9)


def zigzag(number: int) -> int:
    """A number of either sign as one from 0 up."""
    return number << 1 if number >= 0 else (-number << 1) - 1


def signed(number: int) -> int:
    """The number that `zigzag` made this of."""
    return -(number + 1 >> 1) if number & 1 else number >> 1


def put_values(out: bytearray, values: tuple[Any, ...]) -> None:
    """Append a row, or a list."""
    put_varint(out, len(values))
    for value in values:
        put_value(out, value)


def put_value(out: bytearray, value: Any) -> None:
    """Append a value with its type."""
    kind = type(value)
    if kind is int:
        out.append(_INT)
        put_varint(out, zigzag(value))
    elif kind is str:
        out.append(_TEXT)
        _put_text(out, value)
    elif value is None:
        out.append(_NULL)
    elif kind is bool:
        out.append(_TRUE if value else _FALSE)
    elif kind is float:
        out.append(_FLOAT)
        out += struct.pack("<d", value)
    elif kind is tuple:
        out.append(_LIST)
        put_values(out, value)
    elif kind is bytes:
        out.append(_BYTES)
        put_varint(out, len(value))
        out += value
    else:
        out.append(_LITERAL)
        _put_text(out, literal(value))


def values_size(values: tuple[Any, ...]) -> int:
    """How many bytes `put_values` appends.

    >>> out = bytearray()
    >>> put_values(out, (("a", "é"), -64, None)), values_size((("a", "é"), -64, None)) == len(out)
    (None, True)
    """
    size = varint_size(len(values))
    for value in values:
        kind = type(value)
        if kind is str and value.isascii():
            length = len(value)
            size += 2 + length if length < 0x80 else 1 + varint_size(length) + length
        elif kind is int:
            size += 1 + varint_size(zigzag(value))
        elif kind is tuple:
            size += 1 + (_texts_size(value) or values_size(value))
        else:
            out = bytearray()
            put_value(out, value)
            size += len(out)
    return size


def _texts_size(values: tuple[Any, ...]) -> int:
    """The same of a list of short plain texts, such as a path; 0 for all others."""
    try:
        text = "".join(values)
    except TypeError:
        return 0
    count = len(values)
    if count < 0x80 and text.isascii() and (len(text) < 0x80 or max(map(len, values)) < 0x80):
        return 1 + 2 * count + len(text)
    return 0


def varint_size(number: int) -> int:
    """How many bytes a number from 0 up takes."""
    return 1 if number < 0x80 else (number.bit_length() + 6) // 7


def get_values(reader: WireReader) -> tuple[Any, ...]:
    """The next row, or list."""
    return tuple(get_value(reader) for _ in range(reader.count()))


def get_value(reader: WireReader) -> Any:
    """The next value."""
    kind = reader.raw(1)[0]
    if kind == _INT:
        return signed(reader.varint())
    if kind == _TEXT:
        return _get_text(reader)
    if kind == _NULL:
        return None
    if kind in (_FALSE, _TRUE):
        return kind == _TRUE
    if kind == _FLOAT:
        (number,) = struct.unpack("<d", reader.raw(8))
        return NAN if number != number else number
    if kind == _LIST:
        return get_values(reader)
    if kind == _BYTES:
        return reader.raw(reader.count())
    if kind == _LITERAL:
        return parse_literal(_get_text(reader))
    raise damaged(f"no value has the tag {kind}")


def _put_text(out: bytearray, text: str) -> None:
    data = text.encode()
    put_varint(out, len(data))
    out += data


def _get_text(reader: WireReader) -> str:
    try:
        return reader.raw(reader.count()).decode()
    except UnicodeDecodeError:
        raise damaged("a text that is none") from None
