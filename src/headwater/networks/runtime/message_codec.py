"""Messages as bytes and back: one codec for all kinds.

A byte for the kind, then its fields: numbers as varints, values with a byte for their type. Nothing that comes in is
trusted: what does not decode to the last byte is refused.

>>> message = Derived(3, ("a", 7), ((1, 5),))
>>> decode_message(encode_message(message)) == message, size_of(message)
(True, 12)
"""

from __future__ import annotations

import struct
from typing import Any

from headwater.annotations.wire import WireReader, damaged, get_set, put_set, put_varint
from headwater.networks.runtime.messages import Derived, Gone, Message, SeenDeletions
from headwater.values.scalars import NAN

_DERIVED, _GONE, _SEEN = 16, 17, 18
_NULL, _FALSE, _TRUE, _INT, _TEXT, _FLOAT, _LIST, _BYTES = range(8)


def encode_message(message: Message) -> bytes:
    """The message as bytes."""
    out = bytearray()
    if isinstance(message, Derived):
        out.append(_DERIVED)
        put_varint(out, message.relation)
        put_values(out, message.row)
        put_varint(out, len(message.terms))
        for term in message.terms:
            put_set(out, term)
    elif isinstance(message, Gone):
        out.append(_GONE)
        put_varint(out, message.variable)
    else:
        out.append(_SEEN)
        for pairs in (message.seen, message.dropped):
            put_varint(out, len(pairs))
            for owner, count in pairs:
                put_varint(out, owner)
                put_varint(out, count)
    return bytes(out)


def decode_message(data: bytes) -> Message:
    """The message that these bytes are."""
    reader = WireReader(data, data[0] if data else -1)
    message: Message
    if data[0] == _DERIVED:
        relation, row = reader.varint(), get_values(reader)
        message = Derived(relation, row, tuple(tuple(get_set(reader)) for _ in range(reader.count())))
    elif data[0] == _GONE:
        message = Gone(reader.varint())
    elif data[0] == _SEEN:
        seen, dropped = (
            tuple((reader.varint(), reader.varint()) for _ in range(reader.count())) for _ in range(2)
        )
        message = SeenDeletions(seen, dropped)
    else:
        raise damaged(f"no message has the tag {data[0]}")
    reader.end()
    return message


def size_of(message: Message) -> int:
    """How many bytes it takes."""
    return len(encode_message(message))


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
        put_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)
    elif kind is str:
        out.append(_TEXT)
        text = value.encode()
        put_varint(out, len(text))
        out += text
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
        raise TypeError(f"{kind.__name__} has no wire form")


def get_values(reader: WireReader) -> tuple[Any, ...]:
    """The next row, or list."""
    return tuple(get_value(reader) for _ in range(reader.count()))


def get_value(reader: WireReader) -> Any:
    """The next value."""
    kind = reader.raw(1)[0]
    if kind == _INT:
        number = reader.varint()
        return -(number + 1 >> 1) if number & 1 else number >> 1
    if kind == _TEXT:
        try:
            return reader.raw(reader.count()).decode()
        except UnicodeDecodeError:
            raise damaged("a text that is none") from None
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
    raise damaged(f"no value has the tag {kind}")
