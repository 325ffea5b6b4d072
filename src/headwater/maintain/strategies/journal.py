"""Dictionaries whose changes can be taken back, at the cost of what was changed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MISSING: Any = object()


class Journal:
    """Changes dictionaries, and remembers how they were until `commit`.

    >>> journal, ages = Journal(), {"ann": 3}
    >>> journal.put(ages, "ann", 4); journal.put(ages, "bo", 1); journal.drop(ages, "ann")
    >>> journal.rollback(); ages
    {'ann': 3}
    """

    def __init__(self) -> None:
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []

    def put(self, target: dict[K, V], key: K, value: V) -> None:
        self._undo.append((target, key, target.get(key, _MISSING)))
        target[key] = value

    def drop(self, target: dict[K, V], key: K) -> None:
        """Remove an entry, if it is there."""
        old = target.get(key, _MISSING)
        if old is not _MISSING:
            self._undo.append((target, key, old))
            del target[key]

    def commit(self) -> None:
        """Keep all changes since the last commit."""
        self._undo.clear()

    def rollback(self) -> None:
        """Take back all changes since the last commit."""
        for target, key, old in reversed(self._undo):
            if old is _MISSING:
                target.pop(key, None)
            else:
                target[key] = old
        self._undo.clear()
