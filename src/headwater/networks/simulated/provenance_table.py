"""Rows with annotations, and an index from each base row's variable to the rows that rest on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headwater.annotations.protocol import Restrictable
from headwater.networks.simulated.channels import Row

Provenance = Any
"""An element of the annotation in use."""


class ProvenanceTable:
    """The state of an operator: what it knows of each row. `zero` is never stored.

    >>> from headwater.annotations.minimal_dnf import MinimalDNF
    >>> dnf = MinimalDNF()
    >>> table = ProvenanceTable(dnf)
    >>> table.put(("a", "b"), dnf.plus(dnf.variable(1), dnf.variable(2)))
    >>> table.put(("b", "c"), dnf.variable(1))
    >>> sorted((row, dnf.show(left)) for row, left in table.restrict(1))
    [(('a', 'b'), 'p2'), (('b', 'c'), '0')]
    >>> list(table)
    [('a', 'b')]
    """

    def __init__(self, annotation: Restrictable[Any]):
        self.annotation = annotation
        self._rows: dict[Row, Provenance] = {}
        self._index: dict[int, set[Row]] = {}

    def __contains__(self, row: Row) -> bool:
        return row in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def items(self) -> Iterator[tuple[Row, Provenance]]:
        """Rows with what they carry."""
        return iter(self._rows.items())

    def get(self, row: Row) -> Provenance | None:
        """What a row carries, or `None`."""
        return self._rows.get(row)

    def put(self, row: Row, value: Provenance, news: Provenance | None = None) -> None:
        """Let a row carry a value that is not zero. `news` is what it has beyond the value before, if known."""
        self._rows[row] = value
        for variable in self.annotation.support(value if news is None else news):
            rows = self._index.get(variable)
            if rows is None:
                self._index[variable] = {row}
            else:
                rows.add(row)

    def pop(self, row: Row) -> Provenance | None:
        """Take a row out."""
        return self._rows.pop(row, None)

    def restrict(self, variable: int) -> list[tuple[Row, Provenance]]:
        """Make a variable false. Return the rows that changed with what is left; those with nothing left go."""
        changed: list[tuple[Row, Provenance]] = []
        for row in sorted(self._index.pop(variable, ())):
            value = self._rows.get(row)
            if value is None:
                continue
            left = self.annotation.restrict(value, (variable,))
            if self.annotation.equal(left, value):
                continue
            changed.append((row, left))
            if self.annotation.equal(left, self.annotation.zero):
                del self._rows[row]
            else:
                self._rows[row] = left
        return changed

    def provenance_bytes(self) -> int:
        """How many bytes the annotations take in their wire form."""
        return sum(len(self.annotation.encode(value)) for value in self._rows.values())
