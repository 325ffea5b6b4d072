"""Messages as bytes and back, by the declarations in `messages`.

    length of the JSON head (4 bytes), the head, padding to 8, the tables one after another, each padded to 8

The head holds the message's name and fields, with the number of the table where a field is one: an Arrow table, as a
stream of Arrow's, or bytes as they are. What is read is checked against the declaration, field by field; nothing in
it is code, and nothing is unpickled.

>>> from headwater.nodes.messages.reading import Count
>>> encode(Count("link"))[4:]
b'{"message":{"is":"Count","relation":"link"},"tables":[]}    '
>>> decode(encode(Count("link")))
Count(relation='link')
"""

from __future__ import annotations

import dataclasses
import json
import operator
import struct
import types
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from headwater import events
from headwater.events import Event
from headwater.nodes.messages.message import Message
from headwater.store.arrow import read_stream, stream_bytes
from headwater.values.types import Type, parse_type

_LENGTH = struct.Struct("<I")
_json_text = json.JSONEncoder(separators=(",", ":")).encode
IS = "is"


class NotAMessage(ValueError):
    """Bytes that are no message, or a field that holds what it must not."""


Aside = list[bytes | memoryview]
"""Tables of a message that is written."""
Back = list[memoryview]
"""Tables of a message that is read."""


class Form(NamedTuple):
    """How a type of field is written as JSON and read again; tables are put aside. Values of exactly the type `plain`
    are written and read as they are."""

    write: Callable[[Any, Aside], Any]
    read: Callable[[Any, Back], Any]
    plain: type | None = None


def encode(message: Message) -> bytes:
    """The message as bytes, a multiple of 8 of them."""
    tables: Aside = []
    content = _form(Message).write(message, tables)
    head = _json_text({"message": content, "tables": [len(table) for table in tables]}).encode("ascii")
    head += b" " * _padding(_LENGTH.size + len(head))
    parts: Aside = [_LENGTH.pack(len(head)), head]
    for table in tables:
        parts += [table, bytes(_padding(len(table)))]
    return b"".join(parts)


def decode(payload: bytes) -> Message:
    """The message that these bytes are; its tables share their memory."""
    try:
        (length,) = _LENGTH.unpack_from(payload)
        offset = _LENGTH.size + length
        head = json.loads(payload[_LENGTH.size : offset])
        whole = memoryview(payload)
        tables: Back = []
        for size in head["tables"]:
            if isinstance(size, bool) or not 0 <= size <= len(whole) - offset:
                raise NotAMessage(f"a table of {size!r} bytes")
            tables.append(whole[offset : offset + size])
            offset += size + _padding(size)
        message: Message = _form(Message).read(head["message"], tables)
        return message
    except NotAMessage:
        raise
    except (struct.error, ValueError, KeyError, TypeError, IndexError, OSError, pa.ArrowException) as error:
        raise NotAMessage(str(error)) from error


def _padding(length: int) -> int:
    """How many bytes are missing to a multiple of 8."""
    return -length % 8


# ---------------------------------------------------------------------- forms of fields


@cache
def _form(hint: Any) -> Form:
    """How fields declared so are written and read."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _one_of(arguments)
    if origin is tuple:
        return _sequence(tuple, arguments)
    if origin is list:
        return _sequence(list, (*arguments, ...))
    if origin is dict:
        return _mapping(*arguments)
    kind = origin or hint
    if isinstance(kind, type) and issubclass(kind, Message):
        return _message(kind)
    if dataclasses.is_dataclass(kind):
        return _fields(kind)  # type: ignore[arg-type]
    raise TypeError(f"no form for {hint}")


def _scalar(kind: type, convert: Callable[[Any], Any]) -> Form:
    def read(value: Any, tables: Back) -> Any:
        if type(value) is kind:
            return value
        if kind is float and type(value) is int:
            return float(value)
        raise NotAMessage(f"{value!r} is no {kind.__name__}")

    return Form(lambda value, tables: convert(value), read, kind)


def _nothing(value: Any, tables: Aside | Back) -> None:
    if value is not None:
        raise NotAMessage(f"{value!r} is not None")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise NotAMessage(f"{value!r} is no str")
    return value


def _put_aside(table: bytes | memoryview, tables: Aside) -> int:
    tables.append(table)
    return len(tables) - 1


def _put_back(place: Any, tables: Back) -> memoryview:
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(tables):
        raise NotAMessage(f"there is no table {place!r}")
    return tables[place]


_PLAIN: dict[Any, Form] = {
    bool: _scalar(bool, bool),
    int: _scalar(int, operator.index),
    float: _scalar(float, float),
    str: _scalar(str, _text),
    type(None): Form(_nothing, _nothing),
    Type: Form(lambda value, tables: str(value), lambda value, tables: parse_type(_text(value))),
    Event: Form(
        lambda value, tables: value.to_json(),
        lambda value, tables: events.from_json(value),
    ),
    bytes: Form(_put_aside, lambda place, tables: bytes(_put_back(place, tables))),
    pa.Table: Form(
        lambda table, tables: _put_aside(stream_bytes(table), tables),
        lambda place, tables: read_stream(pa.py_buffer(_put_back(place, tables))),
    ),
}


def _one_of(arguments: tuple[Any, ...]) -> Form:
    """`None`, or one other form; or any of several scalars."""
    others = [argument for argument in arguments if argument is not type(None)]
    optional = len(others) < len(arguments)
    if len(others) > 1 and not all(other in (bool, int, float, str) for other in others):
        raise TypeError(f"no form for one of {arguments}")
    forms = [(other, _form(other)) for other in others]

    def chosen(value: Any) -> Form:
        for other, form in forms:
            if len(forms) == 1 or isinstance(value, other):
                return form
        raise NotAMessage(f"{value!r} is none of {arguments}")

    def write(value: Any, tables: Aside) -> Any:
        return None if value is None and optional else chosen(value).write(value, tables)

    def read(value: Any, tables: Back) -> Any:
        return None if value is None and optional else chosen(value).read(value, tables)

    return Form(write, read)


def _sequence(kind: type, arguments: tuple[Any, ...]) -> Form:
    """Many of one form (`tuple[int, ...]`), or one of each (`tuple[str, int]`)."""
    many = arguments[-1] is ...
    each = [_form(argument) for argument in arguments if argument is not ...]

    def forms(number: int) -> list[Form]:
        if many:
            return each * number
        if number != len(each):
            raise NotAMessage(f"{number} values where {len(each)} belong")
        return each

    def write(value: Any, tables: Aside) -> list[Any]:
        return [
            item if type(item) is plain else write(item, tables)
            for (write, _, plain), item in zip(forms(len(value)), value, strict=True)
        ]

    def read(value: Any, tables: Back) -> Any:
        if not isinstance(value, list):
            raise NotAMessage(f"{value!r} is no list")
        return kind(
            [
                item if type(item) is plain else read(item, tables)
                for (_, read, plain), item in zip(forms(len(value)), value, strict=True)
            ]
        )

    return Form(write, read)


def _mapping(key: Any, value: Any) -> Form:
    """As a list of pairs, since keys may be anything."""
    pairs = _form(list[tuple[key, value]])
    return Form(
        lambda mapping, tables: pairs.write(list(mapping.items()), tables),
        lambda found, tables: dict(pairs.read(found, tables)),
    )


@cache
def _fields(kind: Any) -> Form:
    forms: dict[str, Form] = {}

    def known() -> dict[str, Form]:
        """Looked up when they are needed first: a message may hold others of its own kind."""
        if not forms:
            hints = get_type_hints(kind)
            forms.update({field.name: _form(hints[field.name]) for field in dataclasses.fields(kind)})
        return forms

    def write(value: Any, tables: Aside) -> dict[str, Any]:
        return {
            name: part if type(part := getattr(value, name)) is plain else write(part, tables)
            for name, (write, _, plain) in known().items()
        }

    def read(value: Any, tables: Back) -> Any:
        if not isinstance(value, dict) or value.keys() != known().keys():
            raise NotAMessage(
                f"a {kind.__name__} has {', '.join(known()) or 'no fields'}, not {value!r:.200}"
            )
        return kind(
            **{
                name: part if type(part := value[name]) is plain else read(part, tables)
                for name, (_, read, plain) in forms.items()
            }
        )

    return Form(write, read)


def _message(kind: type[Message]) -> Form:
    """With its name, since a field may hold any message of a kind."""

    def write(value: Any, tables: Aside) -> dict[str, Any]:
        kind: Any = type(value)
        return {IS: kind.__name__, **_fields(kind).write(value, tables)}

    def read(value: Any, tables: Back) -> Any:
        if not isinstance(value, dict):
            raise NotAMessage(f"{value!r:.200} is no {kind.__name__}")
        named = Message.kinds.get(str(value.get(IS)))
        if named is None or not issubclass(named, kind) or not dataclasses.is_dataclass(named):
            raise NotAMessage(f"{value.get(IS)!r:.200} is no {kind.__name__}")
        del value[IS]
        return _fields(named).read(value, tables)

    return Form(write, read)
