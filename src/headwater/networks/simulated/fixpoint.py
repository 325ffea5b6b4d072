"""Fixpoint (liu-2008 section 4.2, algorithm 1): the view's rows of one node, with their provenance.

A row that arrives with nothing new for its provenance goes no further: that is where the recursion ends. What
goes on is what was not absorbed, rather than the paper's difference `new ∧ ¬old`, which is not monotone and
larger. A deletion makes a variable false in the rows that an index gives; rows left with false go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headwater.annotations.protocol import Restrictable
from headwater.networks.simulated.aggregate_selection import AggSel, BestOf
from headwater.networks.simulated.channels import Row
from headwater.networks.simulated.provenance_table import Provenance, ProvenanceTable

Update = tuple[Row, Provenance]
"""An insertion of a row with provenance."""


class ProvenanceFixpoint:
    """The rows of the view that live on a node."""

    def __init__(self, annotation: Restrictable[Any], selection: BestOf | None = None):
        self.annotation = annotation
        self.table = ProvenanceTable(annotation)
        self.select = None if selection is None else AggSel(selection)

    def insert(self, row: Row, value: Provenance) -> Iterator[Update]:
        """What goes on to the next operator."""
        old = self.table.get(row)
        if old is None:
            self.table.put(row, value)
            if self.select is None or self.select.insert(row):
                yield row, value
            return
        new = self.annotation.plus(old, value)
        if self.annotation.equal(new, old):
            return
        self.table.put(row, new, value)
        if self.select is None or self.select.selected(row):
            yield row, self.annotation.beyond(value, old)

    def delete(self, variable: int) -> Iterator[Update]:
        """Make a variable false; rows that are now the best in the place of fallen ones go on."""
        changed = self.table.restrict(variable)
        if self.select is not None:
            for row in self.select.remove(row for row, _ in changed if row not in self.table):
                yield row, self.table.get(row)

    def rows(self) -> set[Row]:
        """The rows of the view here: all, or the best ones."""
        if self.select is None:
            return set(self.table)
        return {row for best in self.select.best.values() for row in best}
