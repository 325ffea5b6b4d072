"""Windows over base rows (liu-2008 sections 3.1 and 4.3.3): a lifetime, a number of rows, or both.

Only base rows expire. What was derived from them goes with their variables, like after any deletion.

>>> window = Window(lifetime=10, size=2)
>>> window.insert(("a",), 0), window.insert(("b",), 4), window.insert(("c",), 5)
([], [], [('a',)])
>>> window.insert(("b",), 8), window.expired(16)
([], [('c',)])
"""

from __future__ import annotations

from headwater.networks.simulated.channels import Row


class Window:
    """The base rows of one node in the order of their last insertion, with the time of it."""

    def __init__(self, lifetime: float | None = None, size: int | None = None):
        self.lifetime = lifetime
        self.size = size
        self._times: dict[Row, float] = {}

    def insert(self, row: Row, now: float) -> list[Row]:
        """A row came, or came again; return the rows that have to go for want of room."""
        self._times.pop(row, None)
        self._times[row] = now
        gone: list[Row] = []
        while self.size is not None and len(self._times) > self.size:
            gone.append(next(iter(self._times)))
            del self._times[gone[-1]]
        return gone

    def delete(self, row: Row) -> None:
        """A row went for other reasons."""
        self._times.pop(row, None)

    def expired(self, now: float) -> list[Row]:
        """The rows whose lifetime is over; they are gone from here."""
        gone: list[Row] = []
        if self.lifetime is not None:
            for row, time in self._times.items():
                if time + self.lifetime > now:
                    break
                gone.append(row)
            for row in gone:
                del self._times[row]
        return gone
