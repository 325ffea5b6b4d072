"""PostgreSQL's logical decoding: the messages of its plugin `pgoutput`, protocol version 1, as data.

Each message is one row that `pg_logical_slot_peek_binary_changes` gives: a letter, then fields in network order.
Values come in PostgreSQL's text form. (See "Logical Replication Message Formats" in PostgreSQL's manual.)

>>> begin = b"B" + (0x16B374D848).to_bytes(8, "big") + bytes(8) + (747).to_bytes(4, "big")
>>> parse_message(begin)
DecodedBegin(transaction=747)
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

Texts = tuple[str | None, ...]


@dataclass(frozen=True)
class DecodedBegin:
    """A transaction begins."""

    transaction: int


@dataclass(frozen=True)
class DecodedCommit:
    """It is committed; `end` is the position in the log behind it."""

    end: int


@dataclass(frozen=True)
class DecodedTable:
    """What a table looks like from here on, under the number that messages name it by."""

    number: int
    schema: str
    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class DecodedRow:
    """A row that came (`new`), went (`old`) or changed; values in the order of the table's columns.

    A value that did not change and is stored aside is missing in `new`: there it is taken from `old`.
    """

    number: int
    old: Texts | None
    new: Texts | None


@dataclass(frozen=True)
class DecodedTruncate:
    """All rows of these tables went; which, nobody says."""

    numbers: tuple[int, ...]


DecodedMessage = DecodedBegin | DecodedCommit | DecodedTable | DecodedRow | DecodedTruncate


class _MessageReader:
    """The fields of a message, one after another."""

    def __init__(self, data: bytes):
        self._data = data
        self._at = 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(f"!{form}", self._data, self._at)
        self._at += struct.calcsize(f"!{form}")
        return int(value)

    def letter(self) -> str:
        return chr(self.number("B"))

    def text(self) -> str:
        end = self._data.index(0, self._at)
        found = self._data[self._at : end].decode()
        self._at = end + 1
        return found

    def row(self, before: Texts | None = None) -> Texts:
        values: list[str | None] = []
        for place in range(self.number("H")):
            kind = self.letter()
            if kind == "n":
                values.append(None)
            elif kind == "u":
                values.append(None if before is None else before[place])
            else:
                length = self.number("I")
                values.append(self._data[self._at : self._at + length].decode())
                self._at += length
        return tuple(values)


def parse_message(data: bytes) -> DecodedMessage | None:
    """What a message says; `None` for those that say nothing about rows."""
    reader = _MessageReader(data)
    kind = reader.letter()
    if kind == "B":
        reader.number("Q"), reader.number("Q")
        return DecodedBegin(reader.number("I"))
    if kind == "C":
        reader.number("B"), reader.number("Q")
        return DecodedCommit(reader.number("Q"))
    if kind == "R":
        return _described(reader)
    if kind == "T":
        count = reader.number("I")
        reader.number("B")
        return DecodedTruncate(tuple(reader.number("I") for _ in range(count)))
    if kind not in "IUD":
        return None
    number = reader.number("I")
    old: Texts | None = None
    side = reader.letter()
    if side in "KO":
        old = reader.row()
        if kind == "D":
            return DecodedRow(number, old, None)
        reader.letter()
    return DecodedRow(number, old, reader.row(old))


def _described(reader: _MessageReader) -> DecodedTable:
    number, schema, name = reader.number("I"), reader.text(), reader.text()
    reader.number("B")
    columns = []
    for _ in range(reader.number("H")):
        reader.number("B")
        columns.append(reader.text())
        reader.number("I"), reader.number("i")
    return DecodedTable(number, schema, name, tuple(columns))
