"""What the clauses of a SELECT do about aggregates, window functions and subqueries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headwater.language.sql.algebra import (
    AggregateCall,
    NamedAggregate,
    NamedWindow,
    SaidAggregate,
    SortKey,
    WindowCall,
    WindowFunction,
)
from headwater.language.sql.binding.context import QueryContext
from headwater.language.sql.binding.scalars import ScalarBinder
from headwater.language.sql.binding.text import SqlText
from headwater.language.sql.inference import aggregate_type, window_type
from headwater.language.sql.needed import exp
from headwater.language.sql.scalars import NULL, Case, Parameter, Scalar, Value
from headwater.values.types import INT

AGGREGATES: dict[type[exp.Expr], SaidAggregate] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
    exp.Avg: "avg",
}
WINDOWS: dict[type[exp.Expr], WindowFunction] = {
    **AGGREGATES,
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.Lag: "lag",
    exp.Lead: "lead",
    exp.FirstValue: "first",
    exp.LastValue: "last",
}


@dataclass(frozen=True)
class NoneBeyond:
    """A clause in which there is none of them."""

    text: SqlText
    clause: str

    def aggregate(self, node: exp.Expr) -> Scalar:
        hint = "conditions on aggregates stand in HAVING" if self.clause == "WHERE" else None
        raise self.text.refuse("misplaced-aggregate", f"{self.clause} cannot hold an aggregate", node, hint)

    def window(self, node: exp.Window) -> Scalar:
        raise self.text.refuse("misplaced-aggregate", f"{self.clause} cannot hold a window function", node)

    def subquery(self, node: exp.Expr) -> Scalar:
        raise self.text.unsupported(f"a subquery in {self.clause} that is no condition of its own", node)


@dataclass(frozen=True)
class WithSubqueries:
    """A clause with subqueries, but without aggregates: WHERE, keys of GROUP BY, arguments of aggregates."""

    text: SqlText
    clause: str
    bind_subquery: Callable[[exp.Expr], Scalar]

    def aggregate(self, node: exp.Expr) -> Scalar:
        return NoneBeyond(self.text, self.clause).aggregate(node)

    def window(self, node: exp.Window) -> Scalar:
        return NoneBeyond(self.text, self.clause).window(node)

    def subquery(self, node: exp.Expr) -> Scalar:
        return self.bind_subquery(node)


@dataclass
class Collected:
    """The aggregates and window functions of a SELECT, each of which becomes an attribute; equal ones become one."""

    context: QueryContext
    aggregates: dict[AggregateCall, NamedAggregate] = field(default_factory=dict)
    windows: dict[WindowCall, NamedWindow] = field(default_factory=dict)


@dataclass(frozen=True)
class OverGroups:
    """A clause that may hold all of them: SELECT, HAVING (without windows), ORDER BY."""

    collected: Collected
    arguments: ScalarBinder
    bind_subquery: Callable[[exp.Expr], Scalar]
    itself: Callable[[], ScalarBinder]
    windows: bool = True

    def aggregate(self, node: exp.Expr) -> Scalar:
        context = self.collected.context
        call = self._call(node)
        found = self.collected.aggregates.get(call)
        if found is None:
            attribute = context.attribute(call.function, aggregate_type(call), call.function != "count")
            found = self.collected.aggregates[call] = NamedAggregate(attribute, call)
        return found.attribute

    def _call(self, node: exp.Expr) -> AggregateCall:
        text = self.collected.context.text
        condition: Scalar | None = None
        inner = node
        if isinstance(node, exp.Filter):
            inner = node.this
            condition = self.arguments.bind(node.expression.this)
        function = AGGREGATES.get(type(inner))
        if function is None:
            raise text.unsupported(
                f"the aggregate {text.words(inner)}", inner, "count, sum, min, max and avg are"
            )
        text.only(inner, ("this", "expressions", "big_int"))
        argument, distinct = self._argument(inner)
        if condition is not None:
            counted = argument if argument is not None else Value(1, INT)
            argument = Case(((condition, counted),), NULL, text.place(node))
        return AggregateCall(function, argument, distinct, text.place(node))

    def _argument(self, node: exp.Expr) -> tuple[Scalar | None, bool]:
        """The argument, and whether only different values count. Counting a constant counts rows."""
        text = self.collected.context.text
        this, distinct = node.this, False
        if isinstance(this, exp.Distinct):
            distinct = True
            if len(this.expressions) != 1 or this.args.get("on"):
                raise text.unsupported("DISTINCT of several columns in an aggregate", node)
            this = this.expressions[0]
        elif node.args.get("expressions"):
            raise text.unsupported("an aggregate of several columns", node)
        if isinstance(this, exp.Star):
            if distinct or not isinstance(node, exp.Count):
                raise text.unsupported("* in an aggregate other than COUNT(*)", node)
            return None, False
        if this is None:
            raise text.refuse("sql-syntax", "an aggregate takes an argument", node)
        argument = self.arguments.bind(this)
        constant = isinstance(argument, Value) and argument.value is not None
        if constant and isinstance(node, exp.Count) and not distinct:
            return None, False
        return argument, distinct

    def window(self, node: exp.Window) -> Scalar:
        context = self.collected.context
        text = context.text
        text.only(node, ("this", "partition_by", "order", "over"))
        if not self.windows:
            raise text.refuse("misplaced-aggregate", "HAVING cannot hold a window function", node)
        function = WINDOWS.get(type(node.this))
        if function is None:
            raise text.unsupported(f"the window function {text.words(node.this)}", node)
        binder = self.itself()
        starred = isinstance(node.this.this, exp.Star)
        given = [] if starred else [node.this.this, *_offsets(node.this)]
        order = node.args.get("order")
        call = WindowCall(
            function,
            tuple(binder.bind(each) for each in given if isinstance(each, exp.Expr)),
            tuple(binder.bind(each) for each in node.args.get("partition_by") or ()),
            tuple(sort_key(binder, each) for each in order.expressions) if order else (),
            text.place(node),
        )
        found = self.collected.windows.get(call)
        if found is None:
            attribute = context.attribute(function, window_type(call))
            found = self.collected.windows[call] = NamedWindow(attribute, call)
        return found.attribute

    def subquery(self, node: exp.Expr) -> Scalar:
        return self.bind_subquery(node)


def _offsets(node: exp.Expr) -> list[exp.Expr]:
    return [each for each in (node.args.get("offset"), node.args.get("default")) if each is not None]


def sort_key(binder: ScalarBinder, node: exp.Expr, expression: Scalar | None = None) -> SortKey:
    """A key of ORDER BY; `expression`, if it stands for something else than what it says."""
    place = binder.context.text.place(node)
    if not isinstance(node, exp.Ordered):
        return SortKey(expression or binder.bind(node), place=place)
    binder.context.text.only(node, ("this", "desc", "nulls_first"))
    scalar = expression if expression is not None else binder.bind(node.this)
    return SortKey(scalar, bool(node.args.get("desc")), bool(node.args.get("nulls_first")), place)


def bound(binder: ScalarBinder, node: exp.Expr | None, what: str) -> Value | Parameter | None:
    """LIMIT and OFFSET: a number that is not negative, or a parameter."""
    if node is None:
        return None
    binder.context.text.only(node, ("expression",))
    scalar = binder.bind(node.expression)
    if isinstance(scalar, Parameter):
        return scalar
    if isinstance(scalar, Value) and isinstance(scalar.value, int) and scalar.value >= 0:
        return scalar
    raise binder.context.text.refuse("wrong-limit", f"{what} takes a whole number that is not negative", node)
