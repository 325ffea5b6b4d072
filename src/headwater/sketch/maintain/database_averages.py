"""Averages rounded as databases round them: their own rules, followed to the last digit.

What holds: of an exact sum and a count, a rule says the very value that the database has for the average, or that it
cannot tell (`not-maintained`), or bounds of it. Tests compare them with the databases on many random values.

- PostgreSQL divides numbers of any length: averages of integers and of `numeric` have at least 16 significant digits
  and as many after the point as the values have, by groups of four digits (`select_div_scale` in its `numeric.c`),
  and are rounded half away from zero.
- DuckDB divides in floating point: the sum of a decimal's units by the count times the power of ten, in C's `long
  double`, and then rounds to a `DOUBLE`; in `double` where decimals have at most four digits. Of its averages of
  integers no more is known than `integer_averages` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from headwater.errors import SketchError
from headwater.sketch.integer_averages import bounds, first_unsure, is_nearest
from headwater.values.exact_sum import ExactIntSums
from headwater.values.group_sums import ExactDecimalSums

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.sketch.maintain.fragment_sets import Ints

FEWEST_DIGITS = 16
"""What PostgreSQL calls NUMERIC_MIN_SIG_DIGITS."""
MOST_DIGITS_AFTER_POINT = 1000
"""NUMERIC_MAX_DISPLAY_SCALE."""
_GROUP = 4
"""PostgreSQL's digits are groups of so many decimal ones."""
_MOST_DIGITS = 76
"""Of Arrow's widest decimals."""
_DIGITS_OF_COUNTS = 12
"""Counts of rows are below a power of ten of so many digits."""
_DIGITS_IN_16_BITS = 4
"""Decimals of so many digits are held in 16 bits by DuckDB."""
_SCALE_OF_EXACT_POWERS = 22
"""10 to this power is a float, and the next is not."""
_BITS = min(64, np.finfo(np.longdouble).nmant + 1)
"""Of a `long double`, as far as the sum of two parts of 32 bits is one."""
_STEPS_AROUND = 4
"""How many neighbours on either side a sum of more bits may be taken for."""


Totals = ExactIntSums | ExactDecimalSums


class AverageRule(Protocol):
    """How a database divides."""

    def column(self, sums: Totals, groups: Ints, counts: Ints, scale: int) -> pa.Array:
        """The averages of groups, whose sums are in units of so many digits after the point, with these numbers of
        values; NULL where there are none."""
        ...


def unknown_here(what: str) -> SketchError:
    """The error for a value that only the database knows to the last digit."""
    return SketchError("not-maintained", what, hint="the sketch is captured anew when its tables change")


def _pairs(sums: Totals, groups: Ints, counts: Ints) -> Iterator[tuple[int, int]]:
    totals = map(sums.total, groups.tolist())
    return zip(totals, counts.tolist(), strict=True)


# ------------------------------------------------------------------ PostgreSQL


class PostgresAverages:
    """As decimals of one type: of so many digits after the point as any average of the scale can have."""

    def column(self, sums: Totals, groups: Ints, counts: Ints, scale: int) -> pa.Array:
        import pyarrow as pa

        places = -(-scale // _GROUP) + _DIGITS_OF_COUNTS // _GROUP
        type = pa.decimal256(_MOST_DIGITS, min(_MOST_DIGITS, FEWEST_DIGITS + _GROUP * places))
        context = Context(prec=_MOST_DIGITS)
        values: list[Decimal | None] = []
        for total, count in _pairs(sums, groups, counts):
            if not count:
                values.append(None)
                continue
            units, digits = postgres_average(total, scale, count)
            if len(str(abs(units))) > _MOST_DIGITS or digits > type.scale:
                raise unknown_here(f"an average of {digits} digits after the point is too long")
            values.append(Decimal(units).scaleb(-digits, context))
        return pa.array(values, type)


def postgres_average(total: int, scale: int, count: int) -> tuple[int, int]:
    """A sum in units of `scale` digits divided by a count: units, and how many digits they have after the point.

    >>> postgres_average(2, 0, 3), postgres_average(-1000001, 2, 8)
    ((66666666666666666667, 20), (-12500012500000000000, 16))
    """
    weight, first = _first_digit(abs(total), scale)
    divisor_weight, divisor_first = _first_digit(count, 0)
    quotient_weight = weight - divisor_weight - (first <= divisor_first)
    digits = max(FEWEST_DIGITS - _GROUP * quotient_weight, scale, 0)
    digits = min(digits, MOST_DIGITS_AFTER_POINT)
    dividend, divisor = abs(total) * 10**digits, count * 10**scale
    rounded = (2 * dividend + divisor) // (2 * divisor)
    return (-rounded if total < 0 else rounded), digits


def _first_digit(units: int, scale: int) -> tuple[int, int]:
    """The first digit that is not 0, of those to the base 10,000 from the point on, and its place (0: the last before
    the point)."""
    if not units:
        return 0, 0
    missing = -scale % _GROUP
    units, place = units * 10**missing, -(scale + missing) // _GROUP
    while units >= 10**_GROUP:
        units, place = units // 10**_GROUP, place + 1
    return place, units


# ------------------------------------------------------------------ DuckDB


@dataclass(frozen=True)
class DuckdbAverages:
    """As floats, of decimals with so many digits."""

    precision: int

    def column(self, sums: Totals, groups: Ints, counts: Ints, scale: int) -> pa.Array:
        import pyarrow as pa

        values = [
            duckdb_average(total, scale, count, self.precision) if count else None
            for total, count in _pairs(sums, groups, counts)
        ]
        return pa.array(values, pa.float64())


def duckdb_average(total: int, scale: int, count: int, precision: int) -> float:
    """A sum in units of `scale` digits divided by a count, of decimals of so many digits."""
    if scale > _SCALE_OF_EXACT_POWERS:
        raise unknown_here(f"how a power of ten of {scale} digits is rounded is not known here")
    if precision <= _DIGITS_IN_16_BITS:
        return float(total) / (float(count) * 10.0**scale)
    divisor = np.longdouble(count) * np.longdouble(10.0**scale)
    found = {float(dividend / divisor) for dividend in _dividends(total)}
    if len(found) > 1:
        raise unknown_here(f"how the sum {total} is rounded decides an average")
    return found.pop()


def _dividends(total: int) -> list[np.longdouble]:
    """What a sum may be as a `long double`: it is not rounded if it has no more bits than that. Else its last bits
    depend on the steps in which 128 bits are converted, and some values around it are all that is known."""
    cut = max(0, abs(total).bit_length() - _BITS)
    high, low = divmod(abs(total) >> cut, 2**32)
    value = np.ldexp(np.longdouble(high) * np.longdouble(2**32) + np.longdouble(low), cut)
    value = -value if total < 0 else value
    if not cut:
        return [value]
    around = [value]
    for end in (np.longdouble(-np.inf), np.longdouble(np.inf)):
        near = value
        for _ in range(_STEPS_AROUND):
            near = np.nextafter(near, end)
            around.append(near)
    return around


@dataclass(frozen=True)
class DuckdbIntegerAverages:
    """As floats, of integers: bounds of them (`lowest_avg`, `highest_avg`), or where `avg` itself is asked for the
    averages that are the same however they are computed."""

    function: str

    def column(self, sums: Totals, groups: Ints, counts: Ints, scale: int) -> pa.Array:
        import pyarrow as pa

        assert isinstance(sums, ExactIntSums)
        filled = counts > 0
        if filled.all():
            return pa.array(self._floats(sums, groups, counts))
        values = np.zeros(len(groups))
        values[filled] = self._floats(sums, groups[filled], counts[filled])
        return pa.array(values, mask=~filled)

    def _floats(self, sums: ExactIntSums, groups: Ints, counts: Ints) -> npt.NDArray[np.float64]:
        quotients = sums.average(groups, counts)
        if self.function != "avg":
            return bounds(quotients, counts, self.function)
        unsure = first_unsure(quotients, counts)
        for total, count in _pairs(sums, groups[unsure], counts[unsure]):
            if not is_nearest(total, count):
                raise unknown_here(f"{total} / {count} is an average that DuckDB may round in two ways")
        return quotients
