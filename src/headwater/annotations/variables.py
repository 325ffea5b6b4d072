"""Numbers for base rows. A number stands for one insertion of a row and is never given to another.

A row that is deleted leaves a tombstone: whatever still arrives with its number is from before the deletion.
If the row is inserted again, it gets a new number, so that old news about it can do no harm.

>>> rows = Variables()
>>> rows.insert(("link", ("a", "b"))), rows.insert(("link", ("b", "c")))
(0, 1)
>>> rows.delete(("link", ("a", "b")))
0
>>> rows.insert(("link", ("a", "b"))), sorted(rows.tombstones)
(2, [0])
>>> rows.key(2)
('link', ('a', 'b'))
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Variables(Generic[K]):
    """Base rows by number and back."""

    def __init__(self) -> None:
        self._numbers: dict[K, int] = {}
        self._keys: list[K] = []
        self.tombstones: set[int] = set()

    def insert(self, key: K) -> int:
        """The number of a row that is there from now on; the same one if it is there already."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._keys)
            self._keys.append(key)
        return number

    def delete(self, key: K) -> int | None:
        """Bury a row's number; `None` if the row is not there."""
        number = self._numbers.pop(key, None)
        if number is not None:
            self.tombstones.add(number)
        return number

    def number(self, key: K) -> int | None:
        """The number of a row that is there."""
        return self._numbers.get(key)

    @property
    def given(self) -> int:
        """How many numbers were given, from 0 on."""
        return len(self._keys)

    def key(self, number: int) -> K:
        """The row a number stands or stood for."""
        return self._keys[number]

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[K]:
        return iter(self._numbers)
