"""Expressions at rest: several of them in one string of bytes, a few bytes a term, whatever numbers rows have.

A term as a bitmask takes as many bits as there are base rows in use; one that names five of ten thousand rows takes
six to eleven bytes here. Terms are masks again (`minimal_dnf`) while they are worked with.

>>> unpack(pack([frozenset((0b11, 0b100)), frozenset()]))
[frozenset({3, 4}), frozenset()]
>>> len(pack([frozenset((1 << 9000 | 1 << 9001,))]))
5
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from headwater.annotations.minimal_dnf import Terms, bits
from headwater.annotations.wire import put_set, put_varint

MOST_TERMS_REMEMBERED = 1 << 9
"""Of how many terms the packed form is remembered: a row is packed again with each term that it gains."""


def pack(expressions: Iterable[Terms]) -> bytes:
    """The expressions one after the other: how many terms, and each term's rows, delta-coded."""
    out = bytearray()
    for terms in expressions:
        put_varint(out, len(terms))
        for term in terms:
            out += _packed(term)
    return bytes(out)


@lru_cache(MOST_TERMS_REMEMBERED)
def _packed(term: int) -> bytes:
    out = bytearray()
    put_set(out, bits(term))
    return bytes(out)


def unpack(data: bytes) -> list[Terms]:
    """The expressions again. What was packed here is not checked."""
    found: list[Terms] = []
    values = _varints(data)
    for count in values:
        terms = []
        for _ in range(count):
            term, number = 0, -1
            for _ in range(next(values)):
                number += next(values) + 1
                term |= 1 << number
            terms.append(term)
        found.append(frozenset(terms))
    return found


def _varints(data: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        if byte < 0x80:
            yield number | byte << shift if shift else byte
            number = shift = 0
        else:
            number |= (byte & 0x7F) << shift
            shift += 7
