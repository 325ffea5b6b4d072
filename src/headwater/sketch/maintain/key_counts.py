"""How many rows of an access have each key: which rows of a delta join with it, without asking the backend.

Unlike a Bloom filter (`bloom`), which never forgets, counts follow deletions: an order that goes together with its
lines is known to have none left. Keys are ints; where most numbers of a span are keys, as those of orders are, the
counts are an array over the span, else an array beside the sorted keys. Keys that lie outside or come later are in a
dict until there are many.

>>> counts = KeyCounts.of(np.array([5, 7, 7]))
>>> counts.add(np.array([7, 100, 7]), np.array([-1, 1, -1]))
>>> counts.of_keys(np.array([5, 7, 100, 8])).tolist()
[1, 0, 1, 0]
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.sketch.maintain.fragment_sets import Bools, Ints
from headwater.sketch.maintain.merge import negative_count

MOST_NUMBERS_A_KEY = 4
"""Numbers of a span for each key, for counts to be an array over the span."""
SAMPLED = 1000
"""Keys that tell where most are."""
FEWEST_MERGED = 10_000
"""So few keys that came later stay in the dict."""


class KeyCounts:
    """Keys, and how often each is there."""

    def __init__(self, keys: Ints | None, counts: npt.NDArray[np.int32], first: int = 0):
        self._keys = keys
        """Ascending; `None` if the counts are those of all numbers from the first on."""
        self._first = first
        self._counts = counts
        self._later: dict[int, int] = {}

    @staticmethod
    def of(keys: Ints, counts: Ints | None = None) -> KeyCounts:
        """The counts of keys as they come, or of keys that come once each with their counts."""
        span = _span_of_most(keys)
        if span is None:
            return KeyCounts(*_sorted(keys, counts))
        first, end = span
        inside = (keys >= first) & (keys < end)
        if inside.all():
            return KeyCounts(None, _spread(keys, counts, first, end - first), first)
        found = KeyCounts(None, _spread(*_chosen(keys, counts, inside), first, end - first), first)
        others, times = _sorted(*_chosen(keys, counts, ~inside))
        if len(others) > FEWEST_MERGED:
            return KeyCounts(*_sorted(keys, counts))
        found._later = dict(zip(others.tolist(), times.tolist(), strict=True))
        return found

    @property
    def nbytes(self) -> int:
        keys = 0 if self._keys is None else self._keys.nbytes
        return keys + self._counts.nbytes + 100 * len(self._later)

    def add(self, keys: Ints, counts: Ints) -> None:
        """Rows with these keys have come so often, or gone."""
        places, there = self._places(keys)
        np.add.at(self._counts, places[there], counts[there])
        later = self._later
        for key, count in zip(keys[~there].tolist(), counts[~there].tolist(), strict=True):
            later[key] = later.get(key, 0) + count
            if not later[key]:
                del later[key]
        if (self._counts[places[there]] < 0).any() or any(
            later.get(key, 0) < 0 for key in keys[~there].tolist()
        ):
            raise negative_count("the rows with a key")
        if len(later) > max(FEWEST_MERGED, len(self._counts) // 4):
            self._merge()

    def of_keys(self, keys: Ints) -> Ints:
        """How many rows have each of these keys."""
        places, there = self._places(keys)
        found = np.zeros(len(keys), np.int64)
        found[there] = self._counts[places[there]]
        if self._later and not there.all():
            absent = np.flatnonzero(~there)
            found[absent] = [self._later.get(key, 0) for key in keys[absent].tolist()]
        return found

    def _places(self, keys: Ints) -> tuple[Ints, Bools]:
        """Where the counts of keys are, and which have such a place."""
        if self._keys is None:
            places = keys - self._first
            return places, (keys >= self._first) & (keys < self._first + len(self._counts))
        places = np.minimum(np.searchsorted(self._keys, keys), max(0, len(self._keys) - 1))
        return places, self._keys[places] == keys

    def _merge(self) -> None:
        """Take keys that came later among the others."""
        held = self._keys if self._keys is not None else self._first + np.arange(len(self._counts))
        present = self._counts > 0
        later = np.array(list(self._later.items()), np.int64).reshape(-1, 2)
        keys = np.concatenate((held[present], later[:, 0]))
        counts = np.concatenate((self._counts[present], later[:, 1]))
        order = np.argsort(keys, kind="stable")
        self._keys, self._counts = keys[order], counts[order].astype(np.int32)
        self._later = {}


def _span_of_most(keys: Ints) -> tuple[int, int] | None:
    """Where nearly all keys are, if most numbers there are keys: by a sample of them, without those that lie far
    out. The first number, and the one after the last."""
    if not len(keys):
        return 0, 0
    sample = np.sort(keys[:: max(1, len(keys) // SAMPLED)])
    aside = len(sample) // 50
    low, high = int(sample[aside]), int(sample[-1 - aside])
    wide = (high - low) // 10 + SAMPLED
    first, end = low - wide, high + wide
    first, end = max(first, int(keys.min())), min(end, int(keys.max()) + 1)
    return (first, end) if end - first <= MOST_NUMBERS_A_KEY * len(keys) else None


def _sorted(keys: Ints, counts: Ints | None) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Each key once, ascending, with its count."""
    if counts is None:
        distinct, found = np.unique(keys, return_counts=True)
        return distinct, found.astype(np.int32)
    order = np.argsort(keys)
    return keys[order], counts[order].astype(np.int32)


def _spread(keys: Ints, counts: Ints | None, first: int, numbers: int) -> npt.NDArray[np.int32]:
    """The counts of all numbers from the first on."""
    if counts is None:
        return np.bincount(keys - first, minlength=numbers).astype(np.int32)
    found = np.zeros(numbers, np.int32)
    found[keys - first] = counts
    return found


def _chosen(keys: Ints, counts: Ints | None, mask: Bools) -> tuple[Ints, Ints | None]:
    return keys[mask], None if counts is None else counts[mask]
