"""Messages as bytes and back: one codec for all kinds.

A byte for the kind, then its fields: numbers as varints, rows as `value_codec` writes them. Nothing that comes in is
trusted: what does not decode to the last byte is refused.

>>> message = Derived(3, ("a", 7), ((1, 5),))
>>> decode_message(encode_message(message)) == message, size_of(message)
(True, 12)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from headwater.annotations.wire import WireReader, damaged, get_set, put_set, put_varint
from headwater.networks.runtime.messages import (
    Alive,
    AskedFor,
    CountedDerivations,
    Derived,
    Dropped,
    EventRaised,
    Follows,
    FollowsBy,
    Gone,
    Grounded,
    Instance,
    Message,
    PlainMessage,
    RowDeleted,
    RowInserted,
    SeenDeletions,
    Shape,
    SharedMessage,
    Supported,
    TakenBack,
)
from headwater.networks.runtime.value_codec import get_values, put_values, signed, zigzag

_DERIVED, _GONE, _SEEN, _INSTANCES, _DROPPED, _ALIVE, _TOGETHER = range(16, 23)
_ALIKE = 64
"""In a message of several: one whose row is much like that of a message before it."""
MOST_LOOKED_BACK = 48
"""How many messages before it are looked at, for one that is alike."""
_A_DIAGRAM = 0
"""In the place of how many terms there are: no row is shipped without any."""
_PLAIN: dict[type[Follows | TakenBack | AskedFor | Grounded | EventRaised | RowInserted | RowDeleted], int] = {
    Follows: 32, TakenBack: 33, AskedFor: 34, Grounded: 35, EventRaised: 36, RowInserted: 37, RowDeleted: 38,
}  # fmt: skip
"""Messages of a relation and a row."""
_NUMBERED: dict[type[CountedDerivations | Supported], int] = {CountedDerivations: 48, Supported: 49}
"""Those of a relation, a row and a number."""
_KINDS = {tag: kind for kinds in (_PLAIN, _NUMBERED) for kind, tag in kinds.items()}


def encode_message(message: Message) -> bytes:
    """The message as bytes."""
    out = bytearray()
    if isinstance(message, SharedMessage):
        return _encode_together(message)
    if isinstance(message, Derived):
        out.append(_DERIVED)
        put_varint(out, message.relation)
        put_values(out, message.row)
        _put_shape(out, message.terms)
    elif isinstance(message, Gone):
        out.append(_GONE)
        put_varint(out, message.variable)
        put_varint(out, message.number)
    elif isinstance(message, SeenDeletions):
        out.append(_SEEN)
        for pairs in (message.seen, message.dropped):
            put_varint(out, len(pairs))
            for owner, count in pairs:
                put_varint(out, owner)
                put_varint(out, count)
    else:
        _put_other(out, message)
    return bytes(out)


def _put_shape(out: bytearray, terms: Shape) -> None:
    if isinstance(terms, bytes):
        out.append(_A_DIAGRAM)
        put_varint(out, len(terms))
        out += terms
    else:
        put_varint(out, len(terms))
        for term in terms:
            put_set(out, term)


def _encode_together(message: SharedMessage) -> bytes:
    """Each message with its length, or as what it differs in from one before it."""
    out = bytearray([_TOGETHER])
    put_varint(out, len(message.messages))
    for number, each in enumerate(message.messages):
        alike = _most_alike(message.messages[max(0, number - MOST_LOOKED_BACK) : number], each)
        plain = encode_message(each)
        if alike is not None and isinstance(each, Derived):
            back, other = alike
            shorter = _encode_alike(each, other, back)
            if len(shorter) < len(plain) + varint_size(len(plain)):
                out += shorter
                continue
        put_varint(out, len(plain))
        out += plain
    return bytes(out)


def _most_alike(before: tuple[PlainMessage, ...], message: PlainMessage) -> tuple[int, Derived] | None:
    """The message of some before whose row has most values of this one, and how far back it is."""
    if not isinstance(message, Derived):
        return None
    best, found = 0, None
    for back, other in enumerate(reversed(before), 1):
        if isinstance(other, Derived) and len(other.row) == len(message.row):
            equal = sum(map(_identical, other.row, message.row)) + (other.terms == message.terms)
            if equal > best:
                best, found = equal, (back, other)
    return found


def _identical(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other) and repr(one) == repr(other)


def _encode_alike(message: Derived, other: Derived, back: int) -> bytes:
    out = bytearray([0, _ALIKE])
    put_varint(out, back)
    put_varint(out, message.relation)
    same = [_identical(one, two) for one, two in zip(message.row, other.row, strict=True)]
    shared = message.terms == other.terms
    put_varint(out, sum(1 << number for number, equal in enumerate([shared, *same]) if equal))
    put_values(out, tuple(value for value, equal in zip(message.row, same, strict=True) if not equal))
    if not shared:
        _put_shape(out, message.terms)
    return bytes(out)


def _get_together(reader: WireReader) -> SharedMessage:
    found: list[PlainMessage] = []
    for _ in range(reader.count()):
        length = reader.varint()
        if length:
            each = decode_message(reader.raw(length))
            if isinstance(each, SharedMessage):
                raise damaged("messages within messages within messages")
            found.append(each)
            continue
        if reader.raw(1)[0] != _ALIKE:
            raise damaged("a message that is not like another")
        back, relation, marks = reader.varint(), reader.varint(), reader.varint()
        other = found[-back] if 0 < back <= len(found) else None
        if not isinstance(other, Derived):
            raise damaged("a message that is like none")
        rest = iter(get_values(reader))
        try:
            row = tuple(
                value if marks >> number & 1 else next(rest) for number, value in enumerate(other.row, 1)
            )
        except StopIteration:
            raise damaged("a row that lacks values") from None
        found.append(Derived(relation, row, other.terms if marks & 1 else _get_shape(reader)))
    return SharedMessage(tuple(found))


def _put_other(
    out: bytearray,
    message: CountedDerivations
    | Follows
    | TakenBack
    | Supported
    | FollowsBy
    | Dropped
    | AskedFor
    | Grounded
    | Alive
    | EventRaised
    | RowInserted
    | RowDeleted,
) -> None:
    """Messages that begin with a relation and a row."""
    if isinstance(message, FollowsBy):
        tag = _INSTANCES
    elif isinstance(message, Dropped):
        tag = _DROPPED
    elif isinstance(message, Alive):
        tag = _ALIVE
    elif isinstance(message, CountedDerivations | Supported):
        tag = _NUMBERED[type(message)]
    else:
        tag = _PLAIN[type(message)]
    out.append(tag)
    put_varint(out, message.relation)
    put_values(out, message.row)
    if isinstance(message, FollowsBy):
        put_varint(out, len(message.instances))
        for instance in message.instances:
            _put_instance(out, instance)
    elif isinstance(message, Dropped):
        _put_instance(out, message.instance)
    elif isinstance(message, Alive):
        out += struct.pack("<d", message.until)
    elif isinstance(message, CountedDerivations):
        put_varint(out, zigzag(message.number))
    elif isinstance(message, Supported):
        put_varint(out, zigzag(message.rank))


def _put_instance(out: bytearray, instance: Instance) -> None:
    rule, rows = instance
    put_varint(out, rule)
    put_varint(out, len(rows))
    for row in rows:
        put_values(out, row)


def _get_instance(reader: WireReader) -> Instance:
    return reader.varint(), tuple(get_values(reader) for _ in range(reader.count()))


def decode_message(data: bytes) -> Message:
    """The message that these bytes are."""
    reader = WireReader(data, data[0] if data else -1)
    message: Message
    if data[0] == _DERIVED:
        relation, row = reader.varint(), get_values(reader)
        message = Derived(relation, row, _get_shape(reader))
    elif data[0] == _GONE:
        message = Gone(reader.varint(), reader.varint())
    elif data[0] == _SEEN:
        seen, dropped = (
            tuple((reader.varint(), reader.varint()) for _ in range(reader.count())) for _ in range(2)
        )
        message = SeenDeletions(seen, dropped)
    elif data[0] == _TOGETHER:
        message = _get_together(reader)
    else:
        message = _get_other(data[0], reader)
    reader.end()
    return message


def _get_other(tag: int, reader: WireReader) -> Message:
    if tag not in _KINDS and tag not in (_INSTANCES, _DROPPED, _ALIVE):
        raise damaged(f"no message has the tag {tag}")
    relation, row = reader.varint(), get_values(reader)
    if tag == _INSTANCES:
        return FollowsBy(relation, row, tuple(_get_instance(reader) for _ in range(reader.count())))
    if tag == _DROPPED:
        return Dropped(relation, row, _get_instance(reader))
    if tag == _ALIVE:
        return Alive(relation, row, struct.unpack("<d", reader.raw(8))[0])
    kind = _KINDS[tag]
    if kind is CountedDerivations or kind is Supported:
        return kind(relation, row, signed(reader.varint()))
    return kind(relation, row)  # type: ignore[call-arg]


def size_of(message: Message) -> int:
    """How many bytes it takes: as long as `encode_message` makes it, from what is known of its parts."""
    if type(message) in _PLAIN:
        return row_size(message.relation, message.row)  # type: ignore[union-attr]
    if isinstance(message, Derived):
        return row_size(message.relation, message.row) + terms_size(message.terms)
    return len(encode_message(message))


MOST_SIZES_KNOWN = 1 << 17
"""Rows, and terms, whose sizes are remembered, after which all are forgotten."""

_row_sizes: dict[tuple[int, tuple[Any, ...]], int] = {}
_term_sizes: dict[tuple[int, ...], int] = {}


def row_size(relation: int, row: tuple[Any, ...]) -> int:
    """How many bytes a message's kind, relation and row take."""
    found = _row_sizes.get((relation, row))
    if found is None:
        if len(_row_sizes) >= MOST_SIZES_KNOWN:
            _row_sizes.clear()
        out = bytearray(1)
        put_varint(out, relation)
        put_values(out, row)
        found = _row_sizes[relation, row] = len(out)
    return found


def _get_shape(reader: WireReader) -> Shape:
    count = reader.count()
    if count == _A_DIAGRAM:
        return reader.raw(reader.count())
    return tuple(tuple(get_set(reader)) for _ in range(count))


def terms_size(terms: Shape) -> int:
    """How many bytes an expression takes."""
    if isinstance(terms, bytes):
        return 1 + varint_size(len(terms)) + len(terms)
    return varint_size(len(terms)) + sum(map(_term_size, terms))


def instances_size(instances: Iterable[Instance]) -> int:
    """How many bytes some instances take, each with its rows."""
    out = bytearray()
    for instance in instances:
        _put_instance(out, instance)
    return len(out)


def varint_size(number: int) -> int:
    """How many bytes a number from 0 up takes."""
    return 1 if number < 0x80 else (number.bit_length() + 6) // 7


def _term_size(term: tuple[int, ...]) -> int:
    found = _term_sizes.get(term)
    if found is None:
        if len(_term_sizes) >= MOST_SIZES_KNOWN:
            _term_sizes.clear()
        out = bytearray()
        put_set(out, term)
        found = _term_sizes[term] = len(out)
    return found
