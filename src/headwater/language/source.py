"""A text and the places in it. A line `#line 7 "file"` says that the next one is line 7 of that file.

>>> source = SourceText("reach.dl", "a(1).\\nreach(X) :- a(X).")
>>> place = source.place(6, 14)
>>> (place.line, place.column, place.length, place.text)
(2, 1, 8, 'reach(X) :- a(X).')
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from headwater.errors import Place

MARKER = re.compile(r'\#(?:line)?[ \t]+(\d{1,9})(?:[ \t]+("(?:\\[\\"]|[^"\\\x00-\x1f])*"))?[ \t\d]*$')


@dataclass(frozen=True)
class SourceText:
    """A text with its name; offsets count characters from 0, lines and columns from 1."""

    name: str
    text: str

    @cached_property
    def _lines(self) -> list[str]:
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))]

    @cached_property
    def _marked(self) -> list[tuple[int, int, str]]:
        """For each `#line`, the line after it, and what number of which file that is."""
        if "#" not in self.text:
            return []
        found = [(number, MARKER.match(line)) for number, line in enumerate(self._lines, 2) if "#" in line]
        return [
            (number, int(match[1]), json.loads(match[2]) if match[2] else self.name)
            for number, match in found
            if match is not None
        ]

    def line_of(self, offset: int) -> int:
        """The number of the line that holds `offset`."""
        return bisect_right(self._starts, offset)

    def place(self, start: int, end: int) -> Place:
        """The stretch from `start` up to `end`; of several lines, its part on the first."""
        line = bisect_right(self._starts, start)
        text = self._lines[line - 1]
        column = start - self._starts[line - 1] + 1
        name, number = self.name, line
        at = bisect_right(self._marked, line, key=lambda marked: marked[0])
        if at:
            first, first_number, name = self._marked[at - 1]
            number = first_number + line - first
        return Place(name, number, column, max(1, min(end - start, len(text) - column + 1)), text)
