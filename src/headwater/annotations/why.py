"""Which sets of base rows a row was derived from (Buneman, Khanna, Tan): sets of sets, also those that are not
minimal."""

from __future__ import annotations

from collections.abc import Collection

from headwater.annotations import wire
from headwater.annotations.protocol import Names, Restrictable, not_an_element, plain

Witnesses = frozenset[frozenset[int]]


class WhyProvenance(Restrictable[Witnesses]):
    """Witnesses: each is a set of base rows that one derivation used.

    >>> why = WhyProvenance()
    >>> why.show(why.plus(why.variable(1), why.times(why.variable(1), why.variable(2))))
    '{p1} {p1, p2}'
    """

    name = "why"
    idempotent = True
    absorptive = False
    zero: Witnesses = frozenset()
    one: Witnesses = frozenset((frozenset(),))

    def plus(self, left: Witnesses, right: Witnesses) -> Witnesses:
        """The witnesses of both."""
        return left | right

    def times(self, left: Witnesses, right: Witnesses) -> Witnesses:
        """A witness of the one together with one of the other."""
        return frozenset(a | b for a in left for b in right)

    def variable(self, number: int) -> Witnesses:
        return frozenset((frozenset((number,)),))

    def value(self, given: object) -> Witnesses:
        """A collection of sets of numbers."""
        if isinstance(given, Collection) and not isinstance(given, str | bytes):
            sets = list(given)
            if all(
                isinstance(rows, set | frozenset) and all(isinstance(row, int) and row >= 0 for row in rows)
                for rows in sets
            ):
                return frozenset(frozenset(rows) for rows in sets)
        raise not_an_element(self, given, "a collection of sets of numbers of base rows")

    def restrict(self, value: Witnesses, gone: Collection[int]) -> Witnesses:
        """The witnesses without any of these rows."""
        lost = frozenset(gone)
        return frozenset(rows for rows in value if lost.isdisjoint(rows))

    def support(self, value: Witnesses) -> frozenset[int]:
        """The rows of all witnesses."""
        return frozenset().union(*value)

    def encode(self, value: Witnesses) -> bytes:
        return wire.encode_sets(wire.WHY, value)

    def decode(self, data: bytes) -> Witnesses:
        return frozenset(frozenset(rows) for rows in wire.decode_sets(wire.WHY, data))

    def show(self, value: Witnesses, names: Names = plain) -> str:
        """The witnesses in braces, smallest first."""
        if not value:
            return "none"
        ordered = sorted(sorted(rows) for rows in value)
        return " ".join("{" + ", ".join(map(names, rows)) + "}" for rows in sorted(ordered, key=len))
