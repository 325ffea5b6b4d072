"""MinShip (liu-2008 section 5, algorithm 3): ship a row once; ship other derivations of it only as needed.

The first derivation of a row goes out at once. Later ones that it does not absorb are held back:
- *eager* (`batch=1`): they go out at once, too;
- *not at all* (`batch=0`): a conventional Ship, which sends whatever comes, absorbed or not;
- *batched* (`batch=W`): all of them, when W rows have some, and when the node comes to rest;
- *lazy* (`batch=None`): only when all that was shipped of the row has become false.

Deletions are by variable: every node makes the variable false in what it has shipped as the receiver does in
what it has received, so both agree on what the receiver still knows, whatever else is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headwater.annotations.protocol import Restrictable
from headwater.networks.simulated.aggregate_selection import AggSel, BestOf
from headwater.networks.simulated.channels import Row
from headwater.networks.simulated.provenance_table import Provenance, ProvenanceTable

Ship = Callable[[Row, Provenance], None]


class ProvenanceMinShip:
    """What a node has shipped, and what it has held back."""

    def __init__(
        self,
        annotation: Restrictable[Any],
        ship: Ship,
        batch: int | None = None,
        selection: BestOf | None = None,
    ):
        self.annotation = annotation
        self.ship = ship
        self.batch = batch
        self.shipped = ProvenanceTable(annotation)
        self.held_back = ProvenanceTable(annotation)
        self.select = None if selection is None else AggSel(selection)
        self.candidates = ProvenanceTable(annotation)
        """With aggregate selection: all rows that came, best or not."""

    def insert(self, row: Row, value: Provenance) -> None:
        """A derivation of a row that belongs to another node, or to this one."""
        if self.select is not None:
            old = self.candidates.get(row)
            self.candidates.put(row, value if old is None else self.annotation.plus(old, value), value)
            if not (self.select.insert(row) if old is None else self.select.selected(row)):
                return
            if old is None or row not in self.shipped:
                value = self.candidates.get(row)
        self._insert(row, value)

    def _insert(self, row: Row, value: Provenance) -> None:
        shipped = self.shipped.get(row)
        if shipped is None or self.batch == 0:
            self._send(row, value)
            return
        if self.annotation.equal(self.annotation.plus(shipped, value), shipped):
            return
        value = self.annotation.beyond(value, shipped)
        if self.batch == 1:
            self._send(row, value)
            return
        waiting = self.held_back.get(row)
        self.held_back.put(row, value if waiting is None else self.annotation.plus(waiting, value), value)
        if self.batch is not None and len(self.held_back) >= self.batch:
            self.flush()

    def flush(self) -> bool:
        """Ship all that was held back, unless lazy; return whether there was any."""
        if self.batch is None or not len(self.held_back):
            return False
        for row in list(self.held_back):
            self._send(row, self.held_back.pop(row))
        return True

    def delete(self, variable: int) -> None:
        """Make a variable false. Rows with nothing shipped left are shipped again, if anything was held back."""
        self.held_back.restrict(variable)
        fallen = [row for row, _ in self.shipped.restrict(variable) if row not in self.shipped]
        for row in fallen:
            waiting = self.held_back.pop(row)
            if waiting is not None and (self.select is None or self.select.selected(row)):
                self._send(row, waiting)
        if self.select is not None:
            self._choose_again(
                row for row, _ in self.candidates.restrict(variable) if row not in self.candidates
            )

    def _choose_again(self, gone: Iterable[Row]) -> None:
        assert self.select is not None
        for row in self.select.remove(gone):
            self._insert(row, self.candidates.get(row))

    def _send(self, row: Row, value: Provenance) -> None:
        shipped = self.shipped.get(row)
        self.shipped.put(row, value if shipped is None else self.annotation.plus(shipped, value), value)
        self.ship(row, value)

    def tables(self) -> tuple[ProvenanceTable, ...]:
        """All state, for measuring."""
        return (self.shipped, self.held_back, self.candidates)
