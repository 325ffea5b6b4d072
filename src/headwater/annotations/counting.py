"""How many derivations a row has: natural numbers."""

from __future__ import annotations

from headwater.annotations import wire
from headwater.annotations.protocol import Annotation, not_an_element


class DerivationCount(Annotation[int]):
    """N with + and ·.

    >>> DerivationCount().times(2, 3)
    6
    """

    name = "counting"
    idempotent = False
    absorptive = False
    diverges = "each turn is a derivation of its own, so that there are infinitely many"
    zero = 0
    one = 1

    def plus(self, left: int, right: int) -> int:
        """Derivations of the one and of the other."""
        return left + right

    def times(self, left: int, right: int) -> int:
        return left * right

    def value(self, given: object) -> int:
        """How often a base row is there."""
        if isinstance(given, int) and given >= 0:
            return int(given)
        raise not_an_element(self, given, "a number from 0 up")

    def encode(self, value: int) -> bytes:
        out = bytearray([wire.COUNT])
        wire.put_varint(out, value)
        return bytes(out)

    def decode(self, data: bytes) -> int:
        reader = wire.WireReader(data, wire.COUNT)
        value = reader.varint()
        reader.end()
        return value
