"""Absorption provenance (liu-2008 section 4) as a minimal disjunctive normal form over bitmask integers.

A term is an int with one bit for each base row that it needs. An expression is the set of its minimal terms:
one that contains another is absorbed by it. Monotone Boolean functions have exactly one such form, so equal
functions are equal sets. This is the default encoding, and what the diagrams of `bdd` are tested against.

>>> dnf = MinimalDNF()
>>> p1, p2, p3 = map(dnf.variable, (1, 2, 3))
>>> dnf.show(dnf.plus(dnf.times(p1, p2), dnf.times(p1, dnf.times(p2, p3))))
'p1·p2'
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from headwater.annotations import wire
from headwater.annotations.protocol import Names, Restrictable, not_an_element, plain

Terms = frozenset[int]


def bits(mask: int) -> list[int]:
    """The numbers whose bits are set, in order.

    >>> bits(0b1011)
    [0, 1, 3]
    """
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def mask_of(numbers: Iterable[int]) -> int:
    """One int with these bits set."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def minimal(terms: Iterable[int]) -> Terms:
    """The terms that contain no other.

    >>> sorted(minimal([0b11, 0b111, 0b100]))
    [3, 4]
    """
    kept: list[int] = []
    for term in sorted(set(terms), key=int.bit_count):
        for smaller in kept:
            if smaller & term == smaller:
                break
        else:
            kept.append(term)
    return frozenset(kept)


def union(left: Terms, right: Terms) -> Terms:
    """The minimal terms of two sets that are minimal each."""
    if not left or left == right:
        return right
    if not right:
        return left
    news = [t for t in right if not any(s & t == s for s in left)]
    if not news:
        return left
    return frozenset([*news, *(s for s in left if not any(t & s == t for t in news))])


MOST_TERMS_REMEMBERED = 1 << 16
"""How many terms are remembered with their rows and wire form."""


class MinimalDNF(Restrictable[Terms]):
    """Positive Boolean expressions by their prime implicants.

    The same terms turn up in many expressions: what they are made of is remembered.
    """

    name = "dnf"
    idempotent = True
    absorptive = True
    zero: Terms = frozenset()
    one: Terms = frozenset((0,))

    def __init__(self) -> None:
        self._known: dict[int, frozenset[int]] = {}
        self._codes: dict[int, bytes] = {}

    def plus(self, left: Terms, right: Terms) -> Terms:
        return union(left, right)

    def times(self, left: Terms, right: Terms) -> Terms:
        if len(left) == 1 and len(right) == 1:
            (a,), (b,) = left, right
            return frozenset((a | b,))
        return minimal(a | b for a in left for b in right)

    def variable(self, number: int) -> Terms:
        return frozenset((1 << number,))

    def value(self, given: object) -> Terms:
        """True, False, or a collection of sets of numbers."""
        if isinstance(given, bool):
            return self.one if given else self.zero
        if isinstance(given, Collection) and not isinstance(given, str | bytes):
            sets = list(given)
            if all(
                isinstance(rows, set | frozenset) and all(isinstance(row, int) and row >= 0 for row in rows)
                for rows in sets
            ):
                return self.of(sets)
        raise not_an_element(self, given, "True, False, or a collection of sets of numbers of base rows")

    def restrict(self, value: Terms, gone: Collection[int]) -> Terms:
        """The terms without any of these rows (the others stay minimal)."""
        mask = mask_of(gone)
        if all(not term & mask for term in value):
            return value
        return frozenset(term for term in value if not term & mask)

    def beyond(self, value: Terms, known: Terms) -> Terms:
        """The terms that none of the known ones absorbs."""
        return frozenset(term for term in value if not any(s & term == s for s in known))

    def support(self, value: Terms) -> frozenset[int]:
        """All rows that matter."""
        if len(value) == 1:
            (term,) = value
            return self._rows(term)
        return frozenset().union(*map(self._rows, value))

    def of(self, terms: Iterable[Iterable[int]]) -> Terms:
        """The expression with these terms, absorbed."""
        return minimal(map(mask_of, terms))

    def terms(self, value: Terms) -> list[list[int]]:
        """The minimal terms, smallest first."""
        return sorted(map(bits, value), key=lambda term: (len(term), term))

    def encode(self, value: Terms) -> bytes:
        out = bytearray((wire.DNF,))
        wire.put_varint(out, len(value))
        for term in sorted(value):
            out += self._code(term)
        return bytes(out)

    def decode(self, data: bytes) -> Terms:
        return self.of(wire.decode_sets(wire.DNF, data))

    def _rows(self, term: int) -> frozenset[int]:
        """The rows of a term."""
        found = self._known.get(term)
        if found is None:
            if len(self._known) >= MOST_TERMS_REMEMBERED:
                self._known.clear()
            found = self._known[term] = frozenset(bits(term))
        return found

    def _code(self, term: int) -> bytes:
        """The wire form of a term."""
        found = self._codes.get(term)
        if found is None:
            if len(self._codes) >= MOST_TERMS_REMEMBERED:
                self._codes.clear()
            out = bytearray()
            wire.put_set(out, bits(term))
            found = self._codes[term] = bytes(out)
        return found

    def show(self, value: Terms, names: Names = plain) -> str:
        """A sum of products."""
        if not value:
            return "0"
        return " + ".join("·".join(map(names, term)) or "1" for term in self.terms(value))
