"""Ranges of an attribute: which fragment of a table a row belongs to (imp-provenance-sketches, section 4.2).

With n bounds there are n + 2 fragments. Fragment 0 begins at -∞, fragment i at bound i - 1, each ends before the
next begins, and fragment n has no end; fragment n + 1 is that of NULL. So every value that will ever be inserted
has a fragment. (The paper's ranges begin at the smallest value and end at the greatest, and have no place for
NULL.)

Values are ordered as Spark, DuckDB and PostgreSQL with the collation "C" order them: strings by code point, NaN
after all other numbers. Fragments of a column are found without a loop over its values.

>>> prices = Ranges("price", (601, 1001, 1501))
>>> [prices.fragment(price) for price in (349, 1199, 3875, -5, None)]
[0, 2, 3, 0, 4]
>>> prices.intervals({2, 3})
(Interval(lower=1001, upper=None),)
>>> prices.intervals({0, 2, 4})
(Interval(lower=None, upper=601), Interval(lower=1001, upper=1501))
"""

from __future__ import annotations

import bisect
import datetime
import decimal
import fractions
import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headwater.errors import SketchError

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.sketch.tables.integer_columns import IntegerColumn, Scale

RangeValue = int | float | str | decimal.Decimal | datetime.date | datetime.datetime
"""What a bound can be. One attribute's bounds are of one kind."""


@dataclass(frozen=True)
class Interval:
    """Values from `lower` on and below `upper`; `None` where there is no such end."""

    lower: RangeValue | None
    upper: RangeValue | None


@dataclass(frozen=True)
class Ranges:
    """A partition of a table by ranges of one attribute: where fragments 1 to n begin, ascending, no two alike."""

    attribute: str
    bounds: tuple[RangeValue, ...]

    def __post_init__(self) -> None:
        if any(bound is None or _is_nan(bound) for bound in self.bounds):
            raise SketchError(
                "bad-ranges", f"a range of {self.attribute} begins at NULL or NaN", hint="leave it out"
            )
        if any(not low < high for low, high in itertools.pairwise(self.bounds)):  # type: ignore[operator]
            raise SketchError(
                "bad-ranges",
                f"the bounds of {self.attribute} do not ascend",
                hint="give each bound once, the smallest first",
            )

    @cached_property
    def _arrays(self) -> dict[Any, npt.NDArray[Any]]:
        """The bounds as arrays, by the types of columns they were compared with."""
        return {}

    @cached_property
    def _units(self) -> dict[Scale, list[int] | None]:
        """The bounds as integers, by the scale of columns they were compared with."""
        return {}

    @property
    def count(self) -> int:
        """How many fragments there are, that of NULL included."""
        return len(self.bounds) + 2

    @property
    def null_fragment(self) -> int:
        return len(self.bounds) + 1

    def fragment(self, value: object) -> int:
        """The fragment of one value."""
        if value is None:
            return self.null_fragment
        if _is_nan(value):
            return len(self.bounds)
        return bisect.bisect_right(self.bounds, value)  # type: ignore[call-overload, no-any-return]

    def fragments(self, column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """The fragments of a column's values."""
        import pyarrow as pa

        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        found = np.zeros(len(column), dtype=np.int64)
        if self.bounds:
            bounds = self._arrays.get(column.type)
            if bounds is None:
                bounds = self._arrays[column.type] = _bounds_among(self.bounds, column.type)
            values = _comparable(column, self.bounds)
            found[:] = np.searchsorted(bounds, values, side="right")
        if column.null_count:
            found[np.asarray(column.is_null(), dtype=bool)] = self.null_fragment
        return found

    def prepare(self, scale: Scale) -> None:
        """Have the bounds as integers of a scale, before columns of it come."""
        if scale not in self._units:
            self._units[scale] = _in_units(self.bounds, scale)

    def fragments_of_few(self, column: IntegerColumn, rows: Iterable[int]) -> list[int] | None:
        """The fragments of some rows of a column of integers; `None` if the bounds are not of its kind."""
        self.prepare(column.scale)
        bounds, values = self._units[column.scale], column.listed
        if bounds is None:
            return None
        found = []
        for row in rows:
            value = values[row]
            found.append(self.null_fragment if value is None else bisect.bisect_right(bounds, value))
        return found

    def intervals(self, fragments: Collection[int]) -> tuple[Interval, ...]:
        """The values of these fragments, adjacent ones merged; NULL is in none of them."""
        merged: list[Interval] = []
        after = None
        for number in sorted(set(fragments) - {self.null_fragment}):
            lower = merged.pop().lower if number == after else self._begin(number)
            merged.append(Interval(lower, self._begin(number + 1)))
            after = number + 1
        return tuple(merged)

    def _begin(self, fragment: int) -> RangeValue | None:
        """Where a fragment begins; `None` for the first, and for what comes after the last."""
        return self.bounds[fragment - 1] if 0 < fragment <= len(self.bounds) else None

    def coarser(self, most: int) -> Ranges:
        """Ranges of which each is made of several of these: at most so many, that of NULL included."""
        step = math.ceil(len(self.bounds) / max(1, most - 2))
        return self if step <= 1 else Ranges(self.attribute, self.bounds[step - 1 :: step])

    def overlapping(self, lower: object, upper: object) -> range:
        """The fragments that values between two (both included) can be in."""
        return range(self.fragment(lower), self.fragment(upper) + 1)


def equi_depth(attribute: str, column: pa.Array | pa.ChunkedArray, count: int) -> Ranges:
    """At most `count` ranges (and that of NULL) with about as many of the column's values in each.

    A value that fills several ranges by itself gets one: there are fewer ranges then.

    >>> import pyarrow as pa
    >>> equi_depth("x", pa.array([5, 1, 2, 2, 2, 2, 2, 9, None]), 4).bounds
    (2, 5)
    """
    values = _sorted_values(column)
    places: Iterable[int] = range(len(values))
    if count <= len(values):
        places = (len(values) * number // count for number in range(1, count))
    return Ranges(attribute, tuple(_ascending(values[place] for place in places)))


def _ascending(values: Iterable[Any]) -> Iterable[RangeValue]:
    return (value for value, _ in itertools.groupby(values))


def _sorted_values(column: Any) -> Sequence[Any]:
    """The values without NULL and NaN, in order, without the smallest (where no range need begin)."""
    import pyarrow.compute as pc

    column = column.drop_null()
    if str(column.type) in ("float", "double", "halffloat"):
        column = column.filter(pc.invert(pc.is_nan(column)))
    if str(column.type).startswith(("string", "large_string", "decimal")):
        ordered = sorted(column.to_pylist())
    else:
        ordered = column.take(pc.sort_indices(column)).to_pylist()
    return ordered[bisect.bisect_right(ordered, ordered[0]) :] if ordered else ordered


def _bounds_among(bounds: Sequence[RangeValue], kind: Any) -> npt.NDArray[Any]:
    """Bounds as an array that compares with what `_comparable` makes of values of this type."""
    import pyarrow as pa

    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(bounds, dtype=_number_type(bounds, kind))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return np.asarray(pa.array(bounds, kind).cast(pa.int32() if kind.bit_width == 32 else pa.int64()))
    if pa.types.is_boolean(kind):
        return np.asarray(bounds, dtype=np.int8)
    if pa.types.is_decimal(kind) and kind.precision <= 18:
        scaled = [math.ceil(in_units(decimal.Decimal(bound), kind.scale)) for bound in bounds]  # type: ignore[arg-type]
        return np.asarray(scaled, dtype=object if _wide(scaled) else np.int64)
    return np.asarray(bounds, dtype=object)


def in_units(number: decimal.Decimal, scale: int) -> fractions.Fraction:
    """A finite number in units of so many digits after the point, whatever its own digits are: arithmetic of decimals
    would round it.

    >>> in_units(decimal.Decimal("1.25"), 1)
    Fraction(25, 2)
    """
    units: int = 10**scale
    return fractions.Fraction(number) * units


def _in_units(bounds: Sequence[RangeValue], scale: Scale) -> list[int] | None:
    """The smallest integers of a scale (`IntegerColumn.scale`) that are not below the bounds; `None` if bounds are
    not all whole numbers, all decimals or, where the scale is that of days, all dates."""
    kinds = {type(bound) for bound in bounds}
    if scale is None:
        first = datetime.date(1970, 1, 1).toordinal()
        dates = [bound for bound in bounds if isinstance(bound, datetime.date)]
        return [bound.toordinal() - first for bound in dates] if kinds <= {datetime.date} else None
    if kinds <= {int}:
        return [bound * 10**scale for bound in bounds]
    numbers = [bound for bound in bounds if isinstance(bound, decimal.Decimal) and bound.is_finite()]
    if len(numbers) < len(bounds):
        return None
    return [math.ceil(in_units(bound, scale)) for bound in numbers]


def _comparable(column: Any, bounds: Sequence[RangeValue]) -> npt.NDArray[Any]:
    """Values as an array that compares as they do; what stands for NULL does not matter."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _numbers(column)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return _numbers(column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()))
    if pa.types.is_boolean(kind):
        return _numbers(column.cast(pa.int8()))
    if pa.types.is_decimal(kind) and kind.precision <= 18:
        power = pa.scalar(decimal.Decimal(10) ** kind.scale)
        unscaled = pc.multiply(column.cast(pa.decimal128(19, kind.scale)), power).cast(pa.int64(), safe=False)
        return _numbers(unscaled)
    return np.asarray([bounds[0] if value is None else value for value in column.to_pylist()], dtype=object)


def _number_type(bounds: Sequence[RangeValue], kind: Any) -> Any:
    """A type that holds bounds exactly: those of an int column may be fractions, or too large for it."""
    import pyarrow as pa

    if all(isinstance(bound, int) for bound in bounds) and pa.types.is_integer(kind):
        return object if _wide(bounds) else np.int64
    return np.float64


def _wide(numbers: Iterable[Any]) -> bool:
    return any(not -(2**63) <= number < 2**63 for number in numbers)


def _numbers(column: Any) -> npt.NDArray[Any]:
    import pyarrow.compute as pc

    filled = pc.fill_null(column, 0) if column.null_count else column
    return np.asarray(filled)


def _is_nan(value: object) -> bool:
    return isinstance(value, float | decimal.Decimal) and value != value
