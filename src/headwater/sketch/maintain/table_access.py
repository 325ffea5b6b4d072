"""Deltas of tables as annotated rows, and as tables that a backend joins with others (sections 4.5 and 5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.language.sql.algebra import Scan
from headwater.language.sql.scalars import Attribute
from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.fragment_sets import FragmentSets, Ints
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.maintain.row_tests import DeltaColumns, RowTest
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.backend import TableDelta, fragment_column
from headwater.sketch.tables.integer_columns import FEW_ROWS
from headwater.values.types import INT

COUNT = "_count"
"""The column of given rows that says how often each has come or gone."""


def annotate(
    delta: TableDelta,
    wanted: Mapping[int, str],
    numbers: FragmentNumbers,
    tests: Sequence[RowTest] = (),
    shown: Mapping[int, str] | None = None,
) -> AnnotatedRows:
    """What of a table's delta passes the tests, as one access sees it: these columns, by the ids of its attributes,
    and the fragments that rows are in. Only those that are `shown` (default: all) are left after the tests."""
    passing = _passing(delta, wanted, tests)
    names = wanted if shown is None else shown
    if passing is None:
        signs, columns = delta.signs, {id: delta.column(name) for id, name in names.items()}
    elif not len(passing):
        return AnnotatedRows.none({id: delta.column(name).slice(0, 0) for id, name in names.items()})
    else:
        signs, columns = delta.signs[passing], {}
        if names:
            places = pa.array(passing)
            columns = {id: delta.column(name).take(places) for id, name in names.items()}
    fragments = [
        _fragments(delta, each, passing) + numbers.first(each.slot) for each in numbers.of_table(delta.table)
    ]
    return AnnotatedRows(columns, signs, FragmentSets.matrix(fragments, len(signs)))


def _fragments(delta: TableDelta, partition: SlotRanges, passing: Ints | None) -> Ints:
    """The fragments of a delta's rows at some places (`None`: of all)."""
    name = partition.slot.attribute
    if len(delta.signs) <= FEW_ROWS:
        rows = range(len(delta.signs)) if passing is None else passing.tolist()
        integers = delta.integers(name)
        few = None if integers is None else partition.ranges.fragments_of_few(integers, rows)
        if few is not None:
            return np.array(few, np.int64)
    column = delta.column(name)
    return partition.ranges.fragments(column if passing is None else column.take(pa.array(passing)))


def _passing(delta: TableDelta, wanted: Mapping[int, str], tests: Sequence[RowTest]) -> Ints | None:
    """The places of a delta's rows that pass all tests, each of which sees those that passed the ones before;
    `None` if all rows do."""
    passing: Ints | None = None
    for test in tests:
        if passing is None:
            found = test.places(DeltaColumns(delta, wanted), len(delta.signs))
            passing = None if len(found) == len(delta.signs) else found
        elif len(passing):
            places = pa.array(passing)
            columns = {id: delta.column(name).take(places) for id, name in wanted.items()}
            passing = passing[test(columns, len(passing))]
    return passing


class GivenAccess:
    """An access of a table, with the attributes that plans for a backend add to it: fragments and counts."""

    def __init__(self, scan: Scan, wanted: Sequence[int], numbers: FragmentNumbers, fresh: FreshIds):
        self.scan = scan
        self.wanted = tuple(attribute for attribute in scan.attributes if attribute.id in set(wanted))
        self.numbers = numbers
        self.slots = tuple(each.slot for each in numbers.of_table(scan.table))
        by_name = {attribute.name: attribute for attribute in scan.attributes}
        self.partitioned_by = tuple(by_name[slot.attribute] for slot in self.slots)
        self.fragments = tuple(fresh.attribute(fragment_column(slot)) for slot in self.slots)
        self.count = fresh.attribute(COUNT)
        self.names = {attribute.id: attribute.name for attribute in self.wanted}
        """The columns that are read of deltas, by the ids of their attributes."""

    @property
    def name(self) -> str:
        """The table that a delta is given as."""
        return f"_delta_{self.scan.access}"

    def annotated(self) -> Scan:
        """The access, with fragments."""
        return Scan(
            self.scan.table, self.scan.alias, self.scan.access, (*self.scan.attributes, *self.fragments)
        )

    def fragments_of(self, column: pa.ChunkedArray, slot: Slot, *, as_values: bool) -> npt.NDArray[np.int64]:
        """The numbers of fragments, from a column of fragments or of values that are partitioned by."""
        if as_values:
            found = self.numbers.ranges[slot].fragments(column)
        else:
            found = np.asarray(column).astype(np.int64)
        return found + self.numbers.first(slot)

    def given(self) -> Scan:
        """The delta in the place of the access, with fragments and counts."""
        attributes = (*self.wanted, *self.fragments, self.count)
        return Scan(self.name, self.name, self.scan.access, attributes)

    def table_of(self, rows: AnnotatedRows) -> pa.Table:
        """Annotated rows of this access as a table."""
        sets = rows.fragments.sets()
        members = sets.members.reshape(len(rows), len(self.slots)) if self.slots else np.empty((len(rows), 0))
        columns = {attribute.name: rows.columns[attribute.id] for attribute in self.wanted}
        for place, slot in enumerate(self.slots):
            columns[fragment_column(slot)] = pa.array(members[:, place] - self.numbers.first(slot))
        return pa.table({**columns, COUNT: pa.array(rows.counts)})


class FreshIds:
    """Ids of attributes that no plan of the query has."""

    def __init__(self, first: int):
        self._next = first

    def attribute(self, name: str, type: object = INT) -> Attribute:
        """A new attribute, of ints if nothing else is said."""
        self._next += 1
        return Attribute(self._next - 1, name, type, nullable=False)  # type: ignore[arg-type]
