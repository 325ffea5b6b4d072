"""Conditions as tests of the rows of a delta: which of them it is true for.

What holds: a test says of each row what Arrow computes of the condition (`columnwise`). Where a condition only
compares whole numbers, dates and decimals with each other or with constants, the same is computed over integers
(`integer_tests`): a delta of ten rows costs little but the calls that it takes, and these take a tenth of the time of
Arrow's.

>>> import pyarrow as pa
>>> from headwater.language.sql.scalars import Attribute, Compare, Value
>>> from headwater.values.types import INT
>>> small = compile_test(Compare("<", Attribute(0, "x", INT), Value(3, INT)))
>>> small({0: pa.array([1, 5, None])}, 3).tolist()
[True, False, False]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from headwater.language.sql.scalars import Scalar
from headwater.sketch.maintain.columnwise import ColumnsById, Columnwise, compile_scalar, holds
from headwater.sketch.maintain.fragment_sets import Bools, Ints
from headwater.sketch.maintain.integer_tests import IntegerColumns, IntegerTest, NoIntegers, integer_test
from headwater.sketch.tables.backend import TableDelta
from headwater.sketch.tables.integer_columns import FEW_ROWS, IntegerColumn, integer_column

if TYPE_CHECKING:
    import pyarrow as pa


class TestedColumns(ColumnsById, IntegerColumns, Protocol):
    """The columns that tests read, by the ids of attributes."""


class _GivenColumns:
    """Columns of any rows, each as integers once."""

    def __init__(self, columns: Mapping[int, pa.Array]):
        self._columns = columns
        self._made: dict[int, IntegerColumn | None] = {}

    def __getitem__(self, id: int) -> pa.Array:
        return self._columns[id]

    def integers(self, id: int) -> IntegerColumn | None:
        if id not in self._made:
            self._made[id] = integer_column(self._columns[id])
        return self._made[id]


class DeltaColumns:
    """Columns of a table's delta; `names` says which of them attributes are."""

    def __init__(self, delta: TableDelta, names: Mapping[int, str]):
        self._delta, self._names = delta, names

    def __getitem__(self, id: int) -> pa.Array:
        return self._delta.column(self._names[id])

    def integers(self, id: int) -> IntegerColumn | None:
        return self._delta.integers(self._names[id])


class RowTest:
    """A condition of which only those rows count that it is true for."""

    def __init__(self, condition: Columnwise, by_integers: IntegerTest | None):
        self._condition = condition
        self._by_integers = by_integers

    def __call__(self, columns: Mapping[int, pa.Array], rows: int) -> Bools:
        """Where it is true: neither false nor unknown."""
        return self.of(_GivenColumns(columns), rows)

    def of(self, columns: TestedColumns, rows: int) -> Bools:
        """The same of columns that may be known as integers already."""
        if self._by_integers is not None:
            try:
                found: Bools = self._by_integers.everywhere(columns)
                return found
            except NoIntegers:
                self._by_integers = None  # a column has its type for good
        return holds(self._condition(columns), rows)

    def places(self, columns: TestedColumns, rows: int) -> Ints:
        """The places of the rows that it is true for."""
        few = self.among(columns, range(rows)) if rows <= FEW_ROWS else None
        return self.of(columns, rows).nonzero()[0] if few is None else np.array(few, np.int64)

    def among(self, columns: TestedColumns, places: Sequence[int]) -> Sequence[int] | None:
        """Of the rows at these places, which ascend, those for which it is true; `None` if Arrow must say so."""
        if self._by_integers is None:
            return None
        try:
            return self._by_integers.among(columns, places)
        except NoIntegers:
            self._by_integers = None  # as above
            return None


def compile_test(condition: Scalar) -> RowTest | None:
    """A test of rows; `None` if only a backend can compute the condition."""
    compiled = compile_scalar(condition)
    if compiled is None:
        return None
    try:
        return RowTest(compiled, integer_test(condition))
    except NoIntegers:
        return RowTest(compiled, None)
