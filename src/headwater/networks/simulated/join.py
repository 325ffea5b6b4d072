"""PipelinedHashJoin (liu-2008 section 4.3, algorithm 2): base rows with view rows of the same key, as they come.

Both sides are kept in hash tables by key. An update is joined with what the other side holds now; since sides
are updated one message at a time, no pair is missed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from headwater.annotations.protocol import Restrictable
from headwater.networks.simulated.channels import Row
from headwater.networks.simulated.fixpoint import Update
from headwater.networks.simulated.provenance_table import Provenance, ProvenanceTable
from headwater.networks.simulated.queries import LinearQuery


class PipelinedHashJoin:
    """The join of one node."""

    def __init__(self, query: LinearQuery, annotation: Restrictable[Any]):
        self.query = query
        self.annotation = annotation
        self.base = ProvenanceTable(annotation)
        self.view = ProvenanceTable(annotation)
        self.base_by_key: dict[Hashable, dict[Row, None]] = {}
        self.view_by_key: dict[Hashable, dict[Row, None]] = {}

    def insert_base(self, row: Row, value: Provenance) -> Iterator[Update]:
        """A base row has come: what follows from it and the view rows here."""
        key = self.query.key(row)
        self._merge(self.base, row, value)
        self.base_by_key.setdefault(key, {})[row] = None
        for other in list(self.view_by_key.get(key, ())):
            product = self.annotation.times(value, self.view.get(other))
            for result in self.query.step(row, other):
                yield result, product

    def insert_view(self, row: Row, value: Provenance) -> Iterator[Update]:
        """A view row, or another derivation of one, has come: what follows from it and the base rows here."""
        key = self.query.view_key(row)
        self._merge(self.view, row, value)
        self.view_by_key.setdefault(key, {})[row] = None
        for other in list(self.base_by_key.get(key, ())):
            product = self.annotation.times(value, self.base.get(other))
            for result in self.query.step(other, row):
                yield result, product

    def delete(self, variable: int) -> None:
        """Make a variable false on both sides."""
        for row, _ in self.base.restrict(variable):
            if row not in self.base:
                _discard(self.base_by_key, self.query.key(row), row)
        for row, _ in self.view.restrict(variable):
            if row not in self.view:
                _discard(self.view_by_key, self.query.view_key(row), row)

    def _merge(self, table: ProvenanceTable, row: Row, value: Provenance) -> None:
        old = table.get(row)
        table.put(row, value if old is None else self.annotation.plus(old, value), value)


def _discard(table: dict[Hashable, dict[Row, None]], key: Hashable, row: Row) -> None:
    rows = table[key]
    del rows[row]
    if not rows:
        del table[key]
