"""Special codes: NULL, labelled nulls, and numbers that cannot be their own code.

A window at the bottom of the int64 range is *special* in every type. `NULL` is one code, the same whatever the type;
so a column whose type nobody knows yet can hold it. The others are entries of one append-only dictionary:

- a labelled null: the same code in columns of every type, so that they join by identity;
- a number whose own code would be in the window, or in the margin of the same size at the top: ints near the ends
  of the 64-bit range, floats whose bits are in the window (tiny negative ones), wider numbers.

The margin at the top is for keys of an order: wide numbers get places above and below all plain ones.

What holds: two values of one type are equal exactly when their codes are, as for all codes. `UNKNOWN` is the code of
a value that no row can have: it was looked up, and is in no dictionary.

>>> specials = Specials()
>>> codes = np.array([7, NULL, specials.code(LabelledNull("f", (1,))), specials.code(2**63 - 1)])
>>> is_special(codes).tolist(), specials.nulls(codes).tolist()
([False, True, True, True], [False, True, True, False])
>>> specials.decode(codes[1:]), specials.numbers(codes[[0, 3]]).tolist()
([None, ?f(1), 9223372036854775807], [7, 9223372036854775807])
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from headwater.values.dictionary import Codes, Dictionary
from headwater.values.label_text import literal, parse_literal
from headwater.values.labelled import LabelledNull

__all__ = [
    "FIRST", "FIRST_PLAIN", "LAST", "LAST_PLAIN", "NULL", "NULL_KEY", "UNKNOWN", "Entry", "LabelledNull", "Specials",
    "float_keys", "has_special", "has_wide", "is_special", "is_untyped",
]  # fmt: skip

FIRST, LAST = -(2**63), -(2**63) + 2**47 - 1
"""The window of special codes."""
NULL = FIRST
UNKNOWN = LAST
MOST_COMPARED_SINGLY = 48
"""So few numbers Python compares in less time than numpy takes to begin."""
FIRST_PLAIN, LAST_PLAIN = LAST + 1, 2**63 - 1 - 2**47
"""The numbers that are their own codes."""
NULL_KEY = 2**63 - 1
"""The key of all nulls, above those of all values."""
Entry: TypeAlias = LabelledNull | int | float
"""What the dictionary of special codes holds."""


def is_untyped(value: object) -> bool:
    """Whether a value is null, labelled or not, and so of no type and of every one."""
    return value is None or isinstance(value, LabelledNull)


def is_special(codes: Codes) -> NDArray[np.bool_]:
    """Where a code is special."""
    return codes <= LAST


def has_special(codes: Codes) -> bool:
    """Whether any code is special."""
    return bool(codes.size) and _least(codes) <= LAST


def has_wide(numbers: Codes) -> bool:
    """Whether any of these numbers cannot be its own code."""
    return bool(numbers.size) and (_least(numbers) < FIRST_PLAIN or _greatest(numbers) > LAST_PLAIN)


def _least(numbers: Codes) -> int:
    return min(numbers.ravel().tolist()) if numbers.size <= MOST_COMPARED_SINGLY else int(numbers.min())


def _greatest(numbers: Codes) -> int:
    return max(numbers.tolist()) if numbers.size <= MOST_COMPARED_SINGLY else int(numbers.max())


class Specials:
    """The entries of special codes, both ways."""

    def __init__(self, ask: Callable[[int, str], None] = lambda needed, what: None):
        """Start with `NULL` alone; `ask` is told what many new entries would take, and may refuse."""
        self._entries = Dictionary(ask=ask)
        self._labelled = np.zeros(16, bool)
        self._numbers = np.zeros(16, np.int64)
        self._keys = np.full(16, NULL_KEY, np.int64)
        self._described = 0

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    @property
    def nbytes(self) -> int:
        """About how much memory the entries take."""
        return self._entries.nbytes + self._labelled.nbytes + self._numbers.nbytes + self._keys.nbytes

    def since(self, start: int) -> list[Entry]:
        """The entries from the given one on, in order."""
        return self._entries.since(start)

    # ------------------------------------------------------------------ to codes

    def code(self, value: Entry | None) -> int:
        """The code of an entry, which is added if it is new; `None` is `NULL`."""
        return NULL if value is None else FIRST + 1 + self._entries.code(value)

    def find(self, value: Entry | None) -> int:
        """The code of an entry, or `UNKNOWN`; nothing is added."""
        if value is None:
            return NULL
        found = self._entries.find(value)
        return UNKNOWN if found < 0 else FIRST + 1 + found

    def encode(self, values: Sequence[Entry | None], *, intern: bool) -> Codes:
        """The codes of entries and of `None`."""
        code = self.code if intern else self.find
        return np.fromiter(map(code, values), np.int64, len(values))

    def int_codes(self, numbers: Codes, *, intern: bool = True) -> Codes:
        """The codes of 64-bit ints: themselves, but for those near the ends of the range."""
        if not has_wide(numbers):
            return numbers
        places = (numbers < FIRST_PLAIN) | (numbers > LAST_PLAIN)
        codes = numbers.copy()
        codes[places] = self.encode(numbers[places].tolist(), intern=intern)
        return codes

    def number_codes(self, numbers: Sequence[int], *, intern: bool) -> Codes:
        """The codes of ints of any size: themselves, but for wide ones."""
        if not numbers or (min(numbers) >= FIRST_PLAIN and max(numbers) <= LAST_PLAIN):
            return np.fromiter(numbers, np.int64, len(numbers))
        code = self.code if intern else self.find
        plain = (number if FIRST_PLAIN <= number <= LAST_PLAIN else code(number) for number in numbers)
        return np.fromiter(plain, np.int64, len(numbers))

    def float_codes(self, bits: Codes, *, intern: bool = True) -> Codes:
        """The codes of floats given by their bits: the bits, but for those in the window."""
        if not has_special(bits):
            return bits
        places = is_special(bits)
        codes = bits.copy()
        codes[places] = self.encode(bits[places].view(np.float64).tolist(), intern=intern)
        return codes

    # ------------------------------------------------------------------ from codes

    def value(self, code: int) -> Entry | None:
        """What a special code stands for."""
        return None if code == NULL else self._entries.decode([code - FIRST - 1])[0]

    def decode(self, codes: Codes) -> list[Entry | None]:
        """What special codes stand for."""
        return [self.value(code) for code in codes.tolist()]

    def texts(self, codes: Codes) -> list[str]:
        """Special codes as texts that mean the same to every codec."""
        return [literal(entry) for entry in self.decode(codes)]

    def parsed(self, texts: Sequence[str]) -> Codes:
        """The codes that `texts` of another codec are here."""
        return self.encode([parse_literal(text) for text in texts], intern=True)

    def nulls(self, codes: Codes) -> NDArray[np.bool_]:
        """Where a code is NULL or a labelled null."""
        return np.equal(codes, NULL) | self.labelled(codes)

    def labelled(self, codes: Codes) -> NDArray[np.bool_]:
        """Where a code is a labelled null."""
        result = np.zeros(codes.shape, bool)
        places = is_special(codes) & (codes != NULL) & (codes != UNKNOWN)
        if places.any():
            self._describe()
            result[places] = self._labelled[codes[places] - (FIRST + 1)]
        return result

    def numbers(self, codes: Codes) -> Codes:
        """The 64-bit numbers that codes of ints stand for, or the bits of floats; 0 where there is none."""
        if not has_special(codes):
            return codes
        self._describe()
        places = is_special(codes)
        found = codes.copy()
        found[places] = 0
        places &= (codes != NULL) & (codes != UNKNOWN)
        found[places] = self._numbers[codes[places] - (FIRST + 1)]
        return found

    def keys(self) -> Codes:
        """For each special code from `NULL` on, a key: numbers in order within a type and around all plain ones of
        it, nulls `NULL_KEY`. Keys of wide ints are ranks, and change as there are more of them."""
        self._describe()
        return self._keys[: len(self._entries) + 1]

    def _describe(self) -> None:
        """Note of new entries what they are, for whole columns at a time."""
        count = len(self._entries)
        if self._described == count:
            return
        if count > self._labelled.shape[0]:
            self._labelled = np.resize(self._labelled, 2 * count)
            self._numbers = np.resize(self._numbers, 2 * count)
        if count >= self._keys.shape[0]:
            self._keys = np.concatenate([self._keys, np.full(2 * count, NULL_KEY, np.int64)])
        any_wide = False
        for place, entry in enumerate(self._entries.since(self._described), self._described):
            self._labelled[place] = isinstance(entry, LabelledNull)
            self._numbers[place] = _number(entry)
            if isinstance(entry, float):
                self._keys[place + 1] = float_keys(self._numbers[place : place + 1])[0]
            any_wide = any_wide or isinstance(entry, int)
        self._described = count
        if any_wide:
            self._rank_ints()

    def _rank_ints(self) -> None:
        entries = enumerate(self._entries.since(0))
        wide = sorted((entry, place) for place, entry in entries if isinstance(entry, int))
        low = sum(entry < 0 for entry, _ in wide)
        for rank, (_, place) in enumerate(wide):
            self._keys[place + 1] = FIRST + 1 + rank if rank < low else LAST_PLAIN + 1 + rank - low


def float_keys(bits: Codes) -> Codes:
    """Ints in the order of floats given by their bits: those of positive ones are in order, of negative ones in
    reverse. NaN is above infinity."""
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


_DOUBLE, _BITS = struct.Struct("<d"), struct.Struct("<q")


def plain_float_code(value: float) -> int | None:
    """The code of a float that is its own bits, as most are; `None` for others, and for NaN.

    >>> plain_float_code(-0.0), plain_float_code(float("nan")), plain_float_code(-5e-324)
    (0, None, None)
    """
    if value != value:
        return None
    bits = _float_bits(value + 0.0)
    return bits if bits > LAST else None


def _float_bits(value: float) -> int:
    bits: int = _BITS.unpack(_DOUBLE.pack(value))[0]
    return bits


def _number(entry: Entry) -> int:
    if isinstance(entry, float):
        return _float_bits(entry)
    return entry if isinstance(entry, int) and FIRST <= entry < -FIRST else 0
