"""Expressions at rest: several of them in one string of bytes, a few bytes a term, whatever numbers rows have.

A term as a bitmask takes as many bits as there are base rows in use; one that names five of ten thousand rows takes
six to eleven bytes here. Terms are masks again (`minimal_dnf`) while they are worked with.

>>> unpack(pack([frozenset((0b11, 0b100)), frozenset()]))
[frozenset({3, 4}), frozenset()]
>>> len(pack([frozenset((1 << 9000 | 1 << 9001,))]))
5
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from headwater.annotations.minimal_dnf import Terms
from headwater.annotations.wire import put_varint

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
    put_varint(out, term.bit_count())
    before = 0
    while term:
        low = term & -term
        number = low.bit_length()
        gap = number - before - 1
        if gap < 0x80:
            out.append(gap)
        else:
            put_varint(out, gap)
        before = number
        term ^= low
    return bytes(out)


def unpack(data: bytes) -> list[Terms]:
    """The expressions again. What was packed here is not checked. (One loop over the bytes: this is where reading
    state costs time.)"""
    found: list[Terms] = []
    terms: list[int] = []
    terms_left = rows_left = -1
    term = high = shift = 0
    number = -1
    for byte in data:
        if byte >= 0x80:
            high |= (byte & 0x7F) << shift
            shift += 7
            continue
        value = byte
        if shift:
            value = high | byte << shift
            high = shift = 0
        if rows_left > 0:
            number += value + 1
            term |= 1 << number
            rows_left -= 1
        elif terms_left > 0:
            rows_left = value
            term, number = 0, -1
        else:
            terms, terms_left, rows_left = [], value, -1
        if rows_left == 0:
            terms.append(term)
            terms_left -= 1
            rows_left = -1
        if terms_left == 0:
            found.append(frozenset(terms))
            terms_left = -1
    return found
