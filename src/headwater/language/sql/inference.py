"""What is known of a scalar without rows: its type, and whether it can be NULL."""

from __future__ import annotations

from headwater.language.sql.algebra import AggregateCall, WindowCall
from headwater.language.sql.functions import BY_NAME, common_type
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
    Parameter,
    Scalar,
    Value,
    parts_of,
)
from headwater.values.decimal_types import average_type, sum_type
from headwater.values.types import BOOL, FLOAT, INT, Type


def type_of(scalar: Scalar) -> Type | None:
    """The type of a scalar's values, `None` where nothing tells it."""
    match scalar:
        case Attribute() | Value() | Parameter() | Cast():
            return scalar.type
        case Function(name=name, arguments=arguments):
            if scalar.type is not None:
                return scalar.type
            return BY_NAME[name].type(tuple(map(type_of, arguments)))
        case Case(branches=branches, otherwise=otherwise):
            results = (*(result for _, result in branches), otherwise)
            return common_type(tuple(type_of(each) for each in results if not _is_null(each)))
        case Compare() | And() | Or() | Not() | IsNull() | Like() | InList():
            return BOOL


def _is_null(scalar: Scalar) -> bool:
    return isinstance(scalar, Value) and scalar.value is None


def may_be_null(scalar: Scalar) -> bool:
    """Whether a scalar can be NULL (a condition: unknown). `False` is certain, `True` is not."""
    match scalar:
        case Attribute(nullable=nullable):
            return nullable
        case Value(value=value):
            return value is None
        case IsNull():
            return False
        case Compare(operator="<=>"):
            return False
        case Parameter():
            return True
        case Cast(strict=False):
            return True
        case Function(name="coalesce", arguments=arguments):
            return all(may_be_null(argument) for argument in arguments)
        case Function(name=name) if not BY_NAME[name].null_only_from_null:
            return True
        case Case(branches=branches, otherwise=otherwise):
            return any(may_be_null(each) for each in (*(result for _, result in branches), otherwise))
        case _:
            return any(may_be_null(part) for part in parts_of(scalar))


def aggregate_type(call: AggregateCall) -> Type | None:
    """The type of an aggregate."""
    argument = None if call.argument is None else type_of(call.argument)
    return _summary_type(call.function, argument)


def aggregate_may_be_null(call: AggregateCall, grouped: bool) -> bool:
    """Whether an aggregate can be NULL: a count never, others over NULLs alone, or without groups over nothing."""
    if call.function == "count":
        return False
    return not grouped or call.argument is None or may_be_null(call.argument)


def window_type(call: WindowCall) -> Type | None:
    """The type of a window function."""
    if call.function in ("row_number", "rank", "dense_rank"):
        return INT
    argument = type_of(call.arguments[0]) if call.arguments else None
    if call.function in ("lag", "lead", "first", "last"):
        return argument
    return _summary_type(call.function, argument)


def _summary_type(function: str, argument: Type | None) -> Type | None:
    if function == "count":
        return INT
    if argument is None or function in ("min", "max"):
        return argument
    if argument.name == "decimal":
        return sum_type(argument) if function == "sum" else average_type(argument)
    if function in ("avg", "lowest_avg", "highest_avg"):
        return FLOAT if argument in (INT, FLOAT) else argument
    return argument
