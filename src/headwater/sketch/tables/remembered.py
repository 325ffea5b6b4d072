"""The few things that were asked for last, by their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Key = TypeVar("Key")
Kept = TypeVar("Kept")
MOST_REMEMBERED = 8
"""So many things of a kind are kept: versions of a table, frames of its files."""


def remembered(known: dict[Key, Kept], key: Key, make: Callable[[], Kept]) -> Kept:
    """What is known by a key, or made for it; the few that were asked for last are kept.

    >>> known: dict[int, str] = {}
    >>> [remembered(known, number, lambda: f"made for {number}") for number in (1, 2, 1)]
    ['made for 1', 'made for 2', 'made for 1']
    """
    found = known.get(key)
    if found is None:
        found = make()
    keep(known, key, found, MOST_REMEMBERED)
    return found


def keep(known: dict[Key, Kept], key: Key, value: Kept, most: int) -> None:
    """Keep a thing under a key, and of all things so many at the most: those that were kept last."""
    known.pop(key, None)
    known[key] = value
    while len(known) > most:
        known.pop(next(iter(known)), None)
