"""The scalar functions that plans know: by our name, with their classes in sqlglot and the types they give.

One table serves both directions: reading a text of any dialect, and writing the SQL of any. A function that is not
in it is refused by name: what a plan cannot say, it cannot say wrongly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headwater.language.sql.needed import exp
from headwater.language.sql.rendering.sets import Singleton
from headwater.values.decimal_types import as_decimal, product_type, quotient_type, remainder_type, total_type
from headwater.values.types import (
    DATE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    list_of,
)

Types = tuple[Type | None, ...]
TypeRule = Callable[[Types], Type | None]


@dataclass(frozen=True)
class FunctionKind:
    """A function: its class in sqlglot, the names of its arguments there (the last may take a list), its type.

    `null_only_from_null`: it is NULL only where an argument is; others may be NULL on their own.
    """

    name: str
    node: type[exp.Expr]
    arguments: tuple[str, ...]
    type: TypeRule
    null_only_from_null: bool = True


def _always(type: Type) -> TypeRule:
    return lambda types: type


def _first(types: Types) -> Type | None:
    return types[0] if types else None


def _common(types: Types) -> Type | None:
    """The type that holds values of all of these."""
    known = [each for each in types if each is not None]
    if len(known) < len(types) or not known:
        return known[0] if known and all(each == known[0] for each in known) else None
    if all(each == known[0] for each in known):
        return known[0]
    if all(_is_number(each) for each in known):
        if FLOAT in known:
            return FLOAT
        widest = known[0]
        for each in known[1:]:
            left, right = as_decimal(widest), as_decimal(each)
            widest = total_type(left, right)
        return widest
    return None


def common_type(types: Types) -> Type | None:
    """The type of a column that holds values of these; of numbers of several kinds, the one that holds them."""
    return _common(types)


def _is_number(type: Type | None) -> bool:
    return type is not None and (type in (INT, FLOAT) or type.name == "decimal")


def _arithmetic(decimals: Callable[[Type, Type], Type]) -> TypeRule:
    def rule(types: Types) -> Type | None:
        left, right = types
        if left is None or right is None:
            return None
        if not (_is_number(left) and _is_number(right)):
            return _moment(left, right)
        if FLOAT in (left, right):
            return FLOAT
        return INT if left == right == INT else decimals(as_decimal(left), as_decimal(right))

    return rule


def _moment(left: Type, right: Type) -> Type | None:
    """The type of a date or time and an interval, in either order, or of two intervals."""
    spans = (INTERVAL, INTERVAL_MONTHS)
    if left in spans:
        left, right = right, left
    if right in spans and left in (DATE, TIMESTAMP, TIMESTAMP_NTZ, *spans):
        return left
    return None


def _quotient(types: Types) -> Type | None:
    left, right = types
    if left is None or right is None or not (_is_number(left) and _is_number(right)):
        return None
    if "decimal" in (left.name, right.name) and FLOAT not in (left, right):
        return quotient_type(as_decimal(left), as_decimal(right))
    return FLOAT


def _quotient_by_types(types: Types) -> Type | None:
    return INT if types == (INT, INT) else _quotient(types)


BINARY = ("this", "expression")
KINDS = (
    FunctionKind("add", exp.Add, BINARY, _arithmetic(total_type)),
    FunctionKind("subtract", exp.Sub, BINARY, _arithmetic(total_type)),
    FunctionKind("multiply", exp.Mul, BINARY, _arithmetic(product_type)),
    FunctionKind("divide_by_types", exp.Div, BINARY, _quotient_by_types, null_only_from_null=False),
    FunctionKind("divide", exp.Div, BINARY, _quotient, null_only_from_null=False),
    FunctionKind("remainder", exp.Mod, BINARY, _arithmetic(remainder_type), null_only_from_null=False),
    FunctionKind("whole_quotient", exp.IntDiv, BINARY, _always(INT), null_only_from_null=False),
    FunctionKind("negate", exp.Neg, ("this",), _first),
    FunctionKind("absolute", exp.Abs, ("this",), _first),
    FunctionKind("round", exp.Round, ("this", "decimals"), lambda types: FLOAT if FLOAT in types else None),
    FunctionKind("floor", exp.Floor, ("this",), lambda types: INT if types[0] in (INT, FLOAT) else None),
    FunctionKind("ceiling", exp.Ceil, ("this",), lambda types: INT if types[0] in (INT, FLOAT) else None),
    FunctionKind("square_root", exp.Sqrt, ("this",), _always(FLOAT), null_only_from_null=False),
    FunctionKind("power", exp.Pow, BINARY, _always(FLOAT)),
    FunctionKind("logarithm", exp.Ln, ("this",), _always(FLOAT), null_only_from_null=False),
    FunctionKind("exponential", exp.Exp, ("this",), _always(FLOAT)),
    FunctionKind("coalesce", exp.Coalesce, ("this", "expressions"), _common, null_only_from_null=False),
    FunctionKind("null_if", exp.Nullif, BINARY, _first, null_only_from_null=False),
    FunctionKind("greatest", exp.Greatest, ("this", "expressions"), _common, null_only_from_null=False),
    FunctionKind("least", exp.Least, ("this", "expressions"), _common, null_only_from_null=False),
    FunctionKind("upper", exp.Upper, ("this",), _always(STRING)),
    FunctionKind("lower", exp.Lower, ("this",), _always(STRING)),
    FunctionKind("trim", exp.Trim, ("this",), _always(STRING)),
    FunctionKind("length", exp.Length, ("this",), _always(INT)),
    FunctionKind("substring", exp.Substring, ("this", "start", "length"), _always(STRING)),
    FunctionKind("concatenate", exp.DPipe, BINARY, _always(STRING)),
    FunctionKind("replace", exp.Replace, ("this", "expression", "replacement"), _always(STRING)),
    FunctionKind("starts_with", exp.StartsWith, BINARY, lambda types: None),
    FunctionKind("year", exp.Year, ("this",), _always(INT)),
    FunctionKind("month", exp.Month, ("this",), _always(INT)),
    FunctionKind("day", exp.Day, ("this",), _always(INT)),
    FunctionKind("to_date", exp.TsOrDsToDate, ("this",), _always(DATE), null_only_from_null=False),
    FunctionKind("add_days", exp.TsOrDsAdd, BINARY, _always(DATE)),
    FunctionKind("add_months", exp.AddMonths, BINARY, _always(DATE)),
    FunctionKind("days_between", exp.DateDiff, BINARY, _always(INT)),
    FunctionKind("singleton", Singleton, ("this",), _always(list_of(INT)), null_only_from_null=False),
)

BY_NAME = {kind.name: kind for kind in KINDS}
BY_NODE: dict[type[exp.Expr], FunctionKind] = {kind.node: kind for kind in KINDS}
"""Of two with one node the last: `divide_by_types` is PostgreSQL's, which divides whole numbers without a rest."""
