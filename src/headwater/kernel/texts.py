"""Strings by number: the bytes of all of them one after another, and a table that finds one by its bytes.

A whole column is looked up at once, and what is new is added in the order given: no Python object is made of a string
until somebody wants to read it. Numbers are 0, 1, 2, ... in the order in which strings came; none is ever changed.

A slot of the table is as in `hashing`, with the number of the string in the place of a row. Strings are compared byte
by byte: what the hash decides is only where to look. What readers look at is replaced as a whole (`_Stand`) and
covers only strings that were there by then, so they may look while somebody adds. Two must not add at the same time.

>>> texts = Texts()
>>> given = TextColumn.of([b"b", b"a", b"b"])
>>> texts.find(given).tolist(), texts.add(given).tolist(), texts.find(TextColumn.of([b"a", b"z"])).tolist()
([-1, -1, -1], [0, 1, 0], [1, -1])
>>> texts.bytes_of(1), len(texts)
(b'a', 2)
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.kernel.compiled import compiled, instruction
from headwater.kernel.hashing import MIX_1, MIX_2, ROW, home, mix, move_slots, tag_of
from headwater.kernel.memory import empty, grown, zeros
from headwater.kernel.prefetch import BLOCK, prefetch

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
FEWEST_SLOTS = 1 << 10
FEWEST_BYTES = 1 << 14
GIVEN = "Array(uint8, 1, 'C', True)"
"""How signatures name bytes that are only read, as Arrow's are."""
FEWEST_ADDED, FEWEST_BYTES_ADDED = 1 << 13, 1 << 18
"""Room is made for so many strings at once, or for as many as there are."""
WORD, STRIPE = 8, 32
"""Bytes that are taken at once, by one lane and by all four."""


@dataclass(frozen=True)
class TextColumn:
    """Strings as Arrow has them: the bytes, and where each begins; the next begins where it ends."""

    data: Bytes
    places: Ints

    @staticmethod
    def of(values: Sequence[bytes]) -> TextColumn:
        """These strings."""
        places = np.array([0, *accumulate(map(len, values))], np.int64)
        return TextColumn(np.frombuffer(b"".join(values) or b" ", np.uint8), places)

    def __len__(self) -> int:
        """How many strings, not parts."""
        return int(self.places.shape[0]) - 1


class _Stand(NamedTuple):
    """What there is to look at: bytes, where strings begin, slots, and how many strings count."""

    data: Bytes
    places: Ints
    slots: Ints
    known: int


def word_of(array, place):
    """What `word_at` means."""
    return array[place : place + WORD].view(np.uint64)[0]


@instruction(word_of)
def word_at(context, array, place):
    """Eight bytes of an array of bytes from a place on, as one number; the place need not be a multiple of eight."""
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import types

    def generate(target, builder, signature, values):
        data = target.make_array(signature.args[0])(target, builder, values[0]).data
        word = builder.bitcast(builder.gep(data, [values[1]]), ir.IntType(64).as_pointer())
        return builder.load(word, align=1)

    return types.uint64(array, types.int64), generate


@compiled()
def lane(so_far, word):
    """One step of a lane of the hash: the same as in XXH64."""
    h = so_far + word * MIX_2
    return ((h << np.uint64(31)) | (h >> np.uint64(33))) * MIX_1


@compiled()
def hash_text(data, start, end):
    """The tag of a string: four lanes side by side where it is long."""
    h = np.uint64(end - start) * MIX_1
    p = start
    if end - p >= STRIPE:
        a, b, c, d = h, h ^ MIX_1, h ^ MIX_2, np.uint64(0)
        while end - p >= STRIPE:
            a = lane(a, word_at(data, p))
            b = lane(b, word_at(data, p + WORD))
            c = lane(c, word_at(data, p + 2 * WORD))
            d = lane(d, word_at(data, p + 3 * WORD))
            p += STRIPE
        h = mix(mix(mix(mix(h, a), b), c), d)
    while end - p >= WORD:
        h = mix(h, word_at(data, p))
        p += WORD
    if p < end:
        if end - start >= WORD:
            return tag_of(mix(h, word_at(data, end - WORD)))
        last = np.uint64(0)
        while p < end:
            last = (last << np.uint64(8)) | np.uint64(data[p])
            p += 1
        h = mix(h, last)
    return tag_of(h)


@compiled()
def alike(left, left_start, right, right_start, length):
    """Whether two strings of one length have the same bytes."""
    i = np.int64(0)
    while length - i >= WORD:
        if word_at(left, left_start + i) != word_at(right, right_start + i):
            return False
        i += WORD
    while i < length:
        if left[left_start + i] != right[right_start + i]:
            return False
        i += 1
    return True


@compiled()
def known_at(given, starts, which, tag, position, data, places, slots, count):
    """The position of the slot of a given string, from `position` on, or of the empty one where it would be."""
    mask = np.int64(slots.shape[0] - 1)
    start = starts[which]
    length = starts[which + 1] - start
    p = position
    while True:
        entry = slots[p]
        if entry == 0:
            return p
        if (entry >> 32) & ROW == tag:
            text = (entry & ROW) - 1
            known = text < count and places[text + 1] - places[text] == length
            if known and alike(given, start, data, places[text], length):
                return p
        p = (p + 1) & mask


@compiled(
    f"int64({GIVEN}, int64[::1], uint8[::1], int64[::1], int64[::1], int64, int64[::1], int64[::1], int64[::1])"
)
def find_texts(given, starts, data, places, slots, count, tags, numbers, scratch):
    """Look strings up: their tags, their numbers (-1 for those not here), and how many are not.

    By blocks (see `prefetch`): slots are asked for first, then where their strings begin, then these.
    """
    size = slots.shape[0]
    mask = np.int64(size - 1)
    total = starts.shape[0] - 1
    missing = np.int64(0)
    for first in range(0, total, BLOCK):
        block = min(BLOCK, total - first)
        for i in range(block):
            tag = hash_text(given, starts[first + i], starts[first + i + 1])
            tags[first + i] = tag
            prefetch(slots, home(tag, size))
        for i in range(block):
            tag = tags[first + i]
            p = home(tag, size)
            while True:
                entry = slots[p]
                if entry == 0 or (entry >> 32) & ROW == tag:
                    break
                p = (p + 1) & mask
            scratch[i] = p
            if entry != 0 and (entry & ROW) - 1 < count:
                prefetch(places, (entry & ROW) - 1)
        for i in range(block):
            text = (slots[scratch[i]] & ROW) - 1
            if 0 <= text < count:
                prefetch(data, places[text])
                prefetch(data, places[text] + 64)
        for i in range(block):
            p = known_at(
                given, starts, first + i, tags[first + i], scratch[i], data, places, slots, count
            )  # fmt: skip
            if slots[p] == 0:
                numbers[first + i] = -1
                missing += 1
            else:
                numbers[first + i] = (slots[p] & ROW) - 1
    return missing


@compiled(
    f"int64({GIVEN}, int64[::1], int64[::1], int64[::1], uint8[::1], int64[::1], int64[::1], int64, int64[::1])"
)
def add_texts(given, starts, which, tags, data, places, slots, count, numbers):
    """Add strings that were not found, each once; there is room. How many there are then."""
    size = slots.shape[0]
    for w in range(which.shape[0]):
        i = which[w]
        p = known_at(given, starts, i, tags[i], home(tags[i], size), data, places, slots, count)
        if slots[p] == 0:
            end = places[count]
            for q in range(starts[i], starts[i + 1]):
                data[end] = given[q]
                end += 1
            places[count + 1] = end
            count += 1
            slots[p] = (tags[i] << 32) | count
        numbers[i] = (slots[p] & ROW) - 1
    return count


class Texts:
    """Strings to numbers and back; `ask` is told what many new ones would take, about, and may refuse."""

    def __init__(self, ask: Callable[[int, str], None] = lambda needed, what: None):
        self._ask = ask
        data, places = empty((FEWEST_BYTES,), np.uint8), zeros((FEWEST_SLOTS // 2,), np.int64)
        self._stand = _Stand(data, places, zeros((FEWEST_SLOTS,), np.int64), 0)
        self._taken = 0
        """Slots that have an entry: as many as there are strings, or more where adding was broken off."""

    def __len__(self) -> int:
        return self._stand.known

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        data, places, slots, _ = self._stand
        return data.nbytes + places.nbytes + slots.nbytes

    @property
    def length(self) -> int:
        """How many bytes all strings have."""
        return int(self._stand.places[self._stand.known])

    def column(self) -> TextColumn:
        """All strings. The bytes of those that come later follow, and may be written at any time."""
        data, places, _, count = self._stand
        return TextColumn(data, places[: count + 1])

    def bytes_of(self, number: int) -> bytes:
        """One string."""
        data, places, _, _ = self._stand
        return data[places[number] : places[number + 1]].tobytes()

    def find(self, given: TextColumn) -> Ints:
        """The numbers of strings, -1 for those that are not here."""
        return self._found(given)[0]

    def add(self, given: TextColumn) -> Ints:
        """The numbers of strings; new ones are added in the order given. All of them or, for want of memory, none."""
        numbers, tags, missing = self._found(given)
        if missing:
            which = np.flatnonzero(numbers < 0)
            try:
                self._stand = self._with(given, which, tags, numbers)
            except BaseException:
                self._taken = int(np.count_nonzero(self._stand.slots))
                raise
        return numbers

    def _with(self, given: TextColumn, which: Ints, tags: Ints, numbers: Ints) -> _Stand:
        """What there will be with some of the strings given. Many of them may be the same: they are added a piece at
        a time, each about as large as what there is, so that room is made for what is new and little more."""
        stand, start, what = self._stand, 0, f"{which.shape[0]:,} new strings"
        ends = np.cumsum(given.places[which + 1] - given.places[which])
        while start < which.shape[0]:
            there = int(ends[start - 1]) if start else 0
            length = max(FEWEST_BYTES_ADDED, int(stand.places[stand.known]))
            longest = int(np.searchsorted(ends, there + length, "right"))
            stop = max(start + 1, min(longest, start + max(FEWEST_ADDED, stand.known), which.shape[0]))
            data, places, slots = self._room(stand, stop - start, int(ends[stop - 1]) - there, what)
            count = add_texts(
                given.data, given.places, which[start:stop], tags, data, places, slots, stand.known, numbers
            )
            self._taken += count - stand.known
            stand, start = _Stand(data, places, slots, count), stop
        return stand

    def number(self, text: bytes, *, intern: bool) -> int:
        """The number of one string; if it is new, it is added or -1."""
        given = TextColumn(np.frombuffer(text or b" ", np.uint8), np.array((0, len(text)), np.int64))
        return int((self.add(given) if intern else self.find(given))[0])

    def _found(self, given: TextColumn) -> tuple[Ints, Ints, int]:
        tags, numbers = np.empty(len(given), np.int64), np.empty(len(given), np.int64)
        scratch = np.empty(BLOCK, np.int64)
        missing = find_texts(given.data, given.places, *self._stand, tags, numbers, scratch)
        return numbers, tags, missing

    def _room(self, stand: _Stand, more: int, length: int, what: str) -> tuple[Bytes, Ints, Ints]:
        """Arrays with room for so many more strings, with so many bytes in all; `what` it is for."""
        data, places, slots, count = stand
        last, size = int(places[count]) + length, slots.shape[0]
        while 3 * size < 4 * (self._taken + more):
            size *= 2
        if last <= data.shape[0] and count + more < places.shape[0] and size == slots.shape[0]:
            return data, places, slots
        room = max(last, data.shape[0] * 3 // 2) if last > data.shape[0] else data.shape[0]
        longest = places.shape[0]
        if count + more + 1 > longest:
            longest = max(count + more + 1, longest * 3 // 2)
        self._ask(room + 8 * (longest + size) - self.nbytes, what)
        data, places = grown(data, room, empty), grown(places, longest)
        if size > slots.shape[0]:
            larger = zeros((size,), np.int64)
            move_slots(slots, larger)
            slots = larger
        return data, places, slots
