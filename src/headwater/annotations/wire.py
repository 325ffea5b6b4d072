"""The wire form of annotations: a tag byte for the form, then numbers as varints, sets delta-coded.

Nothing that comes in is trusted: what does not decode to the last byte is refused.

>>> encode_sets(DNF, [[3, 4, 300]]).hex()
'0401030300a702'
>>> decode_sets(DNF, bytes.fromhex("0401030300a702"))
[[3, 4, 300]]
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.errors import DataError

COUNT, FLAG, SET, WHY, DNF, POLYNOMIAL, WHOLE, REAL, LEVEL, DIAGRAM = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9


def damaged(what: str) -> DataError:
    """The error for bytes that are no annotation."""
    return DataError("bad-annotation", f"not the wire form of an annotation: {what}")


def put_varint(out: bytearray, number: int) -> None:
    """Append a number from 0 up, seven bits a byte, lowest first."""
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


class WireReader:
    """Numbers out of bytes, in order; `end` checks that nothing is left."""

    def __init__(self, data: bytes, tag: int):
        self.data = data
        self.at = 1
        if not data or data[0] != tag:
            raise damaged(f"tag {data[0] if data else 'missing'}, expected {tag}")

    def varint(self) -> int:
        number = shift = 0
        while True:
            if self.at >= len(self.data):
                raise damaged("it ends too early")
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def count(self) -> int:
        """The next number, as a number of things that still follow: each takes a byte at least."""
        number = self.varint()
        if number > len(self.data) - self.at:
            raise damaged("it ends too early")
        return number

    def raw(self, length: int) -> bytes:
        """The next bytes as they are."""
        if length > len(self.data) - self.at:
            raise damaged("it ends too early")
        self.at += length
        return self.data[self.at - length : self.at]

    def end(self) -> None:
        """Refuse what is left over."""
        if self.at != len(self.data):
            raise damaged("bytes are left over")


def put_set(out: bytearray, members: Iterable[int]) -> None:
    """Append a set of numbers: how many, then each one's distance from the one before, less 1."""
    ordered = sorted(members)
    put_varint(out, len(ordered))
    before = -1
    for number in ordered:
        gap = number - before - 1
        if gap < 0x80:
            out.append(gap)
        else:
            put_varint(out, gap)
        before = number


def get_set(reader: WireReader) -> list[int]:
    """The next set, in order."""
    members: list[int] = []
    before = -1
    for _ in range(reader.count()):
        before += reader.varint() + 1
        members.append(before)
    return members


def encode_sets(tag: int, sets: Iterable[Iterable[int]]) -> bytes:
    """A set of sets, the same bytes whatever order they come in."""
    out = bytearray([tag])
    ordered = sorted(sorted(members) for members in sets)
    put_varint(out, len(ordered))
    for members in ordered:
        put_set(out, members)
    return bytes(out)


def decode_sets(tag: int, data: bytes) -> list[list[int]]:
    """The sets back."""
    reader = WireReader(data, tag)
    sets = [get_set(reader) for _ in range(reader.count())]
    reader.end()
    return sets
