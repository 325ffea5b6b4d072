"""Scalar expressions of plans over columns of Arrow: a delta is filtered and projected here, without asking a
backend.

What holds: the value of each row is the one that Spark, DuckDB and PostgreSQL compute, with SQL's three-valued logic;
NaN equals itself and comes after all other numbers. Where they do not agree with each other, or Arrow cannot compute
it as they do, nothing is compiled: `compile_scalar` gives `None`, and the expression is left to the backend.

>>> import pyarrow as pa
>>> from headwater.language.sql.scalars import Attribute, Compare, Value
>>> from headwater.values.types import INT
>>> x = Attribute(0, "x", INT)
>>> small = compile_scalar(Compare("<", x, Value(3, INT)))
>>> small({0: pa.array([1, 5, None])}).to_pylist()
[True, False, None]
"""

from __future__ import annotations

import datetime
import decimal
import operator
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import EvaluationError, SketchError
from headwater.language.sql.folding import moved_date
from headwater.language.sql.inference import type_of
from headwater.language.sql.scalars import (
    And,
    Attribute,
    Case,
    Cast,
    Compare,
    Function,
    InList,
    IsNull,
    Like,
    Not,
    Or,
    Scalar,
    Value,
)
from headwater.sketch.maintain.database_averages import unknown_here
from headwater.sketch.tables.integer_columns import integer_column
from headwater.values.arrow_types import arrow_type
from headwater.values.types import FLOAT, INT, Type

Evaluated = Any
"""An array of Arrow, or a scalar of it, which stands for a column of one value."""


class ColumnsById(Protocol):
    """Columns by the ids of attributes."""

    def __getitem__(self, id: int, /) -> Any:
        """An array of Arrow."""
        ...


Columnwise = Callable[[ColumnsById], Evaluated]

_COMPARISONS: dict[str, Callable[..., Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_WITH_NAN: dict[str, Callable[..., Any]] = {
    "=": lambda a, b, m, n: (a == b) | (m & n),
    "<>": lambda a, b, m, n: ~((a == b) | (m & n)),
    "<": lambda a, b, m, n: (a < b) | (~m & n),
    "<=": lambda a, b, m, n: (a <= b) | n,
    ">": lambda a, b, m, n: (a > b) | (m & ~n),
    ">=": lambda a, b, m, n: (a >= b) | m,
}
_MULTIPLY = operator.mul
_MOST_DIGITS = 38
_MOST_DIGITS_OF_ALL = 76
_DIGITS_OF_FLOATS = 15
"""Whole numbers of so many digits, and powers of ten, are floats: a quotient is rounded once."""


class _NotHere(Exception):  # noqa: N818
    """An expression that is left to the backend."""


def compile_scalar(scalar: Scalar) -> Columnwise | None:
    """A function from columns, by the ids of attributes, to the expression's column; `None` if only a backend
    knows."""
    try:
        return _compiled(scalar)
    except _NotHere:
        return None


def holds(condition: Evaluated, rows: int) -> npt.NDArray[np.bool_]:
    """Where a condition is true: neither false nor unknown."""
    if isinstance(condition, pa.Scalar):
        return np.full(rows, condition.as_py() is True)
    filled = pc.fill_null(condition, False) if condition.null_count else condition
    return np.asarray(filled, dtype=bool)


def as_column(value: Evaluated, rows: int) -> pa.Array:
    """A column of so many rows, also where one value stands for it."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, rows)
    return value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value


# ------------------------------------------------------------------ compiling


def _compiled(scalar: Scalar) -> Columnwise:
    match scalar:
        case Attribute(id=id):
            return lambda columns: columns[id]
        case Value():
            constant = _constant(scalar)
            return lambda columns: constant
        case Compare(operator=name, left=left, right=right):
            return _comparison(name, _compiled(left), _compiled(right))
        case And(parts=parts):
            return _folded(pc.and_kleene, parts)
        case Or(parts=parts):
            return _folded(pc.or_kleene, parts)
        case Not(argument=argument):
            negated = _compiled(argument)
            return lambda columns: pc.invert(negated(columns))
        case IsNull(argument=argument):
            asked = _compiled(argument)
            return lambda columns: pc.is_null(asked(columns))
        case Like():
            return _like(scalar)
        case InList(argument=argument, items=items):
            return _in_list(_compiled(argument), items)
        case Case(branches=branches, otherwise=otherwise):
            return _case(branches, otherwise)
        case Cast(argument=argument, type=type):
            return _cast(argument, type)
        case Function(name="add" | "subtract", arguments=(Value(value=datetime.date()), Value())):
            constant = _moved(scalar)
            return lambda columns: constant
        case Function(name=name, arguments=arguments):
            return _function(name, arguments, scalar.type)
        case _:
            raise _NotHere


def _constant(value: Value) -> Any:
    plain = value.value
    if not isinstance(plain, bool | int | float | str | decimal.Decimal | datetime.date | None):
        raise _NotHere
    if plain is None:
        return pa.scalar(None, None if value.type is None else arrow_type(value.type))
    if isinstance(plain, int) and not isinstance(plain, bool) and plain.bit_length() > 63:
        plain = decimal.Decimal(plain)
    if isinstance(plain, decimal.Decimal):
        if len(plain.as_tuple().digits) > _MOST_DIGITS_OF_ALL:
            raise _NotHere
        return pa.scalar(plain)
    return pa.scalar(plain, None if value.type is None else arrow_type(value.type))


def _moved(scalar: Function) -> Any:
    """A constant date with an interval, of the type that the system makes of it."""
    day = moved_date(scalar)
    if day is None:
        raise _NotHere
    return pa.scalar(day) if scalar.type is None else pa.scalar(day).cast(arrow_type(scalar.type))


def _folded(function: Callable[..., Any], parts: tuple[Scalar, ...]) -> Columnwise:
    compiled = [_compiled(part) for part in parts]

    def run(columns: ColumnsById) -> Evaluated:
        result = compiled[0](columns)
        for part in compiled[1:]:
            result = function(result, part(columns))
        return result

    return run


def _comparison(name: str, left: Columnwise, right: Columnwise) -> Columnwise:
    if name not in _COMPARISONS:
        raise _NotHere
    plain, with_nan = _COMPARISONS[name], _WITH_NAN[name]

    def run(columns: ColumnsById) -> Evaluated:
        a, b = left(columns), right(columns)
        if pa.types.is_floating(a.type) or pa.types.is_floating(b.type):
            a, b = _as_float(a), _as_float(b)
            m, n = pc.is_nan(a), pc.is_nan(b)
            if _any(m) or _any(n):
                return _by_nan(with_nan, a, b)
        elif a.type != b.type and (pa.types.is_decimal(a.type) or pa.types.is_decimal(b.type)):
            a, b = _comparable(a, b)
        return plain(a, b)

    return run


def _comparable(a: Evaluated, b: Evaluated) -> tuple[Evaluated, Evaluated]:
    """Decimals that Arrow compares with each other: it refuses types of more than 38 digits, unless they are wide."""
    if pa.types.is_null(a.type) or pa.types.is_null(b.type):
        return _alike(a, b)
    a, b = _as_decimal(a), _as_decimal(b)
    if pa.types.is_decimal256(a.type) or pa.types.is_decimal256(b.type):
        widest = pa.decimal256(_MOST_DIGITS_OF_ALL, max(a.type.scale, b.type.scale))
        return pc.cast(a, widest), pc.cast(b, widest)
    if _digits(a.type, b.type) <= _MOST_DIGITS:
        return a, b
    wide = (pc.cast(each, pa.decimal256(each.type.precision, each.type.scale)) for each in (a, b))
    return next(wide), next(wide)


def _digits(*types: Any) -> int:
    """How many digits a decimal has that holds values of all these types."""
    return int(max(type.precision - type.scale for type in types) + max(type.scale for type in types))


def _any(flags: Evaluated) -> bool:
    return bool(flags.as_py()) if isinstance(flags, pa.Scalar) else bool(pc.any(flags).as_py())


def _by_nan(with_nan: Callable[..., Any], a: Evaluated, b: Evaluated) -> Evaluated:
    rows = max(1 if isinstance(each, pa.Scalar) else len(each) for each in (a, b))
    left, right = as_column(a, rows), as_column(b, rows)
    missing = np.asarray(pc.or_(pc.is_null(left), pc.is_null(right)), dtype=bool)
    x = np.asarray(pc.fill_null(left, 0.0))
    y = np.asarray(pc.fill_null(right, 0.0))
    return pa.array(with_nan(x, y, np.isnan(x), np.isnan(y)), mask=missing)


def _like(scalar: Like) -> Columnwise:
    if not isinstance(scalar.pattern, Value) or not isinstance(scalar.pattern.value, str) or scalar.escape:
        raise _NotHere
    pattern, ignore_case = scalar.pattern.value, scalar.ignore_case
    if "\\" in pattern:
        raise _NotHere
    argument = _compiled(scalar.argument)
    return lambda columns: pc.match_like(argument(columns), pattern, ignore_case=ignore_case)


def _in_list(argument: Columnwise, items: tuple[Scalar, ...]) -> Columnwise:
    compared = [_comparison("=", argument, _compiled(item)) for item in items if item != Value(None)]
    if len(compared) < len(items):
        raise _NotHere

    def run(columns: ColumnsById) -> Evaluated:
        result = compared[0](columns)
        for each in compared[1:]:
            result = pc.or_kleene(result, each(columns))
        return result

    return run


def _case(branches: tuple[tuple[Scalar, Scalar], ...], otherwise: Scalar) -> Columnwise:
    tests = [_compiled(test) for test, _ in branches]
    results = [_compiled(result) for _, result in branches]
    default = _compiled(otherwise)

    def run(columns: ColumnsById) -> Evaluated:
        value = default(columns)
        for test, result in zip(reversed(tests), reversed(results), strict=True):
            met = pc.fill_null(test(columns), False)
            value = pc.if_else(met, *_alike(result(columns), value))
        return value

    return run


def _alike(a: Evaluated, b: Evaluated) -> tuple[Evaluated, Evaluated]:
    """Two values of one type, for a column that has both."""
    if a.type == b.type:
        return a, b
    if pa.types.is_null(a.type):
        return pc.cast(a, b.type), b
    if pa.types.is_null(b.type):
        return a, pc.cast(b, a.type)
    if pa.types.is_floating(a.type) or pa.types.is_floating(b.type):
        return _as_float(a), _as_float(b)
    if pa.types.is_decimal(a.type) or pa.types.is_decimal(b.type):
        a, b = _as_decimal(a), _as_decimal(b)
        wide = pa.decimal128(min(_MOST_DIGITS, _digits(a.type, b.type)), max(a.type.scale, b.type.scale))
    else:
        fields = [pa.schema([pa.field("x", each.type)]) for each in (a, b)]
        wide = pa.unify_schemas(fields, promote_options="permissive").field("x").type
    return pc.cast(a, wide), pc.cast(b, wide)


def _cast(argument: Scalar, type: Type) -> Columnwise:
    """Casts on which all systems agree: to wider numbers, and to the same type."""
    known, target, compiled = type_of(argument), arrow_type(type), _compiled(argument)
    wider = known == INT and (type == FLOAT or type.name == "decimal")
    if known is None or not (known == type or wider):
        raise _NotHere

    def run(columns: ColumnsById) -> Evaluated:
        value = compiled(columns)
        if value.type == target:
            return value
        return _as_float(value) if pa.types.is_floating(target) else pc.cast(value, target)

    return run


# ------------------------------------------------------------------ functions


def _function(name: str, arguments: tuple[Scalar, ...], type: Type | None) -> Columnwise:
    made = _FUNCTIONS.get(name)
    if made is None or any(_is_moment(argument) for argument in arguments) and name not in _OF_MOMENTS:
        raise _NotHere
    if name == "divide" and (type != FLOAT or _are_decimals(arguments)):
        raise _NotHere
    compiled = [_compiled(argument) for argument in arguments]
    return lambda columns: made(*(argument(columns) for argument in compiled))


def _are_decimals(arguments: tuple[Scalar, ...]) -> bool:
    """Whether decimals stand beside no float: a database has its own way to make floats of them."""
    known = [type_of(each) for each in arguments]
    return FLOAT not in known and any(each is None or each.name == "decimal" for each in known)


def _is_moment(scalar: Scalar) -> bool:
    known = type_of(scalar)
    return known is not None and known.name.startswith(("date", "time", "interval"))


def _arithmetic(plain: Callable[..., Any], exact: Callable[..., Any]) -> Callable[..., Any]:
    def run(a: Evaluated, b: Evaluated) -> Evaluated:
        if pa.types.is_decimal256(a.type) or pa.types.is_decimal256(b.type):
            return _widest_arithmetic(exact, a, b)
        if pa.types.is_decimal(a.type) or pa.types.is_decimal(b.type):
            return _decimal_arithmetic(plain, a, b, product=exact is _MULTIPLY)
        if pa.types.is_integer(a.type) and pa.types.is_integer(b.type):
            a, b = pc.cast(a, pa.int64()), pc.cast(b, pa.int64())
        return plain(a, b)

    return run


def _decimal_arithmetic(plain: Callable[..., Any], a: Evaluated, b: Evaluated, product: bool) -> Evaluated:
    """Exact, with up to 38 digits: Arrow refuses types of more, whatever the values."""
    if pa.types.is_floating(a.type) or pa.types.is_floating(b.type):
        return plain(_as_float(a), _as_float(b))
    a, b = _as_decimal(a), _as_decimal(b)
    digits = a.type.precision + b.type.precision if product else _digits(a.type, b.type)
    if digits + 1 <= _MOST_DIGITS:
        return plain(a, b)
    wide = plain(*(pc.cast(x, pa.decimal256(min(37, x.type.precision), x.type.scale)) for x in (a, b)))
    return pc.cast(wide, pa.decimal128(_MOST_DIGITS, wide.type.scale))


def _widest_arithmetic(exact: Callable[..., Any], a: Evaluated, b: Evaluated) -> Evaluated:
    """Exact, of averages that have all their digits in the database: with up to 76, as many after the point as there
    are."""
    if pa.types.is_floating(a.type) or pa.types.is_floating(b.type):
        raise _no_float_known()
    rows = max(1 if isinstance(each, pa.Scalar) else len(each) for each in (a, b))
    sides = (as_column(each, rows).to_pylist() for each in (a, b))
    with decimal.localcontext(prec=2 * _MOST_DIGITS_OF_ALL):
        values = [
            None if x is None or y is None else exact(decimal.Decimal(x), y).normalize()
            for x, y in zip(*sides, strict=True)
        ]
    digits = [-int(value.as_tuple().exponent) for value in values if value is not None]
    return pa.array(values, pa.decimal256(_MOST_DIGITS_OF_ALL, max([0, *digits])))


def _as_decimal(value: Evaluated) -> Evaluated:
    return value if pa.types.is_decimal(value.type) else pc.cast(value, pa.decimal128(19, 0))


def _no_float_known() -> SketchError:
    return unknown_here("which float an average is that has all its digits is up to the database")


def _as_float(value: Evaluated) -> Evaluated:
    """Floats of any numbers; decimals are rounded once, which Arrow does not do with all of them."""
    if not pa.types.is_decimal(value.type):
        return pc.cast(value, pa.float64(), safe=False)
    if pa.types.is_decimal256(value.type):
        raise _no_float_known()
    if isinstance(value, pa.Scalar):
        return pa.scalar(None if value.as_py() is None else float(value.as_py()), pa.float64())
    few = isinstance(value, pa.Array) and value.type.precision <= _DIGITS_OF_FLOATS
    units = integer_column(value) if few else None
    if units is not None:
        return pa.array(units.values / 10.0**value.type.scale, mask=units.missing)
    return pa.array([None if each is None else float(each) for each in value.to_pylist()], pa.float64())


def _quotient(a: Evaluated, b: Evaluated) -> Evaluated:
    """A quotient of floats. What systems make of a division by 0 differs, so it is an error."""
    a, b = _as_float(a), _as_float(b)
    if _any(pc.fill_null(pc.equal(b, 0.0), False)):
        raise EvaluationError("division-by-zero", "a division by 0 in a query whose sketch is maintained")
    return pc.divide(a, b)


def _coalesced(*values: Evaluated) -> Evaluated:
    result = values[-1]
    for value in reversed(values[:-1]):
        first, result = _alike(value, result)
        result = pc.if_else(pc.is_valid(first), first, result)
    return result


_OF_MOMENTS = frozenset({"year", "month", "day", "coalesce"})
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": _arithmetic(pc.add_checked, operator.add),
    "subtract": _arithmetic(pc.subtract_checked, operator.sub),
    "multiply": _arithmetic(pc.multiply_checked, _MULTIPLY),
    "divide": _quotient,
    "negate": pc.negate_checked,
    "absolute": pc.abs_checked,
    "coalesce": _coalesced,
    "year": pc.year,
    "month": pc.month,
    "day": pc.day,
    "upper": pc.utf8_upper,
    "lower": pc.utf8_lower,
    "length": pc.utf8_length,
}
