"""Plans whose conditions hold where they *may* hold, whichever way DuckDB rounds averages of integers.

A query over a sketch is answered by the database itself, so a sketch may have more fragments than it needs, and must
not have fewer. Of averages of integers it is known between which floats they are (`integer_averages`). So a condition
on one is read as what these bounds allow: `avg(x) > c` as `highest_avg(x) > c`, `avg(x) = c` as `lowest_avg(x) <= c
AND highest_avg(x) >= c`. Bounds are almost always equal, and then this is the condition itself.

That is done where more rows can only lead to more fragments: below selections, projections, joins, unions and
DISTINCT. Where something counts or sums up what passes a condition, takes the first so many rows of it, or does
without it (EXCEPT, anti joins), the condition stays as it is. So do those that compute with an average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from headwater.language.sql.algebra import (
    AggregateFunction,
    Distinct,
    GroupBy,
    Named,
    NamedAggregate,
    Operator,
    Project,
    Select,
    ThetaJoin,
    TopK,
    UnionAll,
    children,
    walk,
    with_children,
)
from headwater.language.sql.inference import type_of
from headwater.language.sql.scalars import (
    And,
    Attribute,
    Compare,
    InList,
    IsNull,
    Not,
    Or,
    Scalar,
    attributes_in,
    conjunction,
    conjuncts,
)
from headwater.values.types import FLOAT, INT

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
_LOWEST: AggregateFunction = "lowest_avg"
_HIGHEST: AggregateFunction = "highest_avg"


def with_average_bounds(plan: Operator, dialect: str) -> Operator:
    """The plan with conditions on averages of integers read as what is known of them, for sketches and not for
    answers."""
    if dialect != "duckdb" or not any(_averages(each) for each in walk(plan)):
        return plan
    first = 1 + max(attribute.id for operator in walk(plan) for attribute in operator.attributes)
    return _Bounds(first).columns_of(plan, grows=True)


def _averages(plan: Operator) -> set[int]:
    """The attributes of a group-by that are averages of integers."""
    return {
        item.attribute.id
        for item in (plan.aggregates if isinstance(plan, GroupBy) else ())
        if item.call.function == "avg"
        and item.call.argument is not None
        and type_of(item.call.argument) == INT
    }


def _bounded(plan: Operator) -> set[int]:
    """The attributes of a plan that are such averages, of which bounds can be had."""
    match plan:
        case GroupBy():
            return _averages(plan)
        case Select(input=input):
            return _bounded(input)
        case Project(input=input, columns=columns):
            below = _bounded(input)
            return {each.attribute.id for each in columns if _is_among(each.expression, below)}
        case ThetaJoin(kind="inner", left=left, right=right):
            return _bounded(left) | _bounded(right)
        case _:
            return set()


def _is_among(scalar: Scalar, ids: set[int]) -> bool:
    return isinstance(scalar, Attribute) and scalar.id in ids


@dataclass
class _Bounds:
    """Rewrites one plan from the top down: conditions ask for bounds, and group-bys below have them."""

    next_id: int
    made: dict[tuple[int, AggregateFunction], Attribute] = field(default_factory=dict)
    """The bounds that were asked for, by the average's id."""

    def columns_of(self, plan: Operator, *, grows: bool) -> Operator:
        """The plan rewritten, with no other columns than it had."""
        found = self.rewritten(plan, grows=grows)
        if found.attributes == plan.attributes:
            return found
        return Project(found, tuple(Named(each, each) for each in plan.attributes))

    def rewritten(self, plan: Operator, *, grows: bool) -> Operator:
        """`grows`: more rows of the plan can only lead to more fragments. Bounds that were asked for are among the
        columns."""
        match plan:
            case Select(input=input, condition=condition):
                if grows:
                    condition = self.may_hold(condition, _bounded(input))
                return replace(plan, input=self.rewritten(input, grows=grows), condition=condition)
            case ThetaJoin(kind="inner", left=left, right=right, condition=condition):
                if grows and condition is not None:
                    condition = self._of_join(condition, _bounded(plan))
                sides = (self.rewritten(each, grows=grows) for each in (left, right))
                return replace(plan, left=next(sides), right=next(sides), condition=condition)
            case Project(input=input, columns=columns):
                columns = (*columns, *self._passed(columns))
                return replace(plan, input=self.rewritten(input, grows=grows), columns=columns)
            case GroupBy(input=input, aggregates=aggregates):
                below = self.columns_of(input, grows=grows and not aggregates)
                return replace(plan, input=below, aggregates=(*aggregates, *self._wanted(aggregates)))
            case ThetaJoin(kind="semi") | UnionAll() | Distinct() | TopK(limit=None, offset=None):
                inputs = tuple(self.columns_of(each, grows=grows) for each in children(plan))
                return with_children(plan, inputs)
            case _:
                inputs = tuple(self.columns_of(each, grows=False) for each in children(plan))
                return with_children(plan, inputs)

    def _passed(self, columns: Sequence[Named]) -> list[Named]:
        return [
            Named(bound, self._bound(column.expression, function))
            for column in columns
            for function in (_LOWEST, _HIGHEST)
            if (bound := self.made.get((column.attribute.id, function))) is not None
            and isinstance(column.expression, Attribute)
        ]

    def _wanted(self, aggregates: Sequence[NamedAggregate]) -> list[NamedAggregate]:
        return [
            NamedAggregate(bound, replace(item.call, function=function))
            for item in aggregates
            for function in (_LOWEST, _HIGHEST)
            if (bound := self.made.get((item.attribute.id, function))) is not None
        ]

    def _bound(self, average: Attribute, function: AggregateFunction) -> Attribute:
        asked = (average.id, function)
        if asked not in self.made:
            self.made[asked] = Attribute(self.next_id, f"{function} {average.name}", FLOAT, average.nullable)
            self.next_id += 1
        return self.made[asked]

    # ------------------------------------------------------------------ conditions

    def _of_join(self, condition: Scalar, bounded: set[int]) -> Scalar:
        """Equalities are what rows are looked up by, and stay."""
        parts = [
            each if isinstance(each, Compare) and each.operator == "=" else self.may_hold(each, bounded)
            for each in conjuncts(condition)
        ]
        return conjunction(tuple(parts))

    def may_hold(self, condition: Scalar, bounded: set[int]) -> Scalar:
        """What is true wherever the condition may be."""
        if not any(each.id in bounded for each in attributes_in(condition)):
            return condition
        match condition:
            case And(parts=parts):
                return conjunction(tuple(self.may_hold(each, bounded) for each in parts))
            case Or(parts=parts):
                return _any_of(tuple(self.may_hold(each, bounded) for each in parts))
            case Not(argument=argument):
                denied = _denied(argument)
                return condition if denied is None else self.may_hold(denied, bounded)
            case IsNull(argument=Attribute() as average):
                return replace(condition, argument=self._bound(average, _LOWEST))
            case InList(argument=Attribute() as average, items=items):
                same = tuple(Compare("=", average, each) for each in items)
                return self.may_hold(_any_of(same), bounded)
            case Compare():
                return self._comparison(condition, bounded)
            case _:
                return condition

    def _comparison(self, condition: Compare, bounded: set[int]) -> Scalar:
        sides = condition.left, condition.right
        if not all(self._has_bounds(each, bounded) for each in sides):
            return condition

        def bound(side: Scalar, function: AggregateFunction) -> Scalar:
            is_average = isinstance(side, Attribute) and side.id in bounded
            return self._bound(side, function) if is_average and isinstance(side, Attribute) else side

        def compared(operator: str, first: AggregateFunction, second: AggregateFunction) -> Compare:
            left, right = sides
            return replace(condition, operator=operator, left=bound(left, first), right=bound(right, second))

        match condition.operator:
            case "<" | "<=" as name:
                return compared(name, _LOWEST, _HIGHEST)
            case ">" | ">=" as name:
                return compared(name, _HIGHEST, _LOWEST)
            case "=":
                return And((compared("<=", _LOWEST, _HIGHEST), compared(">=", _HIGHEST, _LOWEST)))
            case "<>":
                return Or((compared("<>", _LOWEST, _HIGHEST), compared("<>", _HIGHEST, _LOWEST)))
            case _:
                return condition

    def _has_bounds(self, scalar: Scalar, bounded: set[int]) -> bool:
        return _is_among(scalar, bounded) or not any(each.id in bounded for each in attributes_in(scalar))


def _any_of(conditions: tuple[Scalar, ...]) -> Scalar:
    """One condition that says at least one of these."""
    flat = tuple(part for each in conditions for part in (each.parts if isinstance(each, Or) else (each,)))
    return Or(flat) if len(flat) > 1 else flat[0]


def _denied(condition: Scalar) -> Scalar | None:
    """What is true where a condition is false; `None` if that is not said by comparisons."""
    match condition:
        case Not(argument=argument):
            return argument
        case Compare(operator=name) if name in _OPPOSITE:
            return replace(condition, operator=_OPPOSITE[name])
        case And(parts=parts):
            return _any_of(tuple(Not(each) for each in parts))
        case Or(parts=parts):
            return conjunction(tuple(Not(each) for each in parts))
        case InList(argument=argument, items=items):
            return conjunction(tuple(Compare("<>", argument, each) for each in items))
        case _:
            return None
