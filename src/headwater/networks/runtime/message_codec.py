"""Messages as bytes and back: one codec for all kinds.

A byte for the kind, then its fields: numbers as varints, rows as `value_codec` writes them. Nothing that comes in is
trusted: what does not decode to the last byte is refused.

>>> message = Derived(3, ("a", 7), ((1, 5),))
>>> decode_message(encode_message(message)) == message, size_of(message)
(True, 12)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
    Replaced,
    Reranked,
    RowDeleted,
    RowInserted,
    RowlessMessage,
    RowMessage,
    SeenDeletions,
    Shape,
    SharedMessage,
    Supported,
    TakenBack,
    Withdrawn,
)
from headwater.networks.runtime.row_table import Row
from headwater.networks.runtime.value_codec import (
    get_values,
    put_value,
    put_values,
    signed,
    values_size,
    varint_size,
    zigzag,
)

_GONE, _SEEN, _TOGETHER, _WITHDRAWN, _RERANKED, _WITHDRAWN_ROWS = 17, 18, 22, 23, 24, 25
_ALIKE = 64
"""In a message of several: one whose row is much like that of a message before it."""
MOST_LOOKED_BACK = 48
"""How many messages before it are looked at, for one that is alike."""
_A_DIAGRAM = 0
"""In the place of how many terms there are: no row is shipped without any."""
_PLAIN: dict[type[RowMessage], int] = {
    Follows: 32, TakenBack: 33, AskedFor: 34, Grounded: 35, EventRaised: 36, RowInserted: 37, RowDeleted: 38,
}  # fmt: skip
"""Messages of a relation and a row."""
_TAGS: dict[type[RowMessage], int] = {
    **_PLAIN, Derived: 16, FollowsBy: 19, Dropped: 20, Alive: 21, CountedDerivations: 48, Supported: 49, Replaced: 50,
}  # fmt: skip
"""Those of a relation, a row, and perhaps more."""
_KINDS: dict[int, type[RowMessage]] = {tag: kind for kind, tag in _TAGS.items()}


def encode_message(message: Message) -> bytes:
    """The message as bytes."""
    out = bytearray()
    if isinstance(message, SharedMessage):
        return _encode_together(message)
    if isinstance(message, Gone):
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
    elif isinstance(message, Withdrawn):
        if len(message.numbers) == 1:
            out.append(_WITHDRAWN)
        else:
            out.append(_WITHDRAWN_ROWS)
            put_varint(out, len(message.numbers))
        for number in message.numbers:
            put_varint(out, number)
    elif isinstance(message, Reranked):
        out.append(_RERANKED)
        put_varint(out, message.number)
        put_varint(out, zigzag(message.rank))
    else:
        out.append(_TAGS[type(message)])
        put_varint(out, message.relation)
        put_values(out, message.row)
        _put_rest(out, message)
    return bytes(out)


def _put_rest(out: bytearray, message: RowMessage) -> None:
    """What a message has beside its relation and its row."""
    if isinstance(message, Derived):
        _put_shape(out, message.terms)
    elif isinstance(message, FollowsBy):
        put_varint(out, len(message.instances))
        for instance in message.instances:
            _put_instance(out, instance)
    elif isinstance(message, Dropped):
        _put_instance(out, message.instance)
    elif isinstance(message, Alive):
        out += struct.pack("<d", message.until)
    elif isinstance(message, CountedDerivations):
        put_varint(out, zigzag(message.number))
    elif isinstance(message, Supported | Replaced):
        put_varint(out, zigzag(message.rank))
        if isinstance(message, Replaced):
            put_varint(out, len(message.numbers))
            for number in message.numbers:
                put_varint(out, number)


def _put_shape(out: bytearray, terms: Shape) -> None:
    if isinstance(terms, bytes):
        out.append(_A_DIAGRAM)
        put_varint(out, len(terms))
        out += terms
    else:
        put_varint(out, len(terms))
        for term in terms:
            put_set(out, term)


def _put_instance(out: bytearray, instance: Instance) -> None:
    rule, rows = instance
    put_varint(out, rule)
    put_varint(out, len(rows))
    for row in rows:
        put_values(out, row)


def _get_instance(reader: WireReader) -> Instance:
    return reader.varint(), tuple(get_values(reader) for _ in range(reader.count()))


# ------------------------------------------------------------------ several together


@dataclass(frozen=True)
class _Told:
    """A message of several that has a row: its values and its rest as bytes. Equal bytes are equal values of equal
    types, which `==` does not say of 1 and 1.0."""

    message: RowMessage
    values: tuple[bytes, ...]
    rest: bytes

    @classmethod
    def of(cls, message: RowMessage) -> _Told:
        rest = bytearray([_TAGS[type(message)]])
        _put_rest(rest, message)
        return cls(message, tuple(map(_value_bytes, message.row)), bytes(rest))

    def common(self, other: _Told) -> int:
        """How many bytes the other one has told already."""
        equal = sum(len(one) for one, two in zip(self.values, other.values, strict=True) if one == two)
        return equal + len(self.rest) * (self.rest == other.rest)


def _value_bytes(value: Any) -> bytes:
    out = bytearray()
    put_value(out, value)
    return bytes(out)


def _encode_together(message: SharedMessage) -> bytes:
    """Each message with its length, or as what it differs in from one before it."""
    out = bytearray([_TOGETHER])
    put_varint(out, len(message.messages))
    before: list[_Told | None] = []
    for each in message.messages:
        plain = encode_message(each)
        told = None if isinstance(each, RowlessMessage) else _Told.of(each)
        alike = None if told is None else _most_alike(before[-MOST_LOOKED_BACK:], told)
        before.append(told)
        if told is not None and alike is not None:
            shorter = _encode_alike(told, *alike)
            if len(shorter) < len(plain) + varint_size(len(plain)):
                out += shorter
                continue
        put_varint(out, len(plain))
        out += plain
    return bytes(out)


def _most_alike(before: Sequence[_Told | None], told: _Told) -> tuple[int, _Told] | None:
    """The message of some before that has told most of this one, and how far back it is."""
    best, found = 0, None
    for back, other in enumerate(reversed(before), 1):
        if other is not None and len(other.values) == len(told.values):
            common = told.common(other)
            if common > best:
                best, found = common, (back, other)
    return found


def _encode_alike(told: _Told, back: int, other: _Told) -> bytes:
    message = told.message
    out = bytearray([0, _ALIKE])
    put_varint(out, back)
    put_varint(out, message.relation)
    same = [one == two for one, two in zip(told.values, other.values, strict=True)]
    shared = told.rest == other.rest
    put_varint(out, sum(1 << number for number, equal in enumerate([shared, *same]) if equal))
    put_values(out, tuple(value for value, equal in zip(message.row, same, strict=True) if not equal))
    if not shared:
        out += told.rest
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
        elif reader.raw(1)[0] == _ALIKE:
            found.append(_get_alike(reader, found))
        else:
            raise damaged("a message that is not like another")
    return SharedMessage(tuple(found))


def _get_alike(reader: WireReader, before: Sequence[PlainMessage]) -> RowMessage:
    back, relation, marks = reader.varint(), reader.varint(), reader.varint()
    other = before[-back] if 0 < back <= len(before) else None
    if other is None or isinstance(other, RowlessMessage):
        raise damaged("a message that is like none")
    differing = get_values(reader)
    told = [bool(marks >> number & 1) for number, _ in enumerate(other.row, 1)]
    if len(differing) != told.count(False):
        raise damaged("a row that differs in more values, or in fewer")
    rest = iter(differing)
    row = tuple(value if same else next(rest) for value, same in zip(other.row, told, strict=True))
    if marks & 1:
        return replace(other, relation=relation, row=row)
    return _get_rest(reader.raw(1)[0], relation, row, reader)


# ------------------------------------------------------------------ back


def decode_message(data: bytes) -> Message:
    """The message that these bytes are."""
    reader = WireReader(data, data[0] if data else -1)
    message: Message
    if data[0] == _GONE:
        message = Gone(reader.varint(), reader.varint())
    elif data[0] == _SEEN:
        seen, dropped = (
            tuple((reader.varint(), reader.varint()) for _ in range(reader.count())) for _ in range(2)
        )
        message = SeenDeletions(seen, dropped)
    elif data[0] == _TOGETHER:
        message = _get_together(reader)
    elif data[0] == _WITHDRAWN:
        message = Withdrawn((reader.varint(),))
    elif data[0] == _WITHDRAWN_ROWS:
        message = Withdrawn(tuple(reader.varint() for _ in range(reader.count())))
    elif data[0] == _RERANKED:
        message = Reranked(reader.varint(), signed(reader.varint()))
    elif data[0] in _KINDS:
        relation, row = reader.varint(), get_values(reader)
        message = _get_rest(data[0], relation, row, reader)
    else:
        raise damaged(f"no message has the tag {data[0]}")
    reader.end()
    return message


def _get_rest(tag: int, relation: int, row: Row, reader: WireReader) -> RowMessage:
    """The message of this kind, relation and row, with what it has beside them."""
    kind = _KINDS.get(tag)
    if kind is None:
        raise damaged(f"no message with a row has the tag {tag}")
    if kind is Derived:
        return Derived(relation, row, _get_shape(reader))
    if kind is FollowsBy:
        return FollowsBy(relation, row, tuple(_get_instance(reader) for _ in range(reader.count())))
    if kind is Dropped:
        return Dropped(relation, row, _get_instance(reader))
    if kind is Alive:
        return Alive(relation, row, struct.unpack("<d", reader.raw(8))[0])
    if kind is CountedDerivations or kind is Supported:
        return kind(relation, row, signed(reader.varint()))
    if kind is Replaced:
        rank = signed(reader.varint())
        return Replaced(relation, row, rank, tuple(reader.varint() for _ in range(reader.count())))
    return kind(relation, row)  # type: ignore[call-arg]


def size_of(message: Message) -> int:
    """How many bytes it takes: as long as `encode_message` makes it, from what is known of its parts."""
    if isinstance(message, Supported):
        return row_size(message.relation, message.row) + varint_size(zigzag(message.rank))
    if isinstance(message, Replaced):
        numbers = varint_size(len(message.numbers)) + sum(map(varint_size, message.numbers))
        return row_size(message.relation, message.row) + varint_size(zigzag(message.rank)) + numbers
    if isinstance(message, Withdrawn):
        several = len(message.numbers) > 1 and varint_size(len(message.numbers))
        return 1 + several + sum(map(varint_size, message.numbers))
    if isinstance(message, Derived):
        return row_size(message.relation, message.row) + terms_size(message.terms)
    if type(message) in _PLAIN:
        return row_size(message.relation, message.row)  # type: ignore[union-attr]
    return len(encode_message(message))


MOST_SIZES_KNOWN = 1 << 17
"""Terms whose sizes are remembered, after which all are forgotten."""

_term_sizes: dict[tuple[int, ...], int] = {}


def row_size(relation: int, row: tuple[Any, ...]) -> int:
    """How many bytes a message's kind, relation and row take."""
    return 1 + varint_size(relation) + values_size(row)


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


def _term_size(term: tuple[int, ...]) -> int:
    found = _term_sizes.get(term)
    if found is None:
        if len(_term_sizes) >= MOST_SIZES_KNOWN:
            _term_sizes.clear()
        out = bytearray()
        put_set(out, term)
        found = _term_sizes[term] = len(out)
    return found
