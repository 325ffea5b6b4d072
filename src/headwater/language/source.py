"""A text and the places in it.

>>> source = Source("reach.dl", "a(1).\\nreach(X) :- a(X).")
>>> place = source.place(6, 14)
>>> (place.line, place.column, place.length, place.text)
(2, 1, 8, 'reach(X) :- a(X).')
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from headwater.errors import Place


@dataclass(frozen=True)
class Source:
    """A text with its name; offsets count characters from 0, lines and columns from 1."""

    name: str
    text: str

    @cached_property
    def _lines(self) -> list[str]:
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))]

    def line_of(self, offset: int) -> int:
        """The number of the line that holds `offset`."""
        return bisect_right(self._starts, offset)

    def place(self, start: int, end: int) -> Place:
        """The stretch from `start` up to `end`; of several lines, its part on the first."""
        line = bisect_right(self._starts, start)
        text = self._lines[line - 1]
        column = start - self._starts[line - 1] + 1
        return Place(self.name, line, column, max(1, min(end - start, len(text) - column + 1)), text)
