"""PSN: pipelined semi-naive evaluation (loo-2006 algorithm 3). Each row is stored as it comes, and used at once.

A row's stamp is the number of its arrival, so it is joined with rows that came before it, and with itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Any

from headwater.networks.orders.order import Update, Work
from headwater.networks.runtime.row_table import Entry


class Pipelined:
    """First in, first out."""

    def __init__(self) -> None:
        self.clock = 0
        self._arrived: deque[Update] = deque()

    def arrived(self, update: Update) -> None:
        self._arrived.append(update)

    def run(self, work: Work) -> None:
        """Until nothing is left: what strands give to this node itself comes last in the queue."""
        arrived = self._arrived
        queue: deque[tuple[Entry, Any, int]] = deque()
        while arrived or queue:
            while arrived:
                update = arrived.popleft()
                self.clock += 1
                entry = work.store(update, self.clock)
                if entry is not None:
                    queue.append((entry, update.value, self.clock))
            if queue:
                work.fire(*queue.popleft())

    def idle(self, work: Work) -> bool:
        return False

    def restless(self) -> bool:
        return False

    def waits(self) -> bool:
        return False

    def quiet(self, work: Work) -> None:
        pass

    def waiting(self) -> Collection[Update]:
        return self._arrived
