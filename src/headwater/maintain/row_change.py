"""What a version did to a relation, as codes: known at once, or worked out when somebody asks."""

from __future__ import annotations

import numpy as np

from headwater.kernel.relation import Relation, Rows
from headwater.kernel.states import VISIBLE
from headwater.plan.steps import Ints


class RowChange:
    """The rows a relation lost and gained."""

    def __init__(self, lost: Ints, gained: Ints):
        self._lost = lost
        self._gained = gained

    def resolve(self) -> None:
        """Make sure that the rows are known; they may be worked out only now."""

    @property
    def lost(self) -> Ints:
        """Rows that were there and are not."""
        self.resolve()
        return self._lost

    @property
    def gained(self) -> Ints:
        """Rows that are there and were not."""
        self.resolve()
        return self._gained

    @property
    def counts(self) -> tuple[int, int]:
        """How many rows were gained and lost."""
        return self.gained.shape[0], self.lost.shape[0]


class StoredChange(RowChange):
    """Rows by their numbers in a relation: copied when asked for, or before the next version overwrites them."""

    def __init__(self, relation: Relation, lost: Rows, gained: Rows):
        self._stored: tuple[Ints, int, Rows, Rows] | None = (relation.rows, relation.arity, lost, gained)

    def resolve(self) -> None:
        """Copy the rows now."""
        if self._stored is not None:
            rows, arity, lost, gained = self._stored
            self._stored = None
            self._lost = np.ascontiguousarray(rows[lost, :arity])
            self._gained = np.ascontiguousarray(rows[gained, :arity])

    @property
    def counts(self) -> tuple[int, int]:
        """How many rows were gained and lost: known without copying them."""
        if self._stored is not None:
            return self._stored[3].shape[0], self._stored[2].shape[0]
        return super().counts


class Replacement(RowChange):
    """The difference between a relation that was dropped and the one derived anew in its place.

    Comparing them costs as much as deriving; most of the time nobody asks. Whoever changes the new relation
    must call `resolve` first.
    """

    def __init__(self, old: Relation, new: Relation):
        self._relations: tuple[Relation, Relation] | None = (old, new)

    def resolve(self) -> None:
        """Compare the two now."""
        if self._relations is not None:
            old, new = self._relations
            self._relations = None
            self._lost, self._gained = _missing(old, new), _missing(new, old)


def _missing(relation: Relation, other: Relation) -> Ints:
    """The visible rows of one relation that are not visible in the other."""
    rows = relation.matrix()
    if other.stored == 0:
        return rows
    places = other.find(rows)
    there = (places >= 0) & ((other.state[np.maximum(places, 0)] & VISIBLE) != 0)
    return np.ascontiguousarray(rows[~there])
