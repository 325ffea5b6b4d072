"""SN and BSN: semi-naive evaluation in iterations (loo-2006 algorithm 1 and section 3.3.1).

Rows are buffered as they come. An iteration flushes the buffer: its rows are stored with one stamp, the iteration's
number, and then fired. So in the paper's terms the premises before the one that fires read old rows, those after it
also the rows of this iteration. What an iteration derives goes into the next.

- *SN*: an iteration begins when no node has anything left of the one before: all nodes iterate together.
- *BSN*: a node iterates on its own whenever no message waits, on as many rows as `most` says: nodes need not wait for
  each other, and rows that come late are used in a later iteration.
"""

from __future__ import annotations

from collections.abc import Collection

from headwater.networks.orders.order import Update, Work


class SemiNaive:
    """A buffer, and iterations over it."""

    def __init__(self, *, together: bool = True, most: int | None = None) -> None:
        self.iteration = 0
        self.together = together
        self.most = most
        self._buffer: list[Update] = []

    def arrived(self, update: Update) -> None:
        self._buffer.append(update)

    def run(self, work: Work) -> None:
        """Nothing: rows stay in the buffer."""

    def idle(self, work: Work) -> bool:
        return not self.together and self._iterate(work)

    def restless(self) -> bool:
        return not self.together and bool(self._buffer)

    def waits(self) -> bool:
        return bool(self._buffer)

    def quiet(self, work: Work) -> None:
        self._iterate(work)

    def waiting(self) -> Collection[Update]:
        return self._buffer

    def _iterate(self, work: Work) -> bool:
        if not self._buffer:
            return False
        self.iteration += 1
        batch, self._buffer = self._buffer[: self.most], self._buffer[self.most :] if self.most else []
        stored = [(work.store(update, self.iteration), update) for update in batch]
        for entry, update in stored:
            if entry is not None:
                work.fire(entry, update.value, self.iteration)
        return True


def buffered(most: int | None = None) -> SemiNaive:
    """BSN: each node iterates on its own, over at most so many rows at a time."""
    return SemiNaive(together=False, most=most)
