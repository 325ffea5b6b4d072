"""Groups with their aggregates, and how many of a group's rows rest on each fragment (sections 5.6 and 5.7).

State is (group) → count and aggregates, and (group, fragment) → count: the paper's S[g] with its map F_g. No base
rows are kept. Without keys there is one group, which is there even if it has no rows; it is counted once more than it
has rows.

A version takes `begin`, which says what the touched groups were and takes rows in, then `finish`, which says what has
become of them, and `commit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.kernel.accumulating import Accumulating
from headwater.sketch.maintain.aggregates import GroupAggregate, SavedState
from headwater.sketch.maintain.annotated import AnnotatedRows, unified
from headwater.sketch.maintain.coding import CodedColumn
from headwater.sketch.maintain.extremes import Extreme
from headwater.sketch.maintain.fragment_sets import Bools, GroupFragments, Ints
from headwater.sketch.maintain.merge import negative_count


@dataclass(frozen=True)
class GroupKey:
    """A column that rows are grouped by: which column of the input; `read` says whether something above reads it."""

    id: int
    input: int
    coded: CodedColumn
    read: bool = True


@dataclass(frozen=True)
class AggregateColumn:
    """A column that is an aggregate, of which column of the input; `state` is `None` for `count(*)`."""

    id: int
    input: int
    state: GroupAggregate | None


@dataclass(frozen=True)
class Touched:
    """Groups that a version has touched: which of them were there before, and their rows then."""

    groups: Ints
    before: Bools
    old: Mapping[int, pa.Array]


class Groups:
    """The groups of one group-by."""

    def __init__(self, keys: Sequence[GroupKey], aggregates: Sequence[AggregateColumn], name: str):
        self.keys = tuple(keys)
        self.aggregates = tuple(aggregates)
        self.name = name
        self.groups = Accumulating(name, max(1, len(self.keys)))
        self.pairs = Accumulating(f"fragments of {name}", 2, chained=True)
        self.begun = False
        """Whether a version was committed: the one group without keys is there from then on."""

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        states = (each.state for each in self.aggregates if each.state is not None)
        return self.groups.nbytes + self.pairs.nbytes + sum(state.nbytes for state in states)

    @property
    def are_counted(self) -> bool:
        """Whether no aggregate has a buffer that can run dry."""
        return not any(isinstance(each.state, Extreme) for each in self.aggregates)

    # ------------------------------------------------------------------ a version

    def begin(self, rows: AnnotatedRows) -> Touched:
        """Take rows in."""
        numbers = self._numbers(rows)
        groups = self.groups.touched
        before = self.groups.before(groups) > 0
        old = self._columns(groups[before], self.groups.before(groups[before]))
        for each in self.aggregates if len(rows) else ():
            if each.state is not None:
                each.state.change(numbers, rows.columns.get(each.input), rows.counts)
        self.count_fragments(numbers, rows)
        return Touched(groups, before, old)

    def _numbers(self, rows: AnnotatedRows) -> Ints:
        """The groups of rows, which are counted there."""
        if not self.keys and not self.begun:
            self.groups.add(np.zeros((1, 1), np.int64), np.ones(1, np.int64))
        return self.groups.add(self.codes(rows), rows.counts)

    def enter(self, rows: AnnotatedRows) -> Ints:
        """Take rows in, but not into aggregates; the groups of the rows."""
        numbers = self._numbers(rows)
        self.count_fragments(numbers, rows)
        return numbers

    def codes(self, rows: AnnotatedRows) -> Ints:
        """The keys of rows."""
        if not self.keys:
            return np.zeros((len(rows), 1), np.int64)
        if not len(rows):
            return np.empty((0, len(self.keys)), np.int64)
        return np.column_stack([key.coded.codes(rows.columns[key.input]) for key in self.keys])

    def count_fragments(self, numbers: Ints, rows: AnnotatedRows) -> None:
        """Count what rows of these groups rest on."""
        sets = rows.fragments.sets()
        pairs = np.column_stack((np.repeat(numbers, sets.lengths), sets.members))
        self.pairs.add(pairs, np.repeat(rows.counts, sets.lengths))

    def finish(self, touched: Touched) -> AnnotatedRows:
        """What has become of the groups that the version touched: rows that they had and have, where these differ."""
        counts = self.groups.counts[touched.groups]
        if (counts < (0 if self.keys else 1)).any() or len(self.pairs.negative()):
            raise negative_count(self.name)
        then, now = touched.groups[touched.before], touched.groups[counts > 0]
        new = self._columns(now, counts[counts > 0])
        columns = {
            id: pa.concat_arrays(unified([touched.old[id], column])) if len(then) else column
            for id, column in new.items()
        }
        earlier = np.concatenate((np.ones(len(then), bool), np.zeros(len(now), bool)))
        fragments = GroupFragments(self.pairs, np.concatenate((then, now)), earlier)
        rows = AnnotatedRows(columns, np.where(earlier, -1, 1).astype(np.int64), fragments)
        return rows.where(~self._unchanged(rows, fragments, len(then)))

    def commit(self) -> None:
        """End the version."""
        self.groups.commit()
        self.pairs.commit()
        self.begun = True

    # ------------------------------------------------------------------ asking

    def live(self) -> Ints:
        """All groups that are there."""
        return np.flatnonzero(self.groups.counts[: self.groups.top] > 0)

    def rows(self, groups: Ints) -> AnnotatedRows:
        """What groups are now."""
        fragments = GroupFragments(self.pairs, groups, np.zeros(len(groups), bool))
        columns = self._columns(groups, self.groups.counts[groups])
        return AnnotatedRows(columns, np.ones(len(groups), np.int64), fragments)

    def find(self, columns: Sequence[int], keys: Sequence[pa.Array]) -> Ints | None:
        """The groups that have these values in these columns; `None` where these are not the keys."""
        ids = [key.id for key in self.keys]
        if not columns or sorted(columns) != sorted(ids):
            return None
        codes = np.empty((len(keys[0]), len(ids)), np.int64)
        for column, values in zip(columns, keys, strict=True):
            place = ids.index(column)
            codes[:, place] = self.keys[place].coded.codes(values)
        found = np.unique(self.groups.find(codes))
        found = found[found >= 0]
        return found[self.groups.counts[found] > 0]

    def _columns(self, groups: Ints, counts: Ints) -> dict[int, pa.Array]:
        """The rows of groups that are counted so often."""
        columns: dict[int, pa.Array] = {}
        read = [(place, key) for place, key in enumerate(self.keys) if key.read]
        if read:
            codes = self.groups.rows[groups][:, [place for place, _ in read]]
            table = CodedColumn.table([key.coded for _, key in read], codes)
            for number, (_, key) in enumerate(read):
                columns[key.id] = table.column(number).combine_chunks()
        for each in self.aggregates:
            if each.state is None:
                columns[each.id] = pa.array(counts if self.keys else counts - 1)
            else:
                columns[each.id] = each.state.column(groups)
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
            alike &= _equal(column.take(pa.array(first)), column.take(pa.array(second + then)))
        same[first[alike]] = True
        same[second[alike] + then] = True
        return same

    # ------------------------------------------------------------------ buffers

    def dry(self, touched: Touched) -> dict[int, Ints]:
        """The groups of each min or max, by its place, whose buffer cannot tell it any more."""
        groups = touched.groups[self.groups.counts[touched.groups] > 0]
        found = {
            place: each.state.dry(groups)
            for place, each in enumerate(self.aggregates)
            if isinstance(each.state, Extreme)
        }
        return {place: groups for place, groups in found.items() if len(groups)}

    def refill(self, dry: Mapping[int, Ints], rows: AnnotatedRows) -> None:
        """Fill buffers for groups of which all rows are among these."""
        numbers = self.groups.find(self.codes(rows))
        for place, groups in dry.items():
            each = self.aggregates[place]
            assert isinstance(each.state, Extreme)
            theirs = np.isin(numbers, groups)
            column = rows.columns[each.input].filter(pa.array(theirs))
            each.state.refill(groups, numbers[theirs], column, rows.counts[theirs])

    # ------------------------------------------------------------------ at rest

    def save(self) -> dict[str, pa.Table]:
        """All of it as tables, in which groups are numbered from 0 on."""
        live = self.live()
        numbers = np.full(self.groups.top, -1)
        numbers[live] = np.arange(len(live))
        keys = {
            f"key {place}": key.coded.column(self.groups.rows[live, place])
            for place, key in enumerate(self.keys)
        }
        tables = {"groups": pa.table({**keys, "count": self.groups.counts[live]})}
        pairs = self.pairs.live_rows()
        tables["pairs"] = pa.table(
            {
                "group": numbers[self.pairs.rows[pairs, 0]],
                "fragment": self.pairs.rows[pairs, 1],
                "count": self.pairs.counts[pairs],
            }
        )
        for place, each in enumerate(self.aggregates):
            if each.state is not None:
                saved = each.state.save(live)
                tables |= {f"{place} {name}": table for name, table in saved.tables.items()}
                tables[f"{place} words"] = pa.table(
                    {"word": list(saved.words), "said": list(saved.words.values())}
                )
        return tables

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Take over what was saved."""
        *keys, counts = (column.combine_chunks() for column in tables["groups"].columns)
        codes = [key.coded.codes(column) for key, column in zip(self.keys, keys, strict=True)]
        rows = np.column_stack(codes) if codes else np.zeros((len(counts), 1), np.int64)
        self.groups.add(rows, np.asarray(counts))
        group, fragment, count = (np.asarray(column) for column in tables["pairs"].columns)
        self.pairs.add(np.column_stack((group, fragment)), count)
        for place, each in enumerate(self.aggregates):
            if each.state is not None:
                head = f"{place} "
                words = tables[head + "words"]
                said = dict(zip(words.column(0).to_pylist(), words.column(1).to_pylist(), strict=True))
                own = {name[len(head) :]: table for name, table in tables.items() if name.startswith(head)}
                each.state.load(SavedState(own, said))
        self.commit()


def _equal(left: pa.Array, right: pa.Array) -> Bools:
    """Where two columns agree; two NULLs do, two NaNs need not."""
    equal = pc.fill_null(pc.equal(left, right), False)
    if left.null_count:
        equal = pc.or_(equal, pc.and_(left.is_null(), right.is_null()))
    return np.asarray(equal, dtype=bool)
