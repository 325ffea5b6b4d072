"""What the cheapest derivation of a row costs, where using rows together costs the sum."""

from __future__ import annotations

import math
import struct

from headwater.annotations import wire
from headwater.annotations.protocol import Annotation, Names, not_an_element, plain

Number = int | float


def put_number(value: Number) -> bytes:
    """A whole number as a varint, any other as eight bytes."""
    if isinstance(value, int):
        out = bytearray([wire.WHOLE])
        wire.put_varint(out, value)
        return bytes(out)
    return bytes([wire.REAL]) + struct.pack("<d", value)


def get_number(data: bytes) -> Number:
    """The number back."""
    value: Number
    if data[:1] == bytes([wire.WHOLE]):
        reader = wire.WireReader(data, wire.WHOLE)
        value = reader.varint()
    else:
        reader = wire.WireReader(data, wire.REAL)
        (value,) = struct.unpack("<d", reader.raw(8))
    reader.end()
    return value


class Tropical(Annotation[Number]):
    """Costs from 0 up with min and +. Laws hold up to the rounding of float sums; whole numbers are exact.

    >>> tropical = Tropical()
    >>> tropical.plus(tropical.times(2, 3), 4)
    4
    """

    name = "tropical"
    idempotent = True
    absorptive = True
    zero: Number = math.inf
    one: Number = 0

    def plus(self, left: Number, right: Number) -> Number:
        return min(left, right)

    def times(self, left: Number, right: Number) -> Number:
        return left + right

    def value(self, given: object) -> Number:
        """A cost; negative ones would make a cycle pay, and are refused."""
        if isinstance(given, int | float) and not isinstance(given, bool) and given >= 0:
            return given
        raise not_an_element(self, given, "a number from 0 up")

    def encode(self, value: Number) -> bytes:
        return put_number(value)

    def decode(self, data: bytes) -> Number:
        value = get_number(data)
        if not value >= 0:
            raise wire.damaged(f"{value} is no cost")
        return value

    def show(self, value: Number, names: Names = plain) -> str:
        """The cost, or that there is no derivation."""
        return "none" if value == math.inf else f"{value:g}"
