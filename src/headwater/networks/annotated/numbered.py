"""Rows by number: the n-th row that was told along a channel is known by n on both sides, as long as it stands.

Messages about a row that was told are short that way. Channels are first in, first out, and lose nothing: so both
sides count alike, and numbers need not be sent along.

>>> told, heard = ToldRows(), HeardRows()
>>> told.tell(7, (0, ("a",))), heard.hear(3, (0, ("a",)))
(None, None)
>>> heard.forget(3, told.withdraw((0, ("a",))))
(0, ('a',))
"""

from __future__ import annotations

from headwater.errors import DataError
from headwater.networks.runtime.row_table import Row

Fact = tuple[int, Row]
"""A relation and a row of it."""


class ToldRows:
    """The sender's side. A row has one home, so one receiver."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._numbers: dict[Fact, int] = {}

    def tell(self, receiver: int, fact: Fact) -> None:
        """A row is told to its home."""
        self._counts[receiver] = self._numbers[fact] = self._counts.get(receiver, 0) + 1

    def number(self, fact: Fact) -> int:
        """The number of a row that was told."""
        return self._numbers[fact]

    def withdraw(self, fact: Fact) -> int:
        """The number of a row that is told no more."""
        return self._numbers.pop(fact)


class HeardRows:
    """The receiver's side."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._facts: dict[tuple[int, int], Fact] = {}

    def hear(self, sender: int, fact: Fact) -> None:
        """A node has told a row."""
        number = self._counts[sender] = self._counts.get(sender, 0) + 1
        self._facts[sender, number] = fact

    def known(self, sender: int, number: int) -> Fact:
        """The row of a number."""
        if (sender, number) not in self._facts:
            raise DataError("damaged", f"node {sender} speaks of a row {number} that it has not told")
        return self._facts[sender, number]

    def forget(self, sender: int, number: int) -> Fact:
        """The row of a number that stands no more."""
        fact = self.known(sender, number)
        del self._facts[sender, number]
        return fact
