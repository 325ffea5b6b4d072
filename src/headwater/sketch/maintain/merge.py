"""μ: what changes of annotated result rows do to the sketch (section 5.1).

State: for each fragment, in how many result rows' sketches it is. A fragment enters the sketch when its count leaves
0, and leaves it when its count comes back to 0.

>>> from headwater.sketch.maintain.fragment_sets import FragmentSets
>>> merge = Merge(3)
>>> def rows(counts, sets):
...     return AnnotatedRows({}, np.array(counts), FragmentSets.of(sets))
>>> merge.change(rows([1, 1, 1], [{1}, {1}, {0, 1}]))
SketchDelta(gained=frozenset({0, 1}), lost=frozenset())
>>> merge.change(rows([-1], [{0, 1}])), merge.state.tolist()
(SketchDelta(gained=frozenset(), lost=frozenset({0})), [0, 2, 0])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headwater.errors import DataError
from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.fragment_sets import FragmentSets, GroupFragments, Ints
from headwater.sketch.tables.integer_columns import FEW_ROWS


@dataclass(frozen=True)
class SketchDelta:
    """Δ𝒫: the fragments, by their numbers, that a sketch gains and loses."""

    gained: frozenset[int]
    lost: frozenset[int]


_UNCHANGED = SketchDelta(frozenset(), frozenset())


class Merge:
    """The counts of all fragments."""

    def __init__(self, fragments: int):
        self.state: Ints = np.zeros(fragments, np.int64)

    def change(self, rows: AnnotatedRows) -> SketchDelta:
        """Follow a change of the query's annotated result."""
        if not len(rows):
            return _UNCHANGED
        if isinstance(rows.fragments, FragmentSets) and len(rows.fragments.members) <= FEW_ROWS:
            return self._change_few(rows.fragments, rows.counts)
        added = added_to_fragments(rows, len(self.state))
        touched = np.flatnonzero(added)
        before = self.state[touched]
        after = before + added[touched]
        if (after < 0).any():
            raise negative_count("a fragment of the answer")
        self.state[touched] = after
        gained, lost = touched[(before == 0) & (after > 0)], touched[(before > 0) & (after == 0)]
        return SketchDelta(frozenset(gained.tolist()), frozenset(lost.tolist()))

    def _change_few(self, sets: FragmentSets, counts: Ints) -> SketchDelta:
        """The same, one fragment after the other."""
        members, offsets = sets.members.tolist(), sets.offsets.tolist()
        added: dict[int, int] = {}
        for row, count in enumerate(counts.tolist()):
            for number in members[offsets[row] : offsets[row + 1]]:
                added[number] = added.get(number, 0) + count
        return self.add(added)

    def add(self, added: Mapping[int, int]) -> SketchDelta:
        """Follow a change by which so many rows of the answer more (or, below 0, fewer) rest on some fragments."""
        if not added:
            return _UNCHANGED
        state = self.state
        before = {number: int(state[number]) for number in added}
        if any(before[number] + count < 0 for number, count in added.items()):
            raise negative_count("a fragment of the answer")
        gained, lost = set(), set()
        for number, count in added.items():
            state[number] += count
            if count and not before[number]:
                gained.add(number)
            elif count and before[number] + count == 0:
                lost.add(number)
        return SketchDelta(frozenset(gained), frozenset(lost))

    def present(self) -> list[int]:
        """The fragments of the sketch."""
        found: list[int] = np.flatnonzero(self.state).tolist()
        return found

    def doubtful(self) -> list[int]:
        """Those that may be needless: none, as all are counted."""
        return []


def added_to_fragments(rows: AnnotatedRows, fragments: int) -> Ints:
    """By how many rows of the answer more (or, below 0, fewer) each of so many fragments is needed."""
    added = np.zeros(fragments, np.int64)
    if isinstance(rows.fragments, GroupFragments):
        _add_of_groups(added, rows.fragments, rows.counts)
        return added
    sets = rows.fragments.sets()
    np.add.at(added, sets.members, np.repeat(rows.counts, sets.lengths))
    return added


def _add_of_groups(added: Ints, fragments: GroupFragments, counts: Ints) -> None:
    """Where a group's row has gone and come again, only fragments that the group gained or lost count."""
    earlier = fragments.earlier
    both = np.intersect1d(fragments.groups[earlier], fragments.groups[~earlier])
    alone = ~np.isin(fragments.groups, both) if len(both) else np.ones(len(counts), bool)
    if alone.any():
        sets = fragments.take(np.flatnonzero(alone)).sets()
        np.add.at(added, sets.members, np.repeat(counts[alone], sets.lengths))
    if len(both):
        pairs = fragments.pairs
        touched = pairs.touched
        touched = touched[np.isin(pairs.rows[touched, 0], both)]
        now, then = pairs.counts[touched] > 0, pairs.before(touched) > 0
        np.add.at(added, pairs.rows[touched, 1], now.astype(np.int64) - then)


def negative_count(what: str) -> DataError:
    """The error for changes that take away what was not there."""
    return DataError(
        "negative-count",
        f"changes take away more rows than there were: {what} would have a negative count",
        hint="these are not the changes since the versions that the sketch knows; capture it again",
    )
