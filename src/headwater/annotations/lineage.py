"""Which base rows a row was derived from, in whatever way (Cui): one set."""

from __future__ import annotations

from headwater.annotations import wire
from headwater.annotations.protocol import Annotation, Names, not_an_element, plain

Rows = frozenset[int]


class Lineage(Annotation[Rows | None]):
    """Sets of base rows; both operations are union. `zero` is `None`: not derived, unlike derived from nothing.

    >>> lineage = Lineage()
    >>> lineage.show(lineage.plus(lineage.times(lineage.variable(1), lineage.variable(2)), lineage.variable(3)))
    '{p1, p2, p3}'
    """

    name = "lineage"
    idempotent = True
    absorptive = False
    zero: Rows | None = None
    one: Rows | None = frozenset()

    def plus(self, left: Rows | None, right: Rows | None) -> Rows | None:
        if left is None:
            return right
        return left if right is None else left | right

    def times(self, left: Rows | None, right: Rows | None) -> Rows | None:
        """All of both, unless one is not derived."""
        return None if left is None or right is None else left | right

    def variable(self, number: int) -> Rows | None:
        return frozenset((number,))

    def value(self, given: object) -> Rows | None:
        """A set of numbers, or `None`."""
        if given is None:
            return None
        if isinstance(given, set | frozenset) and all(isinstance(row, int) and row >= 0 for row in given):
            return frozenset(given)
        raise not_an_element(self, given, "a set of numbers of base rows, or None")

    def encode(self, value: Rows | None) -> bytes:
        """A set of sets with one or no member."""
        return wire.encode_sets(wire.SET, [] if value is None else [value])

    def decode(self, data: bytes) -> Rows | None:
        sets = wire.decode_sets(wire.SET, data)
        if len(sets) > 1:
            raise wire.damaged("more than one set")
        return frozenset(sets[0]) if sets else None

    def show(self, value: Rows | None, names: Names = plain) -> str:
        """The rows in braces, or that it is not derived."""
        return "none" if value is None else "{" + ", ".join(names(row) for row in sorted(value)) + "}"
