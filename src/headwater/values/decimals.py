"""Computing with decimals, exactly. What types results have is in `decimal_types`.

A decimal is an integer, its *unscaled* value, over a power of ten that its type fixes. Results have the precision
and scale that Spark gives them; where these would pass 38 digits, the scale is cut as Spark cuts it, to 6 at the
least, and the result is rounded half up. What still does not fit is the error `overflow`. An int beside a decimal
is one of 20 digits; a float makes the result a float.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EvaluationError
from headwater.values.codec import Codec
from headwater.values.decimal_types import (
    as_decimal,
    product_type,
    quotient_type,
    remainder_type,
    total_type,
)
from headwater.values.dictionary import Codes
from headwater.values.forms import parse_decimal
from headwater.values.scalars import unscaled_of
from headwater.values.signatures import NO_MATCH, NoMatch, Overload, Signature, pointwise
from headwater.values.special import FIRST_PLAIN, LAST_PLAIN, Specials, has_special, is_special
from headwater.values.types import INT, MOST_DIGITS, Type, decimal_of, widest_decimal

Unscaled = NDArray[Any]
"""Unscaled values: an array of int64, or of Python ints where these are too narrow."""
TypeRule = Callable[[Type, Type], Type]

# ------------------------------------------------------------------ codes and unscaled values


def unscaled(codes: Codes, specials: Specials) -> Unscaled:
    """The unscaled values with these codes, or the ints; none of the codes is null."""
    if not has_special(codes):
        return codes
    values = codes.astype(object)
    places = is_special(codes)
    values[places] = specials.decode(codes[places])
    return values


def codes_of(values: Unscaled, type: Type, specials: Specials, what: Callable[[int], str]) -> Codes:
    """The codes of unscaled values of `type`; `overflow` for the first that has too many digits."""
    limit = 10**type.precision
    if values.dtype != object and limit > 2**63 - 1:
        limit = 2**63 - 1
    outside = (values >= limit) | (values <= -limit)
    if values.size and outside.any():
        row = int(np.argmax(outside))
        raise EvaluationError(
            "overflow", f"{what(row)} does not fit {type}", hint="round it to fewer digits: decimal(X, 38, 2)"
        )
    if values.dtype != object:
        return specials.int_codes(values)
    wide = (values < FIRST_PLAIN) | (values > LAST_PLAIN)
    codes = np.where(wide, 0, values).astype(np.int64)
    if wide.any():
        codes[wide.astype(bool)] = specials.encode(values[wide.astype(bool)].tolist(), intern=True)
    return codes


def rescaled(values: Unscaled, by: int) -> Unscaled:
    """The values with `by` more digits after the point; with fewer, rounded half up."""
    if by == 0:
        return values
    if by > 0:
        return np.asarray(_roomy(values, 10**by) * 10**by)
    return divided(values.astype(object), 10**-by)


def divided(values: Unscaled, by: Any) -> Unscaled:
    """Quotients rounded half up, away from zero, of Python ints."""
    sign = np.where((values < 0) != (by < 0), -1, 1)
    above, below = abs(values), abs(by)
    return np.asarray(sign * ((2 * above + below) // (2 * below)))


def _roomy(values: Unscaled, factor: int = 1) -> Unscaled:
    """The values as Python ints, unless all of them times the factor fit 62 bits."""
    if values.dtype == object:
        return values
    largest = max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0
    return values.astype(object) if largest * factor >= 2**62 else values


def shown(value: int, scale: int) -> str:
    """An unscaled value as a number."""
    return format(decimal.Decimal(int(value)).scaleb(-scale, decimal.Context(prec=200)), "f")


# ------------------------------------------------------------------ arithmetic


def _add(left: Unscaled, right: Unscaled) -> Unscaled:
    result: Unscaled = left + right
    return result


def _subtract(left: Unscaled, right: Unscaled) -> Unscaled:
    result: Unscaled = left - right
    return result


def _remainder(left: Unscaled, right: Unscaled) -> Unscaled:
    left, right = left.astype(object), right.astype(object)
    return np.where(left < 0, -1, 1) * (abs(left) % abs(right))


def _at_one_scale(op: str, function: Callable[[Unscaled, Unscaled], Unscaled], rule: TypeRule) -> Overload:
    """An operator whose operands are brought to one scale first."""

    def run(columns: Sequence[Codes], types: Sequence[Type], result: Type, codec: Codec) -> Codes:
        a, b = map(as_decimal, types)
        scale = max(a.scale, b.scale)
        left, right = (
            _roomy(rescaled(unscaled(column, codec.specials), scale - each.scale))
            for column, each in zip(columns, (a, b), strict=True)
        )
        if op == "%":
            _check_divisor(op, left, right, scale, scale)
        values = rescaled(function(left, right), result.scale - scale)
        return codes_of(values, result, codec.specials, _call(op, left, right, scale, scale))

    return _arithmetic(op, rule, run)


def _multiply(columns: Sequence[Codes], types: Sequence[Type], result: Type, codec: Codec) -> Codes:
    a, b = map(as_decimal, types)
    left, right = (unscaled(column, codec.specials) for column in columns)
    largest = max((abs(int(each)) for each in (right.min(), right.max())), default=0) if right.size else 0
    product = _roomy(left, max(1, largest)) * right
    values = rescaled(product, result.scale - a.scale - b.scale)
    return codes_of(values, result, codec.specials, _call("*", left, right, a.scale, b.scale))


def _divide(columns: Sequence[Codes], types: Sequence[Type], result: Type, codec: Codec) -> Codes:
    a, b = map(as_decimal, types)
    left, right = (unscaled(column, codec.specials).astype(object) for column in columns)
    _check_divisor("/", left, right, a.scale, b.scale)
    by = result.scale - a.scale + b.scale
    values = divided(left * 10**by, right) if by >= 0 else divided(left, right * 10**-by)
    return codes_of(values, result, codec.specials, _call("/", left, right, a.scale, b.scale))


def _call(
    op: str, left: Unscaled, right: Unscaled, left_scale: int, right_scale: int
) -> Callable[[int], str]:
    def words(row: int) -> str:
        a, b = np.broadcast_arrays(left, right)
        return f"{shown(a[row], left_scale)} {op} {shown(b[row], right_scale)}"

    return words


def _check_divisor(op: str, left: Unscaled, right: Unscaled, left_scale: int, right_scale: int) -> None:
    zero = right == 0
    if zero.any():
        row = int(np.argmax(np.broadcast_to(zero, np.broadcast_shapes(left.shape, right.shape))))
        call = _call(op, left, right, left_scale, right_scale)(row)
        raise EvaluationError(
            "division-by-zero", call, hint="keep zero divisors out with a test before: D != 0"
        )


def _of_decimals(
    types: Sequence[Type | None], rule: Callable[[Sequence[Type]], Type]
) -> Type | None | NoMatch:
    """What the rule gives for decimals and ints, not all of them ints; `None` where that cannot be told yet."""
    known = [type for type in types if type is not None]
    if any(type.name != "decimal" and type != INT for type in known):
        return NO_MATCH
    if len(known) < len(types):
        return None
    return NO_MATCH if all(type == INT for type in known) else rule(known)


def _whole_type(types: Sequence[Type]) -> Type:
    return decimal_of(min(MOST_DIGITS, types[0].precision - types[0].scale + 1), 0)


def _arithmetic(op: str, rule: TypeRule, run: Any) -> Overload:
    def result(types: Sequence[Type | None]) -> Type | None | NoMatch:
        return _of_decimals(types, lambda known: rule(*map(as_decimal, known)))

    return Overload(Signature((), False, None, "decimal, decimal -> decimal", result, 2), run)


def _unary(name: str, function: Callable[[Unscaled], Unscaled]) -> Overload:
    def result(types: Sequence[Type | None]) -> Type | None | NoMatch:
        return _of_decimals(types, lambda known: known[0])

    def run(columns: Sequence[Codes], types: Sequence[Type], result: Type, codec: Codec) -> Codes:
        values = function(_roomy(unscaled(columns[0], codec.specials)))
        return codes_of(values, result, codec.specials, lambda row: name)

    return Overload(Signature((), False, None, "decimal -> decimal", result, 1), run)


def _whole(name: str, function: Callable[[Unscaled, int], Unscaled]) -> Overload:
    """Rounding to a whole number, which stays a decimal."""

    def result(types: Sequence[Type | None]) -> Type | None | NoMatch:
        return _of_decimals(types, _whole_type)

    def run(columns: Sequence[Codes], types: Sequence[Type], result: Type, codec: Codec) -> Codes:
        values = function(unscaled(columns[0], codec.specials).astype(object), 10 ** types[0].scale)
        return codes_of(values, result, codec.specials, lambda row: name)

    return Overload(Signature((), False, None, "decimal -> decimal", result, 1), run)


def _best(name: str, sign: int) -> Overload:
    """The least or greatest of decimals and ints, at the widest type of all."""

    def result(types: Sequence[Type | None]) -> Type | None | NoMatch:
        return _of_decimals(types, lambda known: widest_decimal([as_decimal(type) for type in known]))

    def run(columns: Sequence[Codes], types: Sequence[Type], result: Type, codec: Codec) -> Codes:
        values = [
            rescaled(unscaled(column, codec.specials), result.scale - as_decimal(type).scale).astype(object)
            for column, type in zip(np.broadcast_arrays(*columns), types, strict=True)
        ]
        best = values[0]
        for each in values[1:]:
            best = np.where(sign * each < sign * best, each, best)
        return codes_of(best, result, codec.specials, lambda row: name)

    return Overload(Signature((), True, None, "decimal, decimal... -> decimal", result, 1), run)


DECIMALS: Mapping[str, list[Overload]] = {
    "+": [_at_one_scale("+", _add, total_type)],
    "-": [_at_one_scale("-", _subtract, total_type)],
    "*": [_arithmetic("*", product_type, _multiply)],
    "/": [_arithmetic("/", quotient_type, _divide)],
    "%": [_at_one_scale("%", _remainder, remainder_type)],
    "neg": [_unary("neg", np.negative)],
    "abs": [_unary("abs", np.absolute)],
    "floor": [_whole("floor", lambda values, one: values // one)],
    "ceil": [_whole("ceil", lambda values, one: -(-values // one))],
    "round": [_whole("round", divided)],
    "min": [_best("min", 1)],
    "max": [_best("max", -1)],
    "f_min": [_best("f_min", 1)],
    "f_max": [_best("f_max", -1)],
}


# ------------------------------------------------------------------ conversions


def to_decimal_overloads(name: str, type: Type) -> tuple[Overload, ...]:
    """`decimal(X, p, s)`: from decimals and ints, rounded half up; from text and floats by their digits."""

    def result(types: Sequence[Type | None]) -> Type | None | NoMatch:
        (given,) = types
        return type if given is None or given.name == "decimal" or given == INT else NO_MATCH

    def run(columns: Sequence[Codes], types: Sequence[Type], result: Type, codec: Codec) -> Codes:
        scale = as_decimal(types[0]).scale
        given = unscaled(columns[0], codec.specials)
        values = rescaled(_roomy(given), result.scale - scale)
        return codes_of(values, result, codec.specials, lambda row: shown(given[row], scale))

    def of_text(text: str) -> decimal.Decimal:
        value = parse_decimal(text)
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)
        units = unscaled_of(value, -exponent)
        (rounded,) = rescaled(np.array([units], object), type.scale + exponent)
        if abs(rounded) >= 10**type.precision:
            raise EvaluationError("overflow", f"{value} does not fit {type}", hint="give it more digits")
        return decimal.Decimal(int(rounded)).scaleb(-type.scale, decimal.Context(prec=200))

    return (
        Overload(Signature((), False, type, f"decimal -> {type}", result, 1), run),
        pointwise(name, f"string -> {type}", of_text),
        pointwise(name, f"float -> {type}", lambda value: of_text(repr(value))),
    )
