"""The rows of one relation that a node holds, with what they carry, and indexes for the strands that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, Protocol

Row = tuple[Any, ...]


class Entry:
    """A row of a table (by number), what it carries, and when it came (see `orders`).

    `mask` is for whoever keeps what rows carry: the variables under which the entry is indexed.
    """

    __slots__ = ("mask", "row", "stamp", "table", "value")

    def __init__(self, table: int, row: Row, value: Any, stamp: int):
        self.table = table
        self.row = row
        self.value = value
        self.stamp = stamp
        self.mask = 0


class Watcher(Protocol):
    """What is told when rows of a table come and go."""

    def appeared(self, row: Row) -> None: ...

    def vanished(self, row: Row) -> None: ...


class RowTable:
    """Entries by row and, for each set of columns that a strand looks up by, by key.

    >>> table = RowTable(2, [(0,)])
    >>> table.add(Entry(0, ("a", 1), None, 0)), table.add(Entry(0, ("a", 2), None, 0))
    (None, None)
    >>> [entry.row for entry in table.find((0,), "a")]
    [('a', 1), ('a', 2)]
    """

    __slots__ = ("_indexes", "_keys", "rows", "watchers")

    def __init__(self, arity: int, indexes: Iterable[tuple[int, ...]]):
        self.rows: dict[Row, Entry] = {}
        self.watchers: list[Watcher] = []
        self._keys: dict[tuple[int, ...], Callable[[Row], Any]] = {
            columns: itemgetter(*columns) for columns in indexes if columns and len(columns) < arity
        }
        self._indexes: dict[tuple[int, ...], dict[Any, dict[Entry, None]]] = {
            columns: {} for columns in self._keys
        }

    def add(self, entry: Entry) -> None:
        """A row has come."""
        row = entry.row
        self.rows[row] = entry
        for columns, key in self._keys.items():
            self._indexes[columns].setdefault(key(row), {})[entry] = None
        for watcher in self.watchers:
            watcher.appeared(row)

    def remove(self, entry: Entry) -> None:
        """A row has gone."""
        row = entry.row
        del self.rows[row]
        for columns, key in self._keys.items():
            index, value = self._indexes[columns], key(row)
            found = index[value]
            del found[entry]
            if not found:
                del index[value]
        for watcher in self.watchers:
            watcher.vanished(row)

    def find(self, columns: tuple[int, ...], key: Any) -> Iterable[Entry]:
        """The entries with these values in these columns."""
        if not columns:
            return self.rows.values()
        if columns in self._indexes:
            return self._indexes[columns].get(key, ())
        entry = self.rows.get(key if len(columns) > 1 else (key,))
        return () if entry is None else (entry,)
