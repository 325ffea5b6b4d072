"""A delta of few rows, from the table to the counts of μ without anything in between.

Of a block that reads one table, and of which no column is read above, a row of the delta that passes the conditions
adds its sign to the counts of its fragments, and that is all. For ten rows, arrays and annotated rows cost more than
the tests: here, values are Python's integers, and what constants and bounds are in the units of columns is known
before the first delta comes.

What holds: where there is an outcome, it is what `annotate` and `Merge.change` come to.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.sketch.maintain.numbering import FragmentNumbers
from headwater.sketch.maintain.row_tests import DeltaColumns, RowTest
from headwater.sketch.maintain.table_access import GivenAccess
from headwater.sketch.tables.backend import TableDelta
from headwater.sketch.tables.integer_columns import FEW_ROWS, scales_of


class FewRows:
    """One access, the conditions on it, and the fragments that its rows are in."""

    def __init__(self, access: GivenAccess, tests: Sequence[RowTest], numbers: FragmentNumbers):
        self.table = access.scan.table
        self._tests = tests
        self._names = access.names
        self._partitions = [
            (slot.attribute, numbers.ranges[slot], numbers.first(slot)) for slot in access.slots
        ]
        self._read = frozenset((*access.names.values(), *(slot.attribute for slot in access.slots)))
        for slot, attribute in zip(access.slots, access.partitioned_by, strict=True):
            for scale in scales_of(attribute.type):
                numbers.ranges[slot].prepare(scale)

    def added(self, delta: TableDelta) -> dict[int, int] | None:
        """By how many rows more (or, below 0, fewer) fragments are needed; `None` if there are too many rows, or
        values that are not integers."""
        if len(delta.signs) > FEW_ROWS:
            return None
        signs = delta.listed_signs
        if not delta.has_prepared(self._read):
            delta.prepare(self._read)
        passing: Sequence[int] = range(len(signs))
        columns = DeltaColumns(delta, self._names)
        for test in self._tests:
            found = test.among(columns, passing)
            if found is None:
                return None
            passing = found
        added: dict[int, int] = {}
        for name, ranges, first in self._partitions if passing else ():
            integers = delta.integers(name)
            fragments = None if integers is None else ranges.fragments_of_few(integers, passing)
            if fragments is None:
                return None
            for place, fragment in zip(passing, fragments, strict=True):
                added[first + fragment] = added.get(first + fragment, 0) + signs[place]
        return added
