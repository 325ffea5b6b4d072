"""How confident one can be of a row: the most likely derivation, where premises are independent."""

from __future__ import annotations

from headwater.annotations import wire
from headwater.annotations.protocol import Annotation, Names, not_an_element, plain
from headwater.annotations.tropical import Number, get_number, put_number


class Viterbi(Annotation[Number]):
    """Numbers from 0 to 1 with max and ·. Laws hold up to the rounding of products.

    >>> viterbi = Viterbi()
    >>> viterbi.plus(viterbi.times(0.5, 0.5), 0.125)
    0.25
    """

    name = "viterbi"
    idempotent = True
    absorptive = True
    zero: Number = 0
    one: Number = 1

    def plus(self, left: Number, right: Number) -> Number:
        return max(left, right)

    def times(self, left: Number, right: Number) -> Number:
        return left * right

    def value(self, given: object) -> Number:
        """A confidence from 0 to 1."""
        if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1:
            return given
        raise not_an_element(self, given, "a number from 0 to 1")

    def encode(self, value: Number) -> bytes:
        return put_number(value)

    def decode(self, data: bytes) -> Number:
        value = get_number(data)
        if not 0 <= value <= 1:
            raise wire.damaged(f"{value} is no confidence")
        return value

    def show(self, value: Number, names: Names = plain) -> str:
        return f"{value:g}"
