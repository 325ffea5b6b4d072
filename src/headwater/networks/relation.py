"""The rows of a network's relation, as users read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headwater.networks.runtime.row_table import Row


class NetworkRelation:
    """The rows of a relation: all of them, or those at one node."""

    def __init__(self, name: str, rows: Iterable[Row]):
        self.name = name
        self._rows = frozenset(rows)

    def rows(self) -> list[Row]:
        """The rows, in order where their values have one."""
        try:
            return sorted(self._rows)
        except TypeError:
            return list(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, row: object) -> bool:
        return row in self._rows

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self):,} rows>"


class NetworkPlace:
    """One node of a network."""

    def __init__(self, name: str, read: Callable[[str], NetworkRelation]):
        self.name = name
        self._read = read

    def __getitem__(self, relation: str) -> NetworkRelation:
        return self._read(relation)

    def __repr__(self) -> str:
        return f"<node {self.name}>"
