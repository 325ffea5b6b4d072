"""Conditions as tests of the rows of a delta: which of them it is true for.

What holds: a test says of each row what Arrow computes of the condition (`columnwise`). Where a condition only
compares whole numbers, dates and decimals with each other or with constants, the same is computed over arrays of
integers: a delta of ten rows costs little but the calls that it takes, and these take a tenth of the time of Arrow's.
Of a few rows (`FEW_ROWS`) only the places are looked for: each part of a conjunction looks at those that are left.

>>> import pyarrow as pa
>>> from headwater.language.sql.scalars import Attribute, Compare, Value
>>> from headwater.values.types import INT
>>> small = compile_test(Compare("<", Attribute(0, "x", INT), Value(3, INT)))
>>> small({0: pa.array([1, 5, None])}, 3).tolist()
[True, False, False]
"""

from __future__ import annotations

import datetime
import decimal
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headwater.language.sql.scalars import And, Attribute, Compare, InList, Or, Scalar, Value
from headwater.sketch.maintain.columnwise import ColumnsById, Columnwise, compile_scalar, holds
from headwater.sketch.maintain.fragment_sets import Bools, Ints
from headwater.sketch.tables.backend import TableDelta
from headwater.sketch.tables.integer_columns import FEW_ROWS, IntegerColumn, integer_column

if TYPE_CHECKING:
    import pyarrow as pa

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_LARGEST = 2**63 - 1


class _NoIntegers(Exception):  # noqa: N818
    """Columns or constants that are not integers of the same unit: Arrow computes it."""


class TestedColumns(ColumnsById, Protocol):
    """The columns that tests read, by the ids of attributes."""

    def integers(self, id: int) -> IntegerColumn | None:
        """A column as integers, if its values are some."""
        ...


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


class _IntegerTest(Protocol):
    """A condition over columns of integers."""

    def everywhere(self, columns: TestedColumns) -> Any:
        """For each row whether it is true."""
        ...

    def among(self, columns: TestedColumns, places: Sequence[int]) -> Sequence[int]:
        """Of the rows at these places, which ascend, those for which it is true."""
        ...


class RowTest:
    """A condition of which only those rows count that it is true for."""

    def __init__(self, condition: Columnwise, by_integers: _IntegerTest | None):
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
            except _NoIntegers:
                self._by_integers = None  # a column has its type for good
        return holds(self._condition(columns), rows)

    def places(self, columns: TestedColumns, rows: int) -> Ints:
        """The places of the rows that it is true for."""
        if rows <= FEW_ROWS and self._by_integers is not None:
            try:
                return np.array(self._by_integers.among(columns, range(rows)), np.int64)
            except _NoIntegers:
                self._by_integers = None
        return self.of(columns, rows).nonzero()[0]


def compile_test(condition: Scalar) -> RowTest | None:
    """A test of rows; `None` if only a backend can compute the condition."""
    compiled = compile_scalar(condition)
    if compiled is None:
        return None
    try:
        return RowTest(compiled, _compiled(condition))
    except _NoIntegers:
        return RowTest(compiled, None)


def _compiled(condition: Scalar) -> _IntegerTest:
    """Where a condition is true. AND and OR of what is true need not know what is false and what is unknown."""
    match condition:
        case And(parts=parts):
            return _All([_compiled(part) for part in parts])
        case Or(parts=parts):
            return _Any([_compiled(part) for part in parts])
        case Compare(operator=name, left=Attribute(id=left), right=Attribute(id=right)) if name in _OPERATORS:
            return _OfColumns(_OPERATORS[name], left, right)
        case Compare(operator=name, left=Attribute(id=id), right=Value(value=value)) if name in _OPERATORS:
            return _OfConstant(_OPERATORS[name], id, _constant(value))
        case InList(argument=Attribute(id=id), items=items):
            values = [each.value if isinstance(each, Value) else None for each in items]
            return _Any([_OfConstant(operator.eq, id, _constant(each)) for each in values])
        case _:
            raise _NoIntegers


@dataclass(frozen=True)
class _All:
    parts: Sequence[_IntegerTest]

    def everywhere(self, columns: TestedColumns) -> Any:
        return functools.reduce(operator.and_, (part.everywhere(columns) for part in self.parts))

    def among(self, columns: TestedColumns, places: Sequence[int]) -> Sequence[int]:
        for part in self.parts:
            places = part.among(columns, places)
            if not places:
                break
        return places


@dataclass(frozen=True)
class _Any:
    parts: Sequence[_IntegerTest]

    def everywhere(self, columns: TestedColumns) -> Any:
        return functools.reduce(operator.or_, (part.everywhere(columns) for part in self.parts))

    def among(self, columns: TestedColumns, places: Sequence[int]) -> Sequence[int]:
        return sorted({place for part in self.parts for place in part.among(columns, places)})


@dataclass(frozen=True)
class _OfConstant:
    compare: Callable[[Any, Any], Any]
    id: int
    constant: decimal.Decimal | datetime.date
    _known: dict[int | None, int] = field(default_factory=dict)
    """The constant in the units of columns, by their scale."""

    def everywhere(self, columns: TestedColumns) -> Any:
        column = _integers(columns, self.id)
        found = self.compare(column.values, self._unit(column.scale))
        return found if column.missing is None else found & ~column.missing

    def among(self, columns: TestedColumns, places: Sequence[int]) -> Sequence[int]:
        column, compare = _integers(columns, self.id), self.compare
        values, unit = column.listed, self._unit(column.scale)
        if column.missing is None:
            return [place for place in places if compare(values[place], unit)]
        return [place for place in places if values[place] is not None and compare(values[place], unit)]

    def _unit(self, scale: int | None) -> int:
        found = self._known.get(scale)
        if found is None:
            found = self._known[scale] = _units(self.constant, scale)
        return found


@dataclass(frozen=True)
class _OfColumns:
    compare: Callable[[Any, Any], Any]
    left: int
    right: int

    def everywhere(self, columns: TestedColumns) -> Any:
        one, other = self._sides(columns)
        found = self.compare(one.values, other.values)
        for missing in (one.missing, other.missing):
            found = found if missing is None else found & ~missing
        return found

    def among(self, columns: TestedColumns, places: Sequence[int]) -> Sequence[int]:
        one, other = self._sides(columns)
        pairs = ((place, one.listed[place], other.listed[place]) for place in places)
        return [place for place, a, b in pairs if a is not None and b is not None and self.compare(a, b)]

    def _sides(self, columns: TestedColumns) -> tuple[IntegerColumn, IntegerColumn]:
        one, other = _integers(columns, self.left), _integers(columns, self.right)
        if one.scale != other.scale:
            raise _NoIntegers
        return one, other


def _integers(columns: TestedColumns, id: int) -> IntegerColumn:
    found = columns.integers(id)
    if found is None:
        raise _NoIntegers
    return found


def _constant(value: object) -> decimal.Decimal | datetime.date:
    if isinstance(value, bool) or not isinstance(value, int | decimal.Decimal | datetime.date):
        raise _NoIntegers
    if isinstance(value, datetime.datetime):
        raise _NoIntegers
    return decimal.Decimal(value) if isinstance(value, int) else value


def _units(constant: decimal.Decimal | datetime.date, scale: int | None) -> int:
    """How many units a constant is."""
    if isinstance(constant, datetime.date):
        if scale is not None:
            raise _NoIntegers
        return constant.toordinal() - _FIRST_DAY
    if scale is None or not constant.is_finite():
        raise _NoIntegers
    scaled = constant.scaleb(scale)
    if scaled != scaled.to_integral_value() or abs(scaled) > _LARGEST:
        raise _NoIntegers
    return int(scaled)
