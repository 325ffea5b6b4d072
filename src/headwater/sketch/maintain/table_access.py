"""Deltas of tables as annotated rows, and as tables that a backend joins with others (sections 4.5 and 5.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.language.sql.algebra import Scan
from headwater.language.sql.scalars import Attribute
from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.columnwise import Columnwise
from headwater.sketch.maintain.fragment_sets import FragmentSets
from headwater.sketch.maintain.numbering import FragmentNumbers
from headwater.sketch.maintain.stateless import selected
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.backend import TableDelta, fragment_column
from headwater.values.types import INT

COUNT = "_count"
"""The column of given rows that says how often each has come or gone."""


def annotate(delta: TableDelta, scan: Scan, wanted: Iterable[int], numbers: FragmentNumbers) -> AnnotatedRows:
    """A table's delta as one access sees it: rows with the fragments that they are in."""
    names = {attribute.id: attribute.name for attribute in scan.attributes}
    columns = {id: _column(delta.rows, names[id]) for id in wanted}
    fragments = [
        each.ranges.fragments(_column(delta.rows, each.slot.attribute)) + numbers.first(each.slot)
        for each in numbers.of_table(scan.table)
    ]
    return AnnotatedRows(columns, delta.signs, FragmentSets.matrix(fragments, len(delta.signs)))


def _column(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


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

    def table(self, delta: TableDelta, filters: Sequence[Columnwise]) -> pa.Table:
        """The rows of a delta for `given`, of those that pass the filters."""
        rows = annotate(delta, self.scan, (attribute.id for attribute in self.wanted), self.numbers)
        for each in filters:
            rows = selected(rows, each)
        return self.table_of(rows)

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
