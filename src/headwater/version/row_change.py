"""What a version did to a relation, as codes: known at once, or worked out when somebody asks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping

import numpy as np

from headwater.errors import EvaluationError
from headwater.kernel.relation import Relation, Rows, Stored
from headwater.kernel.states import VISIBLE
from headwater.plan.steps import Ints

MOST_ROWS_LISTED = 64
"""Up to so many rows are compared by Python: less than it takes to make a relation of them."""


class RowChange:
    """The rows a relation lost and gained."""

    counted = True
    """Whether it is known how many rows there are."""
    rests_on: frozenset[str] = frozenset()
    """Other relations that the rows are worked out from, if they are."""

    def __init__(self, lost: Ints, gained: Ints):
        self._lost = lost
        self._gained = gained

    def restricted(self, told: str) -> RowChange:
        """Only the rows gained (`+`), or only those lost (`-`); itself for both (`±`)."""
        if told == "±" or not self.resolved:
            return self
        return RowChange(
            self._lost[:0] if told == "+" else self._lost, self._gained[:0] if told == "-" else self._gained
        )

    @property
    def resolved(self) -> bool:
        """Whether the rows are known, whatever happens to the relation."""
        return True

    def resolve(self) -> None:
        """Make sure that the rows are known; they may be worked out only now."""

    def revoke(self) -> None:
        """The version was rolled back: what is not known yet never will be."""

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


class LazyChange(RowChange):
    """Rows that are worked out from relations when asked for, or before the next version changes those."""

    _revoked = _resolved = False

    @property
    def resolved(self) -> bool:
        return self._resolved

    def resolve(self) -> None:
        if self._revoked:
            raise EvaluationError(
                "rolled-back",
                "the version of these changes was rolled back",
                hint="changes of a version that failed are of no use; apply it again",
            )
        if not self._resolved:
            self._lost, self._gained = self._work_out()
            self._resolved = True
            self._release()

    def revoke(self) -> None:
        if not self._resolved:
            self._revoked = True
            self._release()

    @abstractmethod
    def _work_out(self) -> tuple[Ints, Ints]:
        """The rows lost and gained."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of the relations."""


class StoredChange(LazyChange):
    """Rows by their numbers in a relation."""

    def __init__(self, relation: Relation, lost: Rows, gained: Rows):
        self._stored: tuple[Stored, int, Rows, Rows] | None = (relation.rows, relation.arity, lost, gained)
        self._counts = gained.shape[0], lost.shape[0]

    def _work_out(self) -> tuple[Ints, Ints]:
        assert self._stored is not None
        rows, arity, lost, gained = self._stored
        return _codes(rows[lost, :arity]), _codes(rows[gained, :arity])

    def _release(self) -> None:
        self._stored = None

    @property
    def counts(self) -> tuple[int, int]:
        """How many rows were gained and lost: known without copying them."""
        return self._counts


class Replacement(LazyChange):
    """The difference between a relation that was dropped and the one derived anew in its place.

    Comparing them costs as much as deriving; most of the time nobody asks.
    """

    counted = False

    def __init__(self, old: Relation, new: Relation):
        self._relations: tuple[Relation, Relation] | None = (old, new)

    def _work_out(self) -> tuple[Ints, Ints]:
        assert self._relations is not None
        old, new = self._relations
        return _missing(old, new), _missing(new, old)

    def _release(self) -> None:
        self._relations = None


class Evaluated(LazyChange):
    """All rows of a view that is not stored, and was not there before: evaluated when somebody asks."""

    counted = False

    def __init__(self, rows: Callable[[], Ints], rests_on: frozenset[str]):
        self._rows: Callable[[], Ints] | None = rows
        self.rests_on = rests_on

    def _work_out(self) -> tuple[Ints, Ints]:
        assert self._rows is not None
        rows = self._rows()
        return rows[:0], rows

    def _release(self) -> None:
        self._rows = None


def composed(first: Mapping[str, RowChange], second: Mapping[str, RowChange]) -> dict[str, RowChange]:
    """What two changes, one after the other, come to for each relation that differs in the end."""
    found = dict(first)
    for name, later in second.items():
        if name in found:
            earlier = found.pop(name)
            lost = np.concatenate((without(earlier.lost, later.gained), without(later.lost, earlier.gained)))
            gained = np.concatenate(
                (without(earlier.gained, later.lost), without(later.gained, earlier.lost))
            )
            later = RowChange(lost, gained)
        if any(later.counts):
            found[name] = later
    return found


def without(rows: Ints, others: Ints) -> Ints:
    """The rows that are not among the others.

    >>> without(np.array([[1, 2], [3, 4]]), np.array([[3, 4], [5, 6]])).tolist()
    [[1, 2]]
    >>> many = np.arange(200).reshape(100, 2)
    >>> without(many, many[1:]).tolist()
    [[0, 1]]
    """
    if not rows.shape[0] or not others.shape[0]:
        return rows
    if rows.shape[0] + others.shape[0] <= MOST_ROWS_LISTED:
        known = set(map(tuple, others.tolist()))
        return np.ascontiguousarray(rows[[tuple(row) not in known for row in rows.tolist()]])
    there = Relation("~others", rows.shape[1])
    tuples = np.zeros((others.shape[0], rows.shape[1] + 1), np.int64)
    tuples[:, :-1] = others
    there.add(tuples, 0)
    return np.ascontiguousarray(rows[there.find(rows) < 0])


def _codes(stored: Stored) -> Ints:
    """The numbers of stored rows as codes."""
    return np.ascontiguousarray(stored, np.int64)


def _missing(relation: Relation, other: Relation) -> Ints:
    """The visible rows of one relation that are not visible in the other."""
    rows = relation.matrix()
    if other.stored == 0:
        return rows
    places = other.find(rows)
    there = (places >= 0) & ((other.state[np.maximum(places, 0)] & VISIBLE) != 0)
    return np.ascontiguousarray(rows[~there])
