"""γ and δ: groups with their aggregates, and how many of a group's rows rest on each fragment (sections 5.6 and 5.7).

State is (group) → count and aggregates, and (group, fragment) → count: the paper's S[g] with its map F_g. No base rows are
kept. A version gives, for each group that it touches, the row that the group had (with the fragments it had) as gone and the
row that it has now as come; nothing where neither row nor fragments differ. DISTINCT is a group-by on all columns without
aggregates. Without keys there is one group, which is there even if it has no rows: its row counts 0, and rests on nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headwater.kernel.accumulating import Accumulating
from headwater.sketch.maintain.aggregates import GroupAggregate
from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.coding import CodedColumn
from headwater.sketch.maintain.columnwise import Columnwise, as_column
from headwater.sketch.maintain.extremes import Extreme
from headwater.sketch.maintain.fragment_sets import Bools, GroupFragments, Ints
from headwater.sketch.maintain.merge import negative_count
from headwater.sketch.maintain.operator import BufferDry, Incremental, TableChanges


@dataclass(frozen=True)
class GroupKey:
    """A column that rows are grouped by; `id` is `None` where nothing above reads it."""

    id: int | None
    expression: Columnwise
    coded: CodedColumn


@dataclass(frozen=True)
class AggregateColumn:
    """A column that is an aggregate; `argument` is `None` for `count(*)`, and so is `state`."""

    id: int
    argument: Columnwise | None
    state: GroupAggregate | None


class GroupByState:
    """Groups, their aggregates and their fragments, and what a change of the input does to them."""

    def __init__(self, keys: Sequence[GroupKey], aggregates: Sequence[AggregateColumn], name: str = "groups"):
        self.keys = tuple(keys)
        self.aggregates = tuple(aggregates)
        self.name = name
        self.groups = Accumulating(name, max(1, len(self.keys)))
        self.pairs = Accumulating(f"fragments of {name}", 2, chained=True)
        self.begun = False
        """Whether a version was committed: the one group without keys is there from then on."""

    @property
    def nbytes(self) -> int:
        states = (each.state for each in self.aggregates if each.state is not None)
        return self.groups.nbytes + self.pairs.nbytes + sum(state.nbytes for state in states)

    def change(self, rows: AnnotatedRows) -> AnnotatedRows:
        """Follow a change of the input."""
        if not len(rows) and (self.keys or self.begun):
            return AnnotatedRows.none()
        numbers = self.numbers(rows)
        touched = self.groups.touched
        before = self._there(self.groups.before(touched), was=True)
        old = self._columns(touched[before])
        for each in self.aggregates:
            if each.state is not None:
                column = None if each.argument is None else as_column(each.argument(rows.columns), len(rows))
                each.state.change(numbers, column, rows.counts)
        sets = rows.fragments.sets()
        pairs = np.column_stack((np.repeat(numbers, sets.lengths), sets.members))
        self.pairs.add(pairs, np.repeat(rows.counts, sets.lengths))
        return self.result(touched, before, old)

    def numbers(self, rows: AnnotatedRows) -> Ints:
        """The groups of rows, which are counted there."""
        if not self.keys:
            keys, counts = np.zeros((len(rows), 1), np.int64), rows.counts
            if not self.begun:  # let there be the one group, also over nothing
                self.groups.add(np.zeros((1, 1), np.int64), np.ones(1, np.int64))
            return self.groups.add(keys, counts)
        codes = [
            key.coded.codes(as_column(key.expression(rows.columns), len(rows))) for key in self.keys
        ]
        return self.groups.add(np.column_stack(codes), rows.counts)

    def result(self, touched: Ints, before: Bools, old: Mapping[int, pa.Array]) -> AnnotatedRows:
        """What has become of groups that had the row `old`, where they were there `before`."""
        if len(self.groups.negative()) or len(self.pairs.negative()):
            raise negative_count(self.name)
        after = self._there(self.groups.counts[touched], was=False)
        self._refuse_dry(touched[after])
        new = self._columns(touched[after])
        then, now = touched[before], touched[after]
        columns = {
            id: pa.chunked_array([old[id], new[id]]).combine_chunks() if len(then) else new[id] for id in new
        }
        earlier = np.concatenate((np.ones(len(then), bool), np.zeros(len(now), bool)))
        counts = np.where(earlier, -1, 1).astype(np.int64)
        fragments = GroupFragments(self.pairs, np.concatenate((then, now)), earlier)
        rows = AnnotatedRows(columns, counts, fragments)
        return rows.where(~self._unchanged(rows, fragments, len(then)))

    def commit(self) -> None:
        self.groups.commit()
        self.pairs.commit()
        self.begun = True

    def _there(self, counts: Ints, *, was: bool) -> Bools:
        """Which groups have a row. The one without keys is counted once more than it has rows."""
        return counts > 0

    def _refuse_dry(self, groups: Ints) -> None:
        for each in self.aggregates:
            if isinstance(each.state, Extreme) and len(each.state.dry(groups)):
                raise BufferDry(f"{'max' if each.state.descending else 'min'} of {self.name}")

    def _columns(self, groups: Ints) -> dict[int, pa.Array]:
        columns: dict[int, pa.Array] = {}
        wanted = [(place, key) for place, key in enumerate(self.keys) if key.id is not None]
        if wanted:
            codes = self.groups.rows[groups][:, [place for place, _ in wanted]]
            table = CodedColumn.table([key.coded for _, key in wanted], codes)
            for number, (_, key) in enumerate(wanted):
                assert key.id is not None
                columns[key.id] = table.column(number).combine_chunks()
        for each in self.aggregates:
            if each.state is not None:
                columns[each.id] = each.state.column(groups)
            else:
                counted = self.groups.counts[groups] - (0 if self.keys else 1)
                columns[each.id] = pa.array(counted)
        return columns

    def _unchanged(self, rows: AnnotatedRows, fragments: GroupFragments, then: int) -> Bools:
        """The rows of groups whose row is the same as before, and rests on the same fragments."""
        same = np.zeros(len(rows), bool)
        old, new = fragments.groups[:then], fragments.groups[then:]
        both, first, second = np.intersect1d(old, new, assume_unique=True, return_indices=True)
        if not len(both):
            return same
        touched = self.pairs.touched
        moved = (self.pairs.counts[touched] > 0) != (self.pairs.before(touched) > 0)
        alike = ~np.isin(both, self.pairs.rows[touched[moved], 0])
        for column in rows.columns.values():
            if not alike.any():
                return same
            left, right = column.take(pa.array(first)), column.take(pa.array(second + then))
            alike &= _equal(left, right)
        same[first[alike]] = True
        same[second[alike] + then] = True
        return same


def _equal(left: pa.Array, right: pa.Array) -> Bools:
    """Where two columns agree; two NULLs do, two NaNs need not."""
    import pyarrow.compute as pc

    equal = pc.fill_null(pc.equal(left, right), False)
    if left.null_count:
        equal = pc.or_(equal, pc.and_(left.is_null(), right.is_null()))
    return np.asarray(equal, dtype=bool)


class GroupBy:
    """The operator: its input and its state."""

    def __init__(self, input: Incremental, state: GroupByState):
        self.inputs = (input,)
        self.state = state

    @property
    def nbytes(self) -> int:
        return self.state.nbytes

    def change(self, changes: TableChanges) -> AnnotatedRows:
        return self.state.change(self.inputs[0].change(changes))

    def commit(self) -> None:
        self.inputs[0].commit()
        self.state.commit()
