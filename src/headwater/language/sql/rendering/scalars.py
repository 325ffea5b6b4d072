"""Scalars as sqlglot's nodes. What an attribute is called is up to the SELECT in which it stands."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from decimal import Decimal

from headwater.language.sql.algebra import AggregateCall, SortKey, WindowCall
from headwater.language.sql.functions import BY_NAME
from headwater.language.sql.inference import type_of
from headwater.language.sql.needed import exp
from headwater.language.sql.rendering.sets import SetOf, UnionOf
from headwater.language.sql.scalars import (
    And,
    Attribute,
    Case,
    Cast,
    Compare,
    Days,
    Function,
    InList,
    IsNull,
    Like,
    Not,
    Or,
    Parameter,
    Scalar,
    Value,
)
from headwater.values.record import Months
from headwater.values.types import TIMESTAMP_NTZ

Columns = Mapping[int, exp.Expr]
"""What attributes are in a SELECT, by their ids."""

COMPARISONS: dict[str, type[exp.Expr]] = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
    "<=>": exp.NullSafeEQ,
}
AGGREGATES: dict[str, type[exp.Expr]] = {
    "count": exp.Count,
    "sum": exp.Sum,
    "min": exp.Min,
    "max": exp.Max,
    "avg": exp.Avg,
    "set_of": SetOf,
    "union_of": UnionOf,
}
WINDOWS: dict[str, type[exp.Expr]] = {
    **AGGREGATES,
    "row_number": exp.RowNumber,
    "rank": exp.Rank,
    "dense_rank": exp.DenseRank,
    "lag": exp.Lag,
    "lead": exp.Lead,
    "first": exp.FirstValue,
    "last": exp.LastValue,
}


def scalar_node(scalar: Scalar, columns: Columns) -> exp.Expr:
    """A scalar in the SELECT whose attributes are `columns`."""

    def part(each: Scalar) -> exp.Expr:
        return _bracketed(scalar_node(each, columns))

    match scalar:
        case Attribute(id=id):
            return columns[id].copy()
        case Value(value=value):
            return constant_node(value, ntz=scalar.type == TIMESTAMP_NTZ)
        case Parameter(name=name):
            return exp.Placeholder(this=name)
        case Function(name=name, arguments=arguments):
            return _function(name, [_typed(part(each), each) for each in arguments])
        case Compare(operator=operator, left=left, right=right):
            return COMPARISONS[operator](this=part(left), expression=part(right))
        case And(parts=parts):
            return _chain(exp.And, [part(each) for each in parts])
        case Or(parts=parts):
            return _chain(exp.Or, [part(each) for each in parts])
        case Not(argument=argument):
            return exp.Not(this=part(argument))
        case IsNull(argument=argument):
            return exp.Is(this=part(argument), expression=exp.Null())
        case Like(argument=argument, pattern=pattern, escape=escape):
            kind = exp.ILike if scalar.ignore_case else exp.Like
            like = kind(this=part(argument), expression=part(pattern))
            return like if escape is None else exp.Escape(this=like, expression=exp.Literal.string(escape))
        case InList(argument=argument, items=items):
            return exp.In(this=part(argument), expressions=[part(each) for each in items])
        case Case():
            return _case(scalar, part)
        case Cast(argument=argument):
            to = exp.DataType.build(scalar.spelling or _spelled(scalar))
            if scalar.strict:
                return exp.Cast(this=part(argument), to=to)
            return exp.TryCast(this=part(argument), to=to, safe=True)


def _spelled(cast: Cast) -> str:
    names = {"int": "BIGINT", "float": "DOUBLE", "string": "TEXT", "bool": "BOOLEAN"}
    return names.get(cast.type.name, str(cast.type).upper())


def _typed(node: exp.Expr, scalar: Scalar) -> exp.Expr:
    """The node of a number with its type, by which sqlglot writes quotients."""
    type = type_of(scalar)
    said = None if type is None else {"int": "BIGINT", "float": "DOUBLE", "decimal": "DECIMAL"}.get(type.name)
    if said is not None:
        node.type = exp.DataType.build(said)
    return node


def _bracketed(node: exp.Expr) -> exp.Expr:
    loose = exp.Binary | exp.Not | exp.In | exp.Is | exp.Between | exp.Neg
    return exp.Paren(this=node) if isinstance(node, loose) and not isinstance(node, exp.Dot) else node


def _chain(kind: type[exp.Expr], nodes: list[exp.Expr]) -> exp.Expr:
    if not nodes:
        return exp.Boolean(this=kind is exp.And)
    chained = nodes[0]
    for node in nodes[1:]:
        chained = kind(this=chained, expression=node)
    return chained


def _case(scalar: Case, part: Callable[[Scalar], exp.Expr]) -> exp.Expr:
    ifs = [exp.If(this=part(condition), true=part(result)) for condition, result in scalar.branches]
    return exp.Case(ifs=ifs, default=part(scalar.otherwise))


def _function(name: str, arguments: list[exp.Expr]) -> exp.Expr:
    kind = BY_NAME[name]
    given: dict[str, exp.Expr | list[exp.Expr] | bool] = dict(zip(kind.arguments, arguments, strict=False))
    if kind.arguments[-1] == "expressions":
        given["expressions"] = arguments[len(kind.arguments) - 1 :]
    if name in ("divide", "divide_by_types"):
        given |= {"typed": name == "divide_by_types", "safe": False}
    if name in ("greatest", "least"):
        given["ignore_nulls"] = True
    if name in ("add_days", "days_between"):
        given["unit"] = exp.var("DAY")
    return kind.node(**given)


def constant_node(value: object, *, ntz: bool = False) -> exp.Expr:
    """A constant, written so that every system gives it the type it has."""
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            number = exp.Literal.number(abs(value))
            return exp.Paren(this=exp.Neg(this=number)) if value < 0 else number
        case float():
            said = repr(value) if math.isfinite(value) else {"nan": "NaN"}.get(str(value), str(value))
            return exp.cast(exp.Literal.string(said), "DOUBLE")
        case Decimal():
            number = exp.Literal.number(format(value.copy_abs(), "f"))
            return exp.Paren(this=exp.Neg(this=number)) if value < 0 else number
        case str():
            return exp.Literal.string(value)
        case datetime.datetime():
            return exp.cast(exp.Literal.string(str(value)), "TIMESTAMPNTZ" if ntz else "TIMESTAMPTZ")
        case datetime.date():
            return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
        case Months():
            return exp.Interval(this=exp.Literal.string(str(value.months)), unit=exp.var("MONTH"))
        case Days():
            return exp.Interval(this=exp.Literal.string(str(value.days)), unit=exp.var("DAY"))
        case datetime.timedelta():
            return exp.Interval(this=exp.Literal.string(f"{value.total_seconds():f}"), unit=exp.var("SECOND"))
        case _:
            raise AssertionError(f"no constant of SQL: {value!r}")


def aggregate_node(call: AggregateCall, columns: Columns) -> exp.Expr:
    """An aggregate in a SELECT."""
    if call.argument is None:
        return exp.Count(this=exp.Star(), big_int=True)
    argument = scalar_node(call.argument, columns)
    if call.distinct:
        argument = exp.Distinct(expressions=[argument])
    return AGGREGATES[call.function](this=argument)


def order_node(order: tuple[SortKey, ...], columns: Columns) -> exp.Order:
    """ORDER BY, with the place of NULLs said where the system would put them elsewhere."""
    return exp.Order(
        expressions=[
            exp.Ordered(
                this=scalar_node(key.expression, columns), desc=key.descending, nulls_first=key.nulls_first
            )
            for key in order
        ]
    )


def window_node(call: WindowCall, columns: Columns) -> exp.Expr:
    """A window function in a SELECT."""
    arguments = [scalar_node(each, columns) for each in call.arguments]
    names = ("this", "offset", "default")
    if call.function == "count" and not arguments:
        arguments = [exp.Star()]
    function = WINDOWS[call.function](**dict(zip(names, arguments, strict=False)))
    return exp.Window(
        this=function,
        partition_by=[scalar_node(each, columns) for each in call.partition],
        order=order_node(call.order, columns) if call.order else None,
        over="OVER",
    )
