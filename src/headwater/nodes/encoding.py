"""Messages as bytes and back, by the declarations in `messages`.

    length of the JSON head (4 bytes), the head, padding to 8, the tables as Arrow streams one after another

The head holds the message's name and fields, with the number of the table where a field is a table. What is read is
checked against the declaration, field by field; nothing in it is code, and nothing is unpickled.

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
IS = "is"


class NotAMessage(ValueError):
    """Bytes that are no message, or a field that holds what it must not."""


class Form(NamedTuple):
    """How a type of field is written as JSON and read again; tables are put aside."""

    write: Callable[[Any, list[pa.Table]], Any]
    read: Callable[[Any, list[pa.Table]], Any]


def encode(message: Message) -> bytes:
    """The message as bytes, a multiple of 8 of them."""
    tables: list[pa.Table] = []
    content = _form(Message).write(message, tables)
    streams = [stream_bytes(table) for table in tables]
    head = json.dumps(
        {"message": content, "tables": [len(stream) for stream in streams]}, separators=(",", ":")
    ).encode("ascii")
    head += b" " * (-(_LENGTH.size + len(head)) % 8)
    return b"".join([_LENGTH.pack(len(head)), head, *streams])


def decode(payload: bytes) -> Message:
    """The message that these bytes are; its tables share their memory."""
    try:
        (length,) = _LENGTH.unpack_from(payload)
        offset = _LENGTH.size + length
        head = json.loads(payload[_LENGTH.size : offset])
        whole = pa.py_buffer(payload)
        tables: list[pa.Table] = []
        for size in head["tables"]:
            tables.append(read_stream(whole.slice(offset, size)))
            offset += size
        message: Message = _form(Message).read(head["message"], tables)
        return message
    except NotAMessage:
        raise
    except (struct.error, ValueError, KeyError, TypeError, IndexError, OSError, pa.ArrowException) as error:
        raise NotAMessage(str(error)) from error


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
    def read(value: Any, tables: list[pa.Table]) -> Any:
        if isinstance(value, bool) is not (kind is bool) or not isinstance(value, kind):
            if kind is float and isinstance(value, int) and not isinstance(value, bool):
                return float(value)
            raise NotAMessage(f"{value!r} is no {kind.__name__}")
        return value

    return Form(lambda value, tables: convert(value), read)


def _nothing(value: Any, tables: list[pa.Table]) -> None:
    if value is not None:
        raise NotAMessage(f"{value!r} is not None")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise NotAMessage(f"{value!r} is no str")
    return value


def _put_aside(table: pa.Table, tables: list[pa.Table]) -> int:
    tables.append(table)
    return len(tables) - 1


def _put_back(place: Any, tables: list[pa.Table]) -> pa.Table:
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
    pa.Table: Form(_put_aside, _put_back),
}


def _one_of(arguments: tuple[Any, ...]) -> Form:
    """`None`, or one other form; or any of several scalars."""
    others = [argument for argument in arguments if argument is not type(None)]
    optional = len(others) < len(arguments)
    if len(others) > 1 and not all(other in (bool, int, float, str) for other in others):
        raise TypeError(f"no form for one of {arguments}")

    def either(act: Callable[[Form], Callable[[Any, list[pa.Table]], Any]]) -> Callable[..., Any]:
        def work(value: Any, tables: list[pa.Table]) -> Any:
            if value is None and optional:
                return None
            for other in others:
                if len(others) == 1 or isinstance(value, other):
                    return act(_form(other))(value, tables)
            raise NotAMessage(f"{value!r} is none of {arguments}")

        return work

    return Form(either(lambda form: form.write), either(lambda form: form.read))


def _sequence(kind: type, arguments: tuple[Any, ...]) -> Form:
    """Many of one form (`tuple[int, ...]`), or one of each (`tuple[str, int]`)."""
    many = arguments[-1] is ...

    def forms(number: int) -> list[Form]:
        if many:
            return [_form(arguments[0])] * number
        if number != len(arguments):
            raise NotAMessage(f"{number} values where {len(arguments)} belong")
        return [_form(argument) for argument in arguments]

    def write(value: Any, tables: list[pa.Table]) -> list[Any]:
        return [f.write(item, tables) for f, item in zip(forms(len(value)), value, strict=True)]

    def read(value: Any, tables: list[pa.Table]) -> Any:
        if not isinstance(value, list):
            raise NotAMessage(f"{value!r} is no list")
        return kind(f.read(item, tables) for f, item in zip(forms(len(value)), value, strict=True))

    return Form(write, read)


def _mapping(key: Any, value: Any) -> Form:
    """As a list of pairs, since keys may be anything."""
    pairs = _sequence(list, (tuple[key, value], ...))
    return Form(
        lambda mapping, tables: pairs.write(list(mapping.items()), tables),
        lambda found, tables: dict(pairs.read(found, tables)),
    )


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _fields(kind: type) -> Form:
    def write(value: Any, tables: list[pa.Table]) -> dict[str, Any]:
        return {name: _form(hint).write(getattr(value, name), tables) for name, hint in _hints(kind).items()}

    def read(value: Any, tables: list[pa.Table]) -> Any:
        hints = _hints(kind)
        if not isinstance(value, dict) or value.keys() != hints.keys():
            raise NotAMessage(f"a {kind.__name__} has {', '.join(hints) or 'no fields'}, not {value!r:.200}")
        return kind(**{name: _form(hint).read(value[name], tables) for name, hint in hints.items()})

    return Form(write, read)


def _message(kind: type[Message]) -> Form:
    """With its name, since a field may hold any message of a kind."""

    def write(value: Any, tables: list[pa.Table]) -> dict[str, Any]:
        fields: dict[str, Any] = _fields(type(value)).write(value, tables)
        return {IS: type(value).__name__, **fields}

    def read(value: Any, tables: list[pa.Table]) -> Any:
        if not isinstance(value, dict):
            raise NotAMessage(f"{value!r:.200} is no {kind.__name__}")
        named = Message.kinds.get(str(value.get(IS)))
        if named is None or not issubclass(named, kind) or not dataclasses.is_dataclass(named):
            raise NotAMessage(f"{value.get(IS)!r:.200} is no {kind.__name__}")
        return _fields(named).read({name: part for name, part in value.items() if name != IS}, tables)

    return Form(write, read)
