"""Conditions over columns of integers: whole numbers, dates as days, decimals as units of their last digit.

What holds: a test is true for a row if and only if the condition is. AND and OR of what is true need not know what is
false and what is unknown. What compares anything else is no such test (`NoIntegers`), and Arrow computes it.

Many rows are tested by arrays, all at once. Of a few only the places are looked for, by Python's integers: each part
of a conjunction looks at those that are left. What a conjunction says of one column by constants is one interval.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.language.sql.scalars import And, Attribute, Compare, InList, Or, Scalar, Value
from headwater.sketch.ranges import in_units
from headwater.sketch.tables.integer_columns import IntegerColumn, Scale, scales_of

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
Constant = decimal.Decimal | datetime.date


class NoIntegers(Exception):  # noqa: N818
    """Columns or constants that are not integers of the same unit: Arrow computes it."""


class IntegerColumns(Protocol):
    """Where tests find columns, by the ids of attributes."""

    def integers(self, id: int) -> IntegerColumn | None:
        """A column as integers, if its values are some."""
        ...


class IntegerTest(Protocol):
    """A condition over columns of integers."""

    def everywhere(self, columns: IntegerColumns) -> Any:
        """For each row whether it is true."""
        ...

    def among(self, columns: IntegerColumns, places: Sequence[int]) -> Sequence[int]:
        """Of the rows at these places, which ascend, those for which it is true."""
        ...


def integer_test(condition: Scalar) -> IntegerTest:
    """Where a condition is true; raises `NoIntegers`."""
    match condition:
        case And(parts=parts):
            return _conjunction([integer_test(part) for part in parts])
        case Or(parts=parts):
            return _Any([integer_test(part) for part in parts])
        case Compare(operator=name, left=Attribute(id=left), right=Attribute(id=right)) if name in _OPERATORS:
            return _OfColumns(_OPERATORS[name], left, right)
        case Compare(operator=name, left=Attribute() as column, right=Value(value=value)) if (
            name in _OPERATORS
        ):
            return _of_constant(name, column, value)
        case InList(argument=Attribute() as column, items=items):
            values = [each.value if isinstance(each, Value) else None for each in items]
            return _Any([_of_constant("=", column, each) for each in values])
        case _:
            raise NoIntegers


def _of_constant(name: str, column: Attribute, value: object) -> IntegerTest:
    constant = _constant(value)
    test = _Unlike(column.id, constant) if name == "<>" else _Within(column.id, ((name, constant),))
    test.prepare(column)
    return test


def _conjunction(parts: Sequence[IntegerTest]) -> IntegerTest:
    """All of these, intervals of one column as one."""
    found: dict[object, IntegerTest] = {}
    for place, part in enumerate(parts):
        if isinstance(part, _Within):
            other = found.get(("within", part.id))
            found["within", part.id] = part.and_within(other) if isinstance(other, _Within) else part
        else:
            found[place] = part
    return _All(tuple(found.values()))


@dataclass(frozen=True)
class _All:
    parts: Sequence[IntegerTest]

    def everywhere(self, columns: IntegerColumns) -> Any:
        return functools.reduce(operator.and_, (part.everywhere(columns) for part in self.parts))

    def among(self, columns: IntegerColumns, places: Sequence[int]) -> Sequence[int]:
        for part in self.parts:
            places = part.among(columns, places)
            if not places:
                break
        return places


@dataclass(frozen=True)
class _Any:
    parts: Sequence[IntegerTest]

    def everywhere(self, columns: IntegerColumns) -> Any:
        return functools.reduce(operator.or_, (part.everywhere(columns) for part in self.parts))

    def among(self, columns: IntegerColumns, places: Sequence[int]) -> Sequence[int]:
        return sorted({place for part in self.parts for place in part.among(columns, places)})


@dataclass(frozen=True)
class _Within:
    """Whether values are in an interval, which comparisons with constants say."""

    id: int
    said: tuple[tuple[str, Constant], ...]
    _known: dict[Scale, tuple[int, int]] = field(default_factory=dict)
    """The first and the last of its integers, by the scale of columns."""

    def and_within(self, other: _Within) -> _Within:
        """Whether values are in another interval too."""
        known = {
            scale: (max(self._known[scale][0], first), min(self._known[scale][1], last))
            for scale, (first, last) in other._known.items()
            if scale in self._known
        }
        return _Within(self.id, other.said + self.said, known)

    def prepare(self, column: Attribute) -> None:
        """Find the interval for the values that a column has by its type."""
        for scale in scales_of(column.type):
            self._interval(scale)

    def everywhere(self, columns: IntegerColumns) -> Any:
        column = _integers(columns, self.id)
        first, last = self._interval(column.scale)
        found = column.values >= first
        if last < _LARGEST:
            found = column.values <= last if first == _SMALLEST else found & (column.values <= last)
        return found if column.missing is None else found & ~column.missing

    def among(self, columns: IntegerColumns, places: Sequence[int]) -> Sequence[int]:
        column = columns.integers(self.id)
        if column is None:
            raise NoIntegers
        first, last = self._known.get(column.scale) or self._interval(column.scale)
        values = column.listed
        if column.missing is None:
            return [place for place in places if first <= values[place] <= last]  # type: ignore[operator]
        return [place for place in places if (value := values[place]) is not None and first <= value <= last]

    def _interval(self, scale: Scale) -> tuple[int, int]:
        found = self._known.get(scale)
        if found is None:
            first, last = _SMALLEST, _LARGEST
            for name, constant in self.said:
                unit = _units(constant, scale)
                if name in ("=", ">=", ">"):
                    first = max(first, unit + (name == ">"))
                if name in ("=", "<=", "<"):
                    last = min(last, unit - (name == "<"))
            found = self._known[scale] = first, last
        return found


@dataclass(frozen=True)
class _Unlike:
    """Whether values are other than a constant."""

    id: int
    constant: Constant
    _known: dict[Scale, int] = field(default_factory=dict)
    """The constant in the units of columns, by their scale."""

    def prepare(self, column: Attribute) -> None:
        """Find the constant in the units that a column has by its type."""
        for scale in scales_of(column.type):
            self._unit(scale)

    def everywhere(self, columns: IntegerColumns) -> Any:
        column = _integers(columns, self.id)
        found = column.values != self._unit(column.scale)
        return found if column.missing is None else found & ~column.missing

    def among(self, columns: IntegerColumns, places: Sequence[int]) -> Sequence[int]:
        column = _integers(columns, self.id)
        values, unit = column.listed, self._unit(column.scale)
        return [place for place in places if (value := values[place]) is not None and value != unit]

    def _unit(self, scale: Scale) -> int:
        found = self._known.get(scale)
        if found is None:
            found = self._known[scale] = _units(self.constant, scale)
        return found


@dataclass(frozen=True)
class _OfColumns:
    compare: Callable[[Any, Any], Any]
    left: int
    right: int

    def everywhere(self, columns: IntegerColumns) -> Any:
        one, other = self._sides(columns)
        found = self.compare(one.values, other.values)
        for missing in (one.missing, other.missing):
            found = found if missing is None else found & ~missing
        return found

    def among(self, columns: IntegerColumns, places: Sequence[int]) -> Sequence[int]:
        one, other = self._sides(columns)
        pairs = ((place, one.listed[place], other.listed[place]) for place in places)
        return [place for place, a, b in pairs if a is not None and b is not None and self.compare(a, b)]

    def _sides(self, columns: IntegerColumns) -> tuple[IntegerColumn, IntegerColumn]:
        one, other = _integers(columns, self.left), _integers(columns, self.right)
        if one.scale != other.scale:
            raise NoIntegers
        return one, other


def _integers(columns: IntegerColumns, id: int) -> IntegerColumn:
    found = columns.integers(id)
    if found is None:
        raise NoIntegers
    return found


def _constant(value: object) -> Constant:
    if isinstance(value, bool) or not isinstance(value, int | decimal.Decimal | datetime.date):
        raise NoIntegers
    if isinstance(value, datetime.datetime):
        raise NoIntegers
    return decimal.Decimal(value) if isinstance(value, int) else value


def _units(constant: Constant, scale: Scale) -> int:
    """How many units a constant is."""
    if isinstance(constant, datetime.date):
        if scale is not None:
            raise NoIntegers
        return constant.toordinal() - _FIRST_DAY
    if scale is None or not constant.is_finite():
        raise NoIntegers
    scaled = in_units(constant, scale)
    if scaled.denominator != 1 or abs(scaled) > _LARGEST:
        raise NoIntegers
    return int(scaled)
