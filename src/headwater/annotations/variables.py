"""Numbers for base rows. A number stands for one insertion of a row, until it is reclaimed.

A row that is deleted leaves a tombstone: whatever still arrives with its number is from before the deletion.
If the row is inserted again, it gets another number, so that old news about it can do no harm. Once nothing that
could still arrive mentions a number, it is *reclaimed* and given again, the lowest first: so terms stay narrow.

>>> rows = Variables()
>>> rows.insert(("link", ("a", "b"))), rows.insert(("link", ("b", "c")))
(0, 1)
>>> rows.delete(("link", ("a", "b")))
0
>>> rows.insert(("link", ("a", "b"))), sorted(rows.tombstones)
(2, [0])
>>> rows.key(2)
('link', ('a', 'b'))
>>> rows.reclaim([0])
>>> rows.insert(("link", ("c", "d"))), sorted(rows.tombstones)
(0, [])
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Variables(Generic[K]):
    """Base rows by number and back."""

    def __init__(self) -> None:
        self._numbers: dict[K, int] = {}
        self._keys: list[K] = []
        self._free: list[int] = []
        self.tombstones: set[int] = set()

    def insert(self, key: K) -> int:
        """The number of a row that is there from now on; the same one if it is there already."""
        number = self._numbers.get(key)
        if number is None:
            if self._free:
                number = heappop(self._free)
                self._keys[number] = key
            else:
                number = len(self._keys)
                self._keys.append(key)
            self._numbers[key] = number
        return number

    def delete(self, key: K) -> int | None:
        """Bury a row's number; `None` if the row is not there."""
        number = self._numbers.pop(key, None)
        if number is not None:
            self.tombstones.add(number)
        return number

    def reclaim(self, numbers: Iterable[int]) -> None:
        """Nothing mentions these tombstones any more: their numbers may be given to other rows."""
        for number in list(numbers):
            self.tombstones.remove(number)
            heappush(self._free, number)

    def number(self, key: K) -> int | None:
        """The number of a row that is there."""
        return self._numbers.get(key)

    @property
    def given(self) -> int:
        """How many numbers there are, from 0 on: rows, tombstones, and those that are free."""
        return len(self._keys)

    def key(self, number: int) -> K:
        """The row a number stands or stood for."""
        return self._keys[number]

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[K]:
        return iter(self._numbers)
