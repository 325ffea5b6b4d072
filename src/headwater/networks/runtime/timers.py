"""The timers of a node: which are due, and when the next is. Whoever drives the node wakes it in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from headwater.networks.runtime.given_rows import SAME_TIME
from headwater.rules.checked import Timer


class NodeTimers:
    """A heap of times, each with its timer and how often it will still fire.

    >>> timers = NodeTimers([Timer("t", 2.0, 2, 1.0, True, ())])
    >>> timers.begin(10.0)
    >>> timers.next(), [timer.relation for timer in timers.due(11.0)], timers.next()
    (11.0, ['t'], 13.0)
    >>> [timer.relation for timer in timers.due(13.0)], timers.next()
    (['t'], None)
    """

    def __init__(self, timers: Sequence[Timer]):
        self._timers = timers
        self._heap: list[tuple[float, int, int | None]] = []

    def begin(self, now: float) -> None:
        """The node begins."""
        for number, timer in enumerate(self._timers):
            heappush(self._heap, (now + timer.first, number, timer.times))

    def next(self) -> float | None:
        """When the next one fires."""
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> Iterator[Timer]:
        """The timers that fire now, or should have before."""
        while self._heap and self._heap[0][0] <= now + SAME_TIME:
            time, number, left = heappop(self._heap)
            timer = self._timers[number]
            if left is None or left > 1:
                heappush(self._heap, (time + timer.period, number, None if left is None else left - 1))
            yield timer
