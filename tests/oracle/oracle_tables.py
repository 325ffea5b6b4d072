"""What the language promises about keys, lifetimes and sizes of base relations, in plain Python.

A table is a list of rows, the one that was inserted longest ago first, each with the time of that. Nothing here is
clever: a version copies what it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Row = tuple[int, ...]
Rows = Mapping[str, Iterable[Row]]


@dataclass(frozen=True)
class Table:
    """What a `materialize` line says. Key columns are counted from 0."""

    lifetime: int | None = None
    size: int | None = None
    key: tuple[int, ...] | None = None

    def line(self, name: str, arity: int) -> str:
        """The line in the language, where columns are counted from 1. Without a key, all columns are."""
        limits = ", ".join(
            "infinity" if limit is None else str(limit) for limit in (self.lifetime, self.size)
        )
        columns = ", ".join(str(column + 1) for column in (self.key or range(arity)))
        return f"materialize({name}, {limits}, keys({columns}))."


class Tables:
    """The base relations of a program, version by version."""

    def __init__(self, names: Iterable[str], tables: Mapping[str, Table]):
        self.tables = {name: tables.get(name, Table()) for name in names}
        self.now = 0
        self._inserted: dict[str, list[tuple[Row, int]]] = {name: [] for name in self.tables}

    def rows(self) -> dict[str, frozenset[Row]]:
        """What is in the relations."""
        return {name: frozenset(row for row, _ in rows) for name, rows in self._inserted.items()}

    def apply(self, delete: Rows, insert: Rows) -> None:
        """Deletes, then inserts."""
        for name, rows in delete.items():
            gone = set(rows)
            self._inserted[name] = [entry for entry in self._inserted[name] if entry[0] not in gone]
        for name, rows in insert.items():
            table = self.tables[name]
            for row in rows:
                self._inserted[name] = [
                    entry for entry in self._inserted[name] if not _replaces(table, row, entry[0])
                ]
                self._inserted[name].append((row, self.now))
            if table.size is not None:
                self._inserted[name] = self._inserted[name][-table.size :]

    def advance(self, to: int) -> None:
        """Time goes on; rows whose lifetime is over go."""
        self.now = to
        for name, table in self.tables.items():
            if table.lifetime is not None:
                self._inserted[name] = [
                    (row, time) for row, time in self._inserted[name] if to < time + table.lifetime
                ]


def _replaces(table: Table, new: Row, old: Row) -> bool:
    """Whether a row takes the place of another: by its key, or since it is the same."""
    if table.key is None:
        return new == old
    return all(new[column] == old[column] for column in table.key)
