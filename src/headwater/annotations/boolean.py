"""Whether a row is trusted: derivable from trusted base rows by trusted rules alone (green-2007 section 3.3)."""

from __future__ import annotations

from headwater.annotations import wire
from headwater.annotations.protocol import Annotation, Names, not_an_element, plain


class Trust(Annotation[bool]):
    """Truth values with or and and; shown as T and D, trusted and distrusted.

    >>> trust = Trust()
    >>> trust.show(trust.plus(True, trust.times(True, False)))
    'T'
    """

    name = "trust"
    idempotent = True
    absorptive = True
    zero = False
    one = True

    def plus(self, left: bool, right: bool) -> bool:
        return left or right

    def times(self, left: bool, right: bool) -> bool:
        return left and right

    def value(self, given: object) -> bool:
        """True or False, or the letters T and D of green-2007."""
        if isinstance(given, bool):
            return given
        if given in ("T", "D"):
            return given == "T"
        raise not_an_element(self, given, "True or False")

    def encode(self, value: bool) -> bytes:
        return bytes([wire.FLAG, value])

    def decode(self, data: bytes) -> bool:
        reader = wire.WireReader(data, wire.FLAG)
        value = reader.varint()
        reader.end()
        if value > 1:
            raise wire.damaged(f"{value} is no truth value")
        return bool(value)

    def show(self, value: bool, names: Names = plain) -> str:
        return "T" if value else "D"
