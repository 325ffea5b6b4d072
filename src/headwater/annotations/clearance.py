"""Who may see a row: the lowest clearance with which some derivation of it can be seen whole."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.annotations import wire
from headwater.annotations.protocol import Annotation, Names, not_an_element, plain
from headwater.values.clearance_levels import LEVELS


class Clearance(Annotation[int]):
    """Levels by number, lowest first, and one above all for what nobody may see. Min and max.

    >>> clearance = Clearance()
    >>> public, secret = clearance.value("public"), clearance.value("secret")
    >>> clearance.show(clearance.times(public, secret)), clearance.show(clearance.plus(public, secret))
    ('secret', 'public')
    """

    name = "clearance"
    idempotent = True
    absorptive = True
    one = 0

    def __init__(self, levels: Sequence[str] = LEVELS):
        self.levels = tuple(levels)
        self.zero = len(self.levels)

    def plus(self, left: int, right: int) -> int:
        """The derivation that asks for less."""
        return min(left, right)

    def times(self, left: int, right: int) -> int:
        """As much as either premise asks for."""
        return max(left, right)

    def value(self, given: object) -> int:
        """A level by name."""
        if isinstance(given, str) and given in self.levels:
            return self.levels.index(given)
        raise not_an_element(self, given, f"one of {', '.join(self.levels)}")

    def encode(self, value: int) -> bytes:
        out = bytearray([wire.LEVEL])
        wire.put_varint(out, value)
        return bytes(out)

    def decode(self, data: bytes) -> int:
        reader = wire.WireReader(data, wire.LEVEL)
        value = reader.varint()
        reader.end()
        if value > self.zero:
            raise wire.damaged(f"there is no level {value}")
        return value

    def show(self, value: int, names: Names = plain) -> str:
        return self.levels[value] if value < self.zero else "nobody"
