"""Values for a while: a dictionary over another one, which stays as it is.

What a question brings with it (constants, values that it computes) needs codes as long as the question lasts. A
temporary dictionary gives them codes above all that the dictionary below had when it was made. So a code means the
same in both, what the dictionary below learns later cannot be confused with it, and asking leaves nothing behind.

>>> below = Dictionary()
>>> names, over = below.encode(["a", "b"]), TemporaryDictionary(below)
>>> over.code("b"), over.code("z"), below.encode(["y"]).tolist(), over.decode([1, 2]), len(below)
(1, 2, [2], ['b', 'z'], 3)
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from headwater.values.codec import Codec
from headwater.values.dictionary import Codes, Dictionary
from headwater.values.special import Specials


class TemporaryDictionary(Dictionary):
    """A dictionary that begins with all values that another one has now."""

    def __init__(self, below: Dictionary):
        super().__init__(below._key, below._ask)
        self._below = below
        self._start = len(below)

    def __len__(self) -> int:
        return self._start + len(self._values)

    def code(self, value: Any) -> int:
        known = self._known(self._below.find(value))
        return known if known >= 0 else self._start + super().code(value)

    def find(self, value: Any) -> int:
        known = self._known(self._below.find(value))
        if known >= 0:
            return known
        own = super().find(value)
        return own if own < 0 else self._start + own

    def decode(self, codes: Iterable[int] | Codes) -> list[Any]:
        if not self._values:
            return self._below.decode(codes)
        listed = codes.tolist() if isinstance(codes, np.ndarray) else list(codes)
        own, start = self._values, self._start
        below = iter(self._below.decode([code for code in listed if code < start]))
        return [next(below) if code < start else own[code - start] for code in listed]

    def since(self, start: int) -> list[Any]:
        """The values with codes `start` and above, in order."""
        below = self._below.decode(range(min(start, self._start), self._start))
        return below + self._values[max(0, start - self._start) :]

    @property
    def nbytes(self) -> int:
        """Without what the dictionary below takes."""
        return super().nbytes if self._values else 0

    def _known(self, code: int) -> int:
        """A code of the dictionary below, -1 if it was given since."""
        return code if code < self._start else -1

    def _add(self, keys: Sequence[Hashable], values: Sequence[Any]) -> list[int]:
        return [self._start + code for code in super()._add(keys, values)]

    def _find_keys(self, keys: Sequence[Any]) -> Codes:
        codes = self._below._find_keys(keys)
        codes[codes >= self._start] = -1
        for place in np.flatnonzero(codes < 0).tolist() if self._values else ():
            own = self._codes.get(keys[place], -1)
            codes[place] = own if own < 0 else self._start + own
        return codes


def temporary_codec(codec: Codec) -> Codec:
    """A codec that knows all that another one does, and teaches it nothing."""
    found, dictionaries = copy.copy(codec), copy.copy(codec.dictionaries)
    for name, part in vars(codec.dictionaries).items():
        if isinstance(part, Dictionary):
            setattr(dictionaries, name, TemporaryDictionary(part))
        elif isinstance(part, Specials):
            setattr(dictionaries, name, _temporary_specials(part))
    found.dictionaries = dictionaries
    found.strings, found.lists = dictionaries.strings, dictionaries.lists
    found.specials = dictionaries.specials
    found.budget.keep(found)
    return found


def _temporary_specials(specials: Specials) -> Specials:
    found = copy.copy(specials)
    found._entries = TemporaryDictionary(specials._entries)
    found._labelled, found._numbers = specials._labelled.copy(), specials._numbers.copy()
    return found
