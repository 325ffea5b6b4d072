"""Subqueries as joins: semi joins for EXISTS and IN, anti joins for their negations, columns for scalar ones.

A subquery may read columns of the query around it (be *correlated*) in conditions of its WHERE and of its inner
joins: those conditions become conditions of the join. A scalar subquery has at most one row: an aggregate without
GROUP BY, correlated by equalities or not at all, or LIMIT 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from headwater.language.sql.algebra import (
    GroupBy,
    Inline,
    JoinKind,
    Named,
    Operator,
    Project,
    Select,
    ThetaJoin,
    TopK,
    scalars_of,
    walk,
)
from headwater.language.sql.binding.context import QueryContext
from headwater.language.sql.needed import exp
from headwater.language.sql.scalars import (
    Compare,
    Function,
    IsNull,
    Or,
    Scalar,
    Value,
    attributes_in,
    conjunction,
    conjuncts,
    substitute,
)
from headwater.values.types import INT


@dataclass(frozen=True)
class PulledUp:
    """A subquery without the conditions that read the query around it, and these conditions."""

    plan: Operator
    conditions: tuple[Scalar, ...]
    outputs: tuple[Scalar, ...]


@dataclass
class AttachedJoin:
    """A join that a subquery became; `condition` may read both sides."""

    kind: JoinKind
    plan: Operator
    condition: Scalar | None


@dataclass
class SubqueryJoins:
    """The joins that the subqueries of a clause became, until the clause's plan is there to take them."""

    context: QueryContext
    attached: list[AttachedJoin] = field(default_factory=list)

    def onto(self, plan: Operator, change: Callable[[Scalar], Scalar] = lambda scalar: scalar) -> Operator:
        """The plan with all joins; `change` makes conditions read what the plan has."""
        for each in self.attached:
            condition = None if each.condition is None else change(each.condition)
            plan = ThetaJoin(each.kind, plan, each.plan, condition)
        return plan

    def exists(self, plan: Operator, node: exp.Expr, *, negated: bool) -> None:
        """`EXISTS (plan)` as a condition of the clause."""
        pulled = self._pulled(_without_columns(plan), node)
        kind: JoinKind = "anti" if negated else "semi"
        self.attached.append(AttachedJoin(kind, pulled.plan, _condition(pulled.conditions)))

    def member(self, members: tuple[Scalar, ...], plan: Operator, node: exp.Expr, *, negated: bool) -> None:
        """`members IN (plan)` as a condition of the clause. NOT IN keeps a row only if all comparisons are false."""
        if len(members) != len(plan.attributes):
            message = f"{len(members)} columns are looked for among {len(plan.attributes)}"
            raise self.context.text.refuse("wrong-columns", message, node)
        pulled = self._pulled(plan, node)
        place = self.context.text.place(node)
        pairs = zip(members, pulled.outputs, strict=True)
        equal = conjunction(tuple(Compare("=", left, right, place) for left, right in pairs), place)
        if negated:
            equal = Or((equal, IsNull(equal, place)), place)
        kind: JoinKind = "anti" if negated else "semi"
        condition = conjunction((equal, *pulled.conditions), place)
        self.attached.append(AttachedJoin(kind, pulled.plan, condition))

    def scalar(self, plan: Operator, node: exp.Expr) -> Scalar:
        """The one value of a subquery: NULL if it has no row."""
        if len(plan.attributes) != 1:
            raise self.context.text.refuse("wrong-columns", "a scalar subquery has one column", node)
        if _free(plan):
            return self._correlated(plan, node)
        rows = _rows(plan)
        if rows is None:
            hint = "an aggregate without GROUP BY has one row, LIMIT 1 at most one"
            raise self.context.text.unsupported("a scalar subquery that may have several rows", node, hint)
        self.attached.append(AttachedJoin("inner" if rows == 1 else "left", plan, None))
        return plan.attributes[0]

    def _correlated(self, plan: Operator, node: exp.Expr) -> Scalar:
        """An aggregate over the rows that belong to a row around: grouped by what is equal, and joined by it."""
        output: Scalar = plan.attributes[0]
        while isinstance(plan, Project) and not _reads_around(plan):
            output = substitute(output, {each.attribute.id: each.expression for each in plan.columns})
            plan = plan.input
        if not isinstance(plan, GroupBy) or plan.keys:
            raise self.context.text.unsupported("a correlated scalar subquery that is no aggregate", node)
        pulled = self._pulled(plan.input, node)
        keys, pairs = self._keys(pulled, node)
        meaning: dict[int, Scalar] = {
            old.id: new for old, new in zip(plan.input.attributes, pulled.outputs, strict=True)
        }
        aggregates = tuple(
            each
            if each.call.argument is None
            else replace(each, call=replace(each.call, argument=substitute(each.call.argument, meaning)))
            for each in plan.aggregates
        )
        grouped = replace(plan, input=pulled.plan, keys=keys, aggregates=aggregates)
        self.attached.append(AttachedJoin("left", grouped, conjunction(pairs)))
        counts: dict[int, Scalar] = {
            each.attribute.id: Function("coalesce", (each.attribute, Value(0, INT)), INT)
            for each in aggregates
            if each.call.function == "count"
        }
        return substitute(output, counts)

    def _keys(self, pulled: PulledUp, node: exp.Expr) -> tuple[tuple[Named, ...], tuple[Scalar, ...]]:
        """What the inner rows are grouped by, and the conditions of the join with it."""
        inside = {attribute.id for attribute in pulled.plan.attributes}
        keys: list[Named] = []
        pairs: list[Scalar] = []
        for condition in pulled.conditions:
            sides = self._sides(condition, inside)
            if sides is None:
                hint = "only equalities between an inner and an outer side are"
                raise self.context.text.unsupported("a scalar subquery that is correlated so", node, hint)
            inner, outer = sides
            key = self.context.named("key", inner)
            keys.append(key)
            pairs.append(Compare("=", outer, key.attribute, getattr(condition, "place", None)))
        return tuple(keys), tuple(pairs)

    @staticmethod
    def _sides(condition: Scalar, inside: set[int]) -> tuple[Scalar, Scalar] | None:
        """The inner and the outer side of an equality between the two."""
        if not isinstance(condition, Compare) or condition.operator != "=":
            return None
        for inner, outer in ((condition.left, condition.right), (condition.right, condition.left)):
            here = {attribute.id for attribute in attributes_in(inner)}
            there = {attribute.id for attribute in attributes_in(outer)}
            if here and here <= inside and not there & inside:
                return inner, outer
        return None

    def _pulled(self, plan: Operator, node: exp.Expr) -> PulledUp:
        pulled = _pull(plan, _free(plan))
        if _free(pulled.plan):
            hint = (
                "a subquery may read columns of the query around it in WHERE and in conditions of inner joins"
            )
            raise self.context.text.unsupported("a subquery that is correlated so", node, hint)
        return pulled


def _pull(plan: Operator, free: frozenset[int]) -> PulledUp:
    """The plan without the conditions that read attributes from around, as far as they can be taken out of it."""
    if not free:
        return PulledUp(plan, (), plan.attributes)
    match plan:
        case Select():
            below = _pull(plan.input, free)
            meaning = _meaning(plan.input, below)
            all_conditions = [substitute(each, meaning) for each in conjuncts(plan.condition)]
            own = tuple(each for each in all_conditions if not _mentions(each, free))
            around = tuple(each for each in all_conditions if _mentions(each, free))
            inner = Select(below.plan, conjunction(own), plan.place) if own else below.plan
            return PulledUp(inner, (*below.conditions, *around), below.outputs)
        case Project():
            below = _pull(plan.input, free)
            meaning = _meaning(plan.input, below)
            outputs = tuple(substitute(each.expression, meaning) for each in plan.columns)
            return PulledUp(below.plan, below.conditions, outputs)
        case ThetaJoin(kind="inner"):
            left, right = _pull(plan.left, free), _pull(plan.right, free)
            meaning = _meaning(plan.left, left) | _meaning(plan.right, right)
            all_conditions = [substitute(each, meaning) for each in conjuncts(plan.condition)]
            own = tuple(each for each in all_conditions if not _mentions(each, free))
            around = tuple(each for each in all_conditions if _mentions(each, free))
            joined = replace(plan, left=left.plan, right=right.plan, condition=_condition(own))
            conditions = (*left.conditions, *right.conditions, *around)
            return PulledUp(joined, conditions, (*left.outputs, *right.outputs))
        case ThetaJoin(kind="semi" | "anti"):
            left = _pull(plan.left, free)
            meaning = _meaning(plan.left, left)
            condition = None if plan.condition is None else substitute(plan.condition, meaning)
            return PulledUp(replace(plan, left=left.plan, condition=condition), left.conditions, left.outputs)
        case _:
            return PulledUp(plan, (), plan.attributes)


def _meaning(plan: Operator, pulled: PulledUp) -> dict[int, Scalar]:
    return {old.id: new for old, new in zip(plan.attributes, pulled.outputs, strict=True)}


def _mentions(scalar: Scalar, free: frozenset[int]) -> bool:
    return any(attribute.id in free for attribute in attributes_in(scalar))


def _condition(conditions: tuple[Scalar, ...]) -> Scalar | None:
    return conjunction(conditions) if conditions else None


def _free(plan: Operator) -> frozenset[int]:
    """The attributes that a plan reads and nothing in it makes."""
    made = {attribute.id for each in walk(plan) for attribute in each.attributes}
    read = {
        attribute.id
        for each in walk(plan)
        for scalar in scalars_of(each)
        for attribute in attributes_in(scalar)
    }
    return frozenset(read - made)


def _reads_around(plan: Project) -> bool:
    made = {attribute.id for attribute in plan.input.attributes}
    return any(
        attribute.id not in made for each in plan.columns for attribute in attributes_in(each.expression)
    )


def _without_columns(plan: Operator) -> Operator:
    """What has rows exactly if a plan has: what SELECT computes of them does not matter to EXISTS."""
    while isinstance(plan, Project):
        plan = plan.input
    return plan


def _rows(plan: Operator) -> int | None:
    """1: a plan has exactly one row; 0: at most one; `None`: there may be more."""
    match plan:
        case GroupBy(keys=()):
            return 1
        case Inline(rows=rows) if len(rows) <= 1:
            return len(rows)
        case Project():
            return _rows(plan.input)
        case Select():
            return None if _rows(plan.input) is None else 0
        case TopK(limit=Value(value=limit)) if limit in (0, 1):
            return 0
        case TopK():
            return None if _rows(plan.input) is None else 0
        case ThetaJoin(kind="inner" | "left"):
            sides = (_rows(plan.left), _rows(plan.right))
            return None if None in sides else (1 if sides == (1, 1) and plan.condition is None else 0)
        case _:
            return None
