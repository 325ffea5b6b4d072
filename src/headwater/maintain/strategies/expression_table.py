"""Rows with packed expressions, an index from variables to rows, and all of it undone at the cost of what was done.

A row has a number while it is here, and one string of bytes that holds what was propagated of its expression and what
was held back (`annotations.packed`). Python objects for either would take ten times as much: terms are unpacked while
a version works with them, and only so many rows at a time.

The index may name rows that do not use the variable any more, never too few: whoever reads it looks at the row.
So nothing of it has to be undone but the loss of whole variables; lists that have grown are cleaned when a version
stands.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from functools import cache
from struct import Struct
from typing import NamedTuple

from headwater.annotations.minimal_dnf import Terms, bits
from headwater.annotations.packed import pack, unpack
from headwater.maintain.strategies.ledger import Ground

MOST_ROWS_UNPACKED = 1 << 14
"""How many rows have their terms unpacked at a time."""
FEWEST_ENTRIES_CLEANED = 64
"""Index lists up to this length are left as they are."""

NOTHING: Terms = frozenset()


class RowExpression(NamedTuple):
    """What consequences of a row know of its derivations, and what they do not."""

    sent: Terms
    kept: Terms = NOTHING

    @property
    def mask(self) -> int:
        """All variables that occur."""
        found = 0
        for terms in self:
            for term in terms:
                found |= term
        return found


class ExpressionTable:
    """Expressions by row. Variables are numbers, given by others."""

    def __init__(self) -> None:
        self._relations: dict[str, int] = {}
        self._names: list[str] = []
        self._numbers: dict[bytes, int] = {}
        self._keys: list[bytes | None] = []
        self._values: list[bytes] = []
        self._free: list[int] = []
        self._freed: list[int] = []
        self._index: dict[int, array[int]] = {}
        self._cleaned: dict[int, int] = {}
        self._grown: set[int] = set()
        self._dropped: dict[int, array[int]] = {}
        self._before: dict[int, tuple[bytes | None, bytes]] = {}
        self._open: dict[int, RowExpression] = {}
        self._unpacked: set[int] = set()
        """Open rows that have another expression than the one that was packed."""

    # ------------------------------------------------------------------ rows

    def number(self, row: Ground) -> int | None:
        """The number of a row that has an expression."""
        relation = self._relations.get(row.relation)
        if relation is None or row.absent:
            return None
        return self._numbers.get(_key(relation, row.codes))

    def row(self, number: int) -> Ground:
        """The row with this number."""
        key = self._keys[number]
        assert key is not None
        relation, *codes = _struct(len(key)).unpack(key)
        return Ground(self._names[relation], tuple(codes))

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Ground]:
        return map(self.row, list(self._numbers.values()))

    # ------------------------------------------------------------------ expressions

    def get(self, number: int) -> RowExpression:
        """The expression of a row."""
        found = self._open.get(number)
        if found is None:
            found = RowExpression(*unpack(self._values[number]))
            self._keep_open(number, found)
        return found

    def put(self, row: Ground, number: int | None, value: RowExpression) -> int:
        """Give a row another expression; its number, which is a new one if it had none (`number`)."""
        before = 0
        if number is None:
            number = self._enter(row)
        else:
            before = self.get(number).mask
            self._remember(number)
        self._keep_open(number, value)
        self._unpacked.add(number)
        news = value.mask & ~before
        if news:
            for variable in bits(news):
                self._index.setdefault(variable, array("I")).append(number)
                self._grown.add(variable)
        return number

    def remove(self, number: int) -> None:
        """Forget a row."""
        self._remember(number)
        key = self._keys[number]
        assert key is not None
        del self._numbers[key]
        self._keys[number], self._values[number] = None, b""
        self._open.pop(number, None)
        self._unpacked.discard(number)
        self._freed.append(number)

    def _enter(self, row: Ground) -> int:
        relation = self._relations.get(row.relation)
        if relation is None:
            relation = self._relations[row.relation] = len(self._names)
            self._names.append(row.relation)
        key = _key(relation, row.codes)
        if self._free:
            number = self._free.pop()
        else:
            number = len(self._keys)
            self._keys.append(None)
            self._values.append(b"")
        self._remember(number)
        self._numbers[key] = number
        self._keys[number] = key
        return number

    def _remember(self, number: int) -> None:
        if number not in self._before:
            self._before[number] = self._keys[number], self._values[number]

    def _keep_open(self, number: int, value: RowExpression) -> None:
        if len(self._open) >= MOST_ROWS_UNPACKED:
            self._pack()
            self._open.clear()
        self._open[number] = value

    def _pack(self) -> None:
        """A row may get one expression after another in a version: it is packed once."""
        for number in self._unpacked:
            self._values[number] = pack(self._open[number])
        self._unpacked.clear()

    # ------------------------------------------------------------------ the index

    def using(self, variable: int) -> Iterator[int]:
        """The numbers of all rows whose expressions use a variable."""
        mask = 1 << variable
        for number in dict.fromkeys(self._index.get(variable, ())):
            if self._keys[number] is not None and self.get(number).mask & mask:
                yield number

    def drop(self, variable: int) -> None:
        """The variable is gone: no expression will use it any more."""
        found = self._index.pop(variable, None)
        if found is not None:
            self._dropped.setdefault(variable, found)
        self._cleaned.pop(variable, None)
        self._grown.discard(variable)

    @property
    def variables(self) -> Iterable[int]:
        """Those that have entries in the index."""
        return self._index.keys()

    def _clean(self, variable: int) -> None:
        entries = self._index[variable]
        if len(entries) > self._cleaned.get(variable, FEWEST_ENTRIES_CLEANED):
            self._index[variable] = array("I", self.using(variable))
            self._cleaned[variable] = FEWEST_ENTRIES_CLEANED + 2 * len(self._index[variable])

    # ------------------------------------------------------------------ versions

    def commit(self) -> None:
        """Keep all changes since the last commit."""
        for variable in self._grown:
            self._clean(variable)
        self._pack()
        self._free += self._freed
        self._forget()

    def rollback(self) -> None:
        """Take back all changes since the last commit."""
        for number in self._before:
            key = self._keys[number]
            if key is not None:
                del self._numbers[key]
        for number, (key, value) in self._before.items():
            self._keys[number], self._values[number] = key, value
            if key is not None:
                self._numbers[key] = number
            else:
                self._free.append(number)
        self._index.update(self._dropped)
        self._forget()

    def _forget(self) -> None:
        self._freed, self._before, self._open = [], {}, {}
        self._grown, self._dropped, self._unpacked = set(), {}, set()


@cache
def _struct(size: int) -> Struct:
    """Of keys of so many bytes: a relation's number, and codes."""
    return Struct(f"<H{(size - 2) // 8}q")


def _key(relation: int, codes: tuple[int, ...]) -> bytes:
    return _struct(2 + 8 * len(codes)).pack(relation, *codes)
