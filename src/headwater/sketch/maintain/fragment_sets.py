"""What annotated rows carry: a set of fragments each, a column of them at a time.

`FragmentSets` has them written out: one array of numbers, and where each row's begin. The rows that a group-by gives
carry whatever fragments their groups have in its state, now or before the version (`GroupFragments`): these are
written out only for rows that somebody asks about, and a group of which both rows arrive is known to change by
little.

>>> sets = FragmentSets.of([{1, 2}, set(), {5}])
>>> sets.take(np.array([2, 0])).rows()
[{5}, {1, 2}]
>>> sets.unite(FragmentSets.of([{2}, {7}, {6}])).rows()
[{1, 2}, {7}, {5, 6}]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from headwater.kernel.accumulating import Accumulating

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class RowFragments(Protocol):
    """The fragments of some rows."""

    def take(self, rows: Ints) -> RowFragments:
        """Those of some of the rows, by their places."""
        ...

    def sets(self) -> FragmentSets:
        """All of them, written out."""
        ...


@dataclass(frozen=True)
class FragmentSets:
    """Sets of fragment numbers: row i has `members[offsets[i]:offsets[i + 1]]`, none twice."""

    offsets: Ints
    members: Ints

    @staticmethod
    def of(sets: Sequence[Iterable[int]]) -> FragmentSets:
        """Sets as Python has them."""
        ordered = [sorted(each) for each in sets]
        offsets = np.cumsum([0, *map(len, ordered)], dtype=np.int64)
        return FragmentSets(offsets, np.array([x for each in ordered for x in each], np.int64))

    @staticmethod
    def matrix(columns: Sequence[Ints], rows: int, *, disjoint: bool = True) -> FragmentSets:
        """The sets of rows that have a fragment in each of these columns; `disjoint`: never the same in two."""
        width = len(columns)
        offsets = np.arange(rows + 1, dtype=np.int64) * width
        if width == 0:
            return FragmentSets(offsets, np.empty(0, np.int64))
        members = columns[0] if width == 1 else np.ascontiguousarray(np.stack(columns, axis=1)).reshape(-1)
        sets = FragmentSets(offsets, members.astype(np.int64, copy=False))
        return sets if disjoint else sets.distinct()

    def __len__(self) -> int:
        return int(self.offsets.shape[0]) - 1

    @property
    def lengths(self) -> Ints:
        """How many fragments each row has."""
        return np.diff(self.offsets)

    def take(self, rows: Ints) -> FragmentSets:
        """The sets of some rows."""
        lengths = self.lengths[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return FragmentSets(offsets, self.members[places])

    def sets(self) -> FragmentSets:
        return self

    def unite(self, other: FragmentSets) -> FragmentSets:
        """The union of the sets of each row (that of rows which are joined)."""
        rows = np.concatenate((self._rows(), other._rows()))
        members = np.concatenate((self.members, other.members))
        return _distinct(rows, members, len(self))

    def distinct(self) -> FragmentSets:
        """The same sets with each member once."""
        return _distinct(self._rows(), self.members, len(self))

    def rows(self) -> list[set[int]]:
        """The sets as Python has them."""
        members = self.members.tolist()
        return [
            set(members[start:end])
            for start, end in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)
        ]

    def _rows(self) -> Ints:
        return np.repeat(np.arange(len(self)), self.lengths)


def _distinct(rows: Ints, members: Ints, count: int) -> FragmentSets:
    order = np.lexsort((members, rows))
    rows, members = rows[order], members[order]
    kept = np.ones(len(rows), bool)
    kept[1:] = (rows[1:] != rows[:-1]) | (members[1:] != members[:-1])
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows[kept], minlength=count), out=offsets[1:])
    return FragmentSets(offsets, members[kept])


@dataclass(frozen=True)
class GroupFragments:
    """The fragments of groups: `pairs` counts what each group has of each; `earlier` says whether a row is of the
    state from before the open version."""

    pairs: Accumulating
    groups: Ints
    earlier: Bools

    def take(self, rows: Ints) -> GroupFragments:
        return GroupFragments(self.pairs, self.groups[rows], self.earlier[rows])

    def sets(self) -> FragmentSets:
        then, now = np.flatnonzero(self.earlier), np.flatnonzero(~self.earlier)
        if not len(then):
            return self._of(self.groups, before=False)
        if not len(now):
            return self._of(self.groups, before=True)
        back = np.empty(len(self.groups), np.int64)
        back[np.concatenate((then, now))] = np.arange(len(self.groups))
        parts = (self._of(self.groups[then], before=True), self._of(self.groups[now], before=False))
        return concatenated(parts).take(back)

    def _of(self, groups: Ints, *, before: bool) -> FragmentSets:
        offsets, rows = self.pairs.of_owners(groups, before=before)
        return FragmentSets(offsets, self.pairs.rows[rows, 1])


def concatenated(parts: Sequence[RowFragments]) -> FragmentSets:
    """The sets of several batches of rows, one batch after the other."""
    written = [part.sets() for part in parts]
    if len(written) == 1:
        return written[0]
    offsets = [np.zeros(1, np.int64)]
    total = 0
    for sets in written:
        offsets.append(sets.offsets[1:] + total)
        total += int(sets.offsets[-1])
    members = [sets.members for sets in written]
    return FragmentSets(
        np.concatenate(offsets), np.concatenate(members) if members else np.empty(0, np.int64)
    )
