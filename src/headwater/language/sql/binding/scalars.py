"""Scalar expressions: sqlglot's nodes to ours, with names resolved and sugar lowered.

Aggregates, window functions and subqueries are not scalars of a plan. Whoever binds a clause says what is done about
them (`Beyond`): they become attributes, which operators below compute.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from headwater.errors import Place
from headwater.language.sql.binding.constants import interval, moment, named_type, number
from headwater.language.sql.binding.context import QueryContext
from headwater.language.sql.binding.scope import Scope
from headwater.language.sql.functions import BY_NAME, BY_NODE, FunctionKind, Types
from headwater.language.sql.inference import type_of
from headwater.language.sql.needed import exp
from headwater.language.sql.scalars import (
    NULL,
    And,
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
from headwater.values.types import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    MOST_DIGITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    decimal_of,
)

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
DIGITS_OF_POSTGRES = 16
"""After the point, in roots and powers of `numeric`; of small ones there are more."""
SUBQUERIES = (exp.Exists, exp.Subquery, exp.Select, exp.SetOperation, exp.Any, exp.All)


class Beyond(Protocol):
    """What a clause does about expressions that are more than a function of one row."""

    def aggregate(self, node: exp.Expr) -> Scalar: ...

    def window(self, node: exp.Window) -> Scalar: ...

    def subquery(self, node: exp.Expr) -> Scalar: ...


@dataclass(frozen=True)
class ScalarBinder:
    """Binds the expressions of one clause."""

    context: QueryContext
    scope: Scope
    beyond: Beyond
    aliases_first: bool = False

    def bind(self, node: exp.Expr) -> Scalar:
        """The scalar that a node means."""
        if isinstance(node, exp.Paren):
            return self.bind(node.this)
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Window):
            return self.beyond.window(node)
        if isinstance(node, SUBQUERIES):
            return self.beyond.subquery(node)
        if isinstance(node, exp.Filter | exp.AggFunc):
            return self.beyond.aggregate(node)
        if type(node) in COMPARISONS:
            return self._compare(node)
        for kinds, bound in self._special():
            if isinstance(node, kinds):
                return bound(node)
        return self._function(node)

    def _special(self) -> tuple[tuple[tuple[type[exp.Expr], ...], Callable[[exp.Expr], Scalar]], ...]:
        return (
            ((exp.And,), self._and),
            ((exp.Or,), self._or),
            ((exp.Not,), self._not),
            ((exp.Literal, exp.Boolean, exp.Null, exp.Interval, exp.Neg), self._constant),
            ((exp.Placeholder, exp.Parameter), self._parameter),
            ((exp.Cast,), self._cast),
            ((exp.Is,), self._is),
            ((exp.NullSafeNEQ,), self._distinct_from),
            ((exp.Between,), self._between),
            ((exp.Like, exp.ILike, exp.Escape), self._like),
            ((exp.In,), self._in),
            ((exp.Case, exp.If), self._case),
            ((exp.Extract,), self._extract),
            ((exp.Concat,), self._concat),
        )

    def _place(self, node: exp.Expr) -> Place | None:
        return self.context.text.place(node)

    def _column(self, node: exp.Column) -> Scalar:
        if isinstance(node.this, exp.Star):
            raise self.context.text.unsupported("* in an expression", node)
        return self.scope.resolve(node, self.context.text, aliases_first=self.aliases_first)

    def _and(self, node: exp.Expr) -> Scalar:
        parts = (self.bind(part) for part in node.flatten())
        flat = (each for part in parts for each in (part.parts if isinstance(part, And) else (part,)))
        return And(tuple(flat), self._place(node))

    def _or(self, node: exp.Expr) -> Scalar:
        parts = (self.bind(part) for part in node.flatten())
        flat = (each for part in parts for each in (part.parts if isinstance(part, Or) else (part,)))
        return Or(tuple(flat), self._place(node))

    def _not(self, node: exp.Expr) -> Scalar:
        return Not(self.bind(node.this), self._place(node))

    def _compare(self, node: exp.Expr) -> Scalar:
        if isinstance(node.expression, exp.Any | exp.All):
            return self.beyond.subquery(node)
        left, right = self.bind(node.this), self.bind(node.expression)
        left, right = _as_moment(left, right), _as_moment(right, left)
        return Compare(COMPARISONS[type(node)], left, right, self._place(node))

    def _constant(self, node: exp.Expr) -> Scalar:
        place = self._place(node)
        if isinstance(node, exp.Null):
            return replace(NULL, place=place)
        if isinstance(node, exp.Boolean):
            return Value(bool(node.this), BOOL, place)
        if isinstance(node, exp.Interval):
            return interval(node, self.context.text)
        if isinstance(node, exp.Neg):
            return self._negated(node)
        assert isinstance(node, exp.Literal)
        return Value(node.name, STRING, place) if node.is_string else number(node, self.context.text)

    def _negated(self, node: exp.Neg) -> Scalar:
        """The negative of a number is a constant."""
        argument = self.bind(node.this)
        if isinstance(argument, Value) and isinstance(argument.value, int | float) and argument.type != BOOL:
            return Value(-argument.value, argument.type, self._place(node))
        if isinstance(argument, Value) and argument.type is not None and argument.type.name == "decimal":
            return Value(-argument.value, argument.type, self._place(node))  # type: ignore[operator]
        return Function("negate", (argument,), type_of(argument), self._place(node))

    def _parameter(self, node: exp.Expr) -> Scalar:
        return self.context.parameter(node, "" if node.name == "?" else node.name)

    def _cast(self, node: exp.Expr) -> Scalar:
        text = self.context.text
        text.only(node, ("this", "to", "safe"))
        type = named_type(node.args["to"], text)
        if (
            isinstance(node.this, exp.Literal)
            and node.this.is_string
            and type in (DATE, TIMESTAMP, TIMESTAMP_NTZ)
        ):
            return moment(node.this.name, type, node, text)
        argument = self.bind(node.this)
        if isinstance(argument, Value) and argument.type == INT and type == INT:
            return argument  # 3L
        strict = not node.args.get("safe")
        return Cast(argument, type, strict, node.args["to"].sql(), self._place(node))

    def _is(self, node: exp.Expr) -> Scalar:
        """`IS NULL`, `IS TRUE`, `IS FALSE`; what is negated says so (PostgreSQL's), or has a NOT around it."""
        self.context.text.only(node, ("this", "expression", "negate"))
        argument, place = self.bind(node.this), self._place(node)
        tested: Scalar
        if isinstance(node.expression, exp.Null):
            tested = IsNull(argument, place)
        elif isinstance(node.expression, exp.Boolean):
            tested = Compare("<=>", argument, Value(bool(node.expression.this), BOOL), place)
        else:
            raise self.context.text.unsupported(self.context.text.words(node), node)
        return Not(tested, place) if node.args.get("negate") else tested

    def _distinct_from(self, node: exp.Expr) -> Scalar:
        place = self._place(node)
        return Not(Compare("<=>", self.bind(node.this), self.bind(node.expression), place), place)

    def _between(self, node: exp.Expr) -> Scalar:
        self.context.text.only(node, ("this", "low", "high"))
        argument, place = self.bind(node.this), self._place(node)
        low, high = self.bind(node.args["low"]), self.bind(node.args["high"])
        above = Compare(">=", _as_moment(argument, low), _as_moment(low, argument), place)
        below = Compare("<=", _as_moment(argument, high), _as_moment(high, argument), place)
        return And((above, below), place)

    def _like(self, node: exp.Expr) -> Scalar:
        escape = None
        like = node
        if isinstance(node, exp.Escape):
            escape, like = node.expression.name, node.this
        if not isinstance(like, exp.Like | exp.ILike):
            raise self.context.text.unsupported(self.context.text.words(node), node)
        self.context.text.only(like, ("this", "expression", "negate"))
        place = self._place(node)
        argument, pattern = self.bind(like.this), self.bind(like.expression)
        matched = Like(argument, pattern, escape, isinstance(like, exp.ILike), place)
        return Not(matched, place) if like.args.get("negate") else matched

    def _in(self, node: exp.Expr) -> Scalar:
        if node.args.get("query") is not None:
            return self.beyond.subquery(node)
        self.context.text.only(node, ("this", "expressions"))
        argument = self.bind(node.this)
        items = tuple(_as_moment(self.bind(item), argument) for item in node.expressions)
        return InList(argument, items, self._place(node))

    def _case(self, node: exp.Expr) -> Scalar:
        place = self._place(node)
        if isinstance(node, exp.If):
            otherwise = node.args.get("false")
            branches = [(self.bind(node.this), self.bind(node.args["true"]))]
        else:
            otherwise = node.args.get("default")
            branches = [self._branch(node.this, branch) for branch in node.args["ifs"]]
        return Case(tuple(branches), NULL if otherwise is None else self.bind(otherwise), place)

    def _branch(self, subject: exp.Expr | None, branch: exp.Expr) -> tuple[Scalar, Scalar]:
        condition = self.bind(branch.this)
        if subject is not None:
            condition = Compare("=", self.bind(subject), condition, self._place(branch))
        return condition, self.bind(branch.args["true"])

    def _extract(self, node: exp.Expr) -> Scalar:
        field = node.this.name.lower()
        if field not in ("year", "month", "day"):
            raise self.context.text.unsupported(f"EXTRACT of {field}", node, "YEAR, MONTH and DAY are")
        return Function(field, (self.bind(node.expression),), INT, self._place(node))

    def _concat(self, node: exp.Expr) -> Scalar:
        if node.args.get("coalesce"):
            raise self.context.text.unsupported("CONCAT that takes NULL as ''", node, "write a || b")
        parts = [self.bind(part) for part in node.expressions]
        joined = parts[0]
        for part in parts[1:]:
            joined = Function("concatenate", (joined, part), STRING, self._place(node))
        return joined

    def _function(self, node: exp.Expr) -> Scalar:
        text = self.context.text
        kind = BY_NODE.get(type(node))
        if kind is None:
            if isinstance(node, exp.Anonymous) and node.name.lower() in ("isnull", "isnotnull"):
                tested = IsNull(self.bind(node.expressions[0]), self._place(node))
                return tested if node.name.lower() == "isnull" else Not(tested, self._place(node))
            name = node.name.upper() if isinstance(node, exp.Anonymous) else text.words(node)
            raise text.unsupported(f"the function {name}" if isinstance(node, exp.Func) else name, node)
        text.only(node, (*kind.arguments, "typed", "safe", "unit", "zone", "ignore_nulls"))
        return self._called(kind, node)

    def _called(self, kind: FunctionKind, node: exp.Expr) -> Scalar:
        text = self.context.text
        unit = node.args.get("unit")
        if unit is not None and unit.name.upper() not in ("DAY", "DAYS"):
            raise text.unsupported(text.words(node), node)
        given = (node.args.get(name) for name in kind.arguments)
        nodes = [
            each
            for item in given
            if item is not None
            for each in (item if isinstance(item, list) else [item])
        ]
        arguments = tuple(self.bind(_undated(kind, each)) for each in nodes)
        types = tuple(map(type_of, arguments))
        if kind.name == "divide" and node.args.get("typed") and (types == (INT, INT) or None in types):
            kind = BY_NAME["divide_by_types"]
        type = _type_there(kind.name, kind.type(types), types, text.dialect)
        if type == DATE and any(each in (INTERVAL, INTERVAL_MONTHS) for each in types):
            type = _moved_date(arguments, text.dialect)
        return Function(kind.name, arguments, type, self._place(node))


def _type_there(name: str, type: Type | None, types: Types, dialect: str) -> Type | None:
    """The type of a function in a database, where it is another than in Spark.

    >>> from headwater.values.types import decimal_of
    >>> _type_there("divide", decimal_of(16, 6), (decimal_of(9, 2), INT), "duckdb") == FLOAT
    True
    """
    if dialect == "spark":
        return type
    if name in ("floor", "ceiling"):
        return FLOAT if type == INT else type
    if dialect == "duckdb":
        is_float = name == "divide" or (name == "whole_quotient" and types != (INT, INT))
        return FLOAT if is_float and type is not None else type
    if name in ("square_root", "power", "logarithm", "exponential") and FLOAT not in types:
        return type if all(each == INT for each in types) else decimal_of(MOST_DIGITS, DIGITS_OF_POSTGRES)
    return type


def _moved_date(arguments: tuple[Scalar, ...], dialect: str) -> Type:
    """What a date and an interval make: a time, but in Spark a date if it is days, months or years."""
    if dialect != "spark":
        return TIMESTAMP_NTZ
    spans = (each.value for each in arguments if isinstance(each, Value))
    return TIMESTAMP if any(isinstance(span, datetime.timedelta) for span in spans) else DATE


def _undated(kind: FunctionKind, node: exp.Expr) -> exp.Expr:
    """The date itself, where sqlglot says that something is taken as one."""
    if kind.name in ("year", "month", "day", "days_between") and isinstance(node, exp.TsOrDsToDate):
        inner = node.this
        return inner if isinstance(inner, exp.Expr) else node
    return node


def _as_moment(scalar: Scalar, other: Scalar) -> Scalar:
    """A string that stands beside a date or time is one."""
    if not isinstance(scalar, Value) or scalar.value is None:
        return scalar
    type = type_of(other)
    if isinstance(scalar.value, str) and type in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        try:
            known = datetime.date if type == DATE else datetime.datetime
            return Value(known.fromisoformat(scalar.value.strip()), type, scalar.place)
        except ValueError:
            return Cast(scalar, type, True, str(type).upper(), scalar.place)
    return scalar
