"""Rows that wait to be shipped, those whose derivations span fewest nodes of the network first.

The *span* of an expression is the number of nodes whose base rows it rests on. What rests on base rows of one node
alone is complete before anything else goes on, what rests on those of two nodes then, and so on. So what goes far is
made of what is complete. In any other order one row after another is derived again whenever something near it gains a
derivation; and the diagram of an expression that is incomplete in several places at once is much larger than in the
end: two complete ones, over different base rows, are multiplied by putting one below the other.

>>> rows = RowsBySpan()
>>> rows.add("far", 3), rows.add("near", 1), rows.add("far", 2), len(rows), rows.least()
(None, None, None, 2, 1)
>>> rows.first(1), rows.first(1), rows.least(), list(rows.take(2)), rows.least()
('near', None, 2, ['far'], None)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

NEAR = 1
"""The span of what rests on base rows of one node."""

R = TypeVar("R", bound=Hashable)


class RowsBySpan(Generic[R]):
    """Rows, each once; those of one span in the order in which they came."""

    def __init__(self) -> None:
        self._spans: dict[R, int] = {}
        self._waiting: dict[int, dict[R, None]] = {}

    def __len__(self) -> int:
        return len(self._spans)

    def add(self, row: R, span: int) -> None:
        """A row waits; if it does already, its span may be another now."""
        before = self._spans.get(row)
        if before != span:
            if before is not None:
                self.discard(row)
            self._spans[row] = span
            self._waiting.setdefault(span, {})[row] = None

    def discard(self, row: R) -> None:
        """A row waits no more, if it did."""
        span = self._spans.pop(row, None)
        if span is not None:
            of_span = self._waiting[span]
            del of_span[row]
            if not of_span:
                del self._waiting[span]

    def least(self) -> int | None:
        """The least span of a row that waits."""
        return min(self._waiting, default=None)

    def first(self, most: int) -> R | None:
        """Take out the first row of the least span, if that is no more than `most`."""
        least = self.least()
        if least is None or least > most:
            return None
        row = next(iter(self._waiting[least]))
        self.discard(row)
        return row

    def take(self, most: int) -> Iterator[R]:
        """Take out all rows of spans up to `most`, one after the other."""
        while (row := self.first(most)) is not None:
            yield row
