"""Conditions at the lowest place where they mean the same: of WHERE over joins to the joins and their sides.

`FROM r, s WHERE r.a = s.a AND r.b > 3` becomes a join on `r.a = s.a` over a selection of `r`. A condition goes below
inner joins on either side, below semi and anti joins on the left, to the side of an outer join whose rows are all
kept, below projections, and below groups when it reads keys only. What all sides of an OR say is said once, beside
it. Nothing else moves: answers stay the same.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.errors import Place
from headwater.language.sql.algebra import (
    GroupBy,
    Operator,
    Project,
    Select,
    ThetaJoin,
    children,
    with_children,
)
from headwater.language.sql.scalars import Or, Scalar, attributes_in, conjunction, conjuncts, substitute


def push_conditions(plan: Operator) -> Operator:
    """The plan with each condition of a selection as low as it can be."""
    if isinstance(plan, Select):
        return _pushed(plan.input, _split(plan.condition), plan.place)
    return with_children(plan, tuple(map(push_conditions, children(plan))))


def _pushed(plan: Operator, conditions: tuple[Scalar, ...], place: Place | None) -> Operator:
    """The rows of a plan that fulfil some conditions."""
    if not conditions:
        return push_conditions(plan)
    match plan:
        case Select():
            return _pushed(plan.input, (*_split(plan.condition), *conditions), place or plan.place)
        case Project():
            meaning = {column.attribute.id: column.expression for column in plan.columns}
            below = tuple(substitute(each, meaning) for each in conditions)
            return replace(plan, input=_pushed(plan.input, below, place))
        case GroupBy() if plan.keys:
            keys = {key.attribute.id: key.expression for key in plan.keys}
            low = tuple(each for each in conditions if _reads(each) <= keys.keys())
            below = tuple(substitute(each, keys) for each in low)
            grouped = replace(plan, input=_pushed(plan.input, below, place))
            return _selected(grouped, _without(conditions, low), place)
        case ThetaJoin():
            return _pushed_join(plan, conditions, place)
        case _:
            return _selected(push_conditions(plan), conditions, place)


def _pushed_join(plan: ThetaJoin, conditions: tuple[Scalar, ...], place: Place | None) -> Operator:
    left_ids = {attribute.id for attribute in plan.left.attributes}
    right_ids = {attribute.id for attribute in plan.right.attributes}
    left: tuple[Scalar, ...] = ()
    right: tuple[Scalar, ...] = ()
    if plan.kind in ("inner", "left", "semi", "anti"):
        left = tuple(each for each in conditions if _reads(each) <= left_ids)
    if plan.kind in ("inner", "right"):
        right = tuple(each for each in conditions if _reads(each) <= right_ids and each not in left)
    rest = _without(conditions, (*left, *right))
    joined = replace(plan, left=_pushed(plan.left, left, place), right=_pushed(plan.right, right, place))
    if plan.kind != "inner":
        return _selected(joined, rest, place)
    both = (*conjuncts(plan.condition), *rest)
    return replace(joined, condition=conjunction(both, place) if both else None)


def _selected(plan: Operator, conditions: tuple[Scalar, ...], place: Place | None) -> Operator:
    return Select(plan, conjunction(conditions, place), place) if conditions else plan


def _split(condition: Scalar) -> tuple[Scalar, ...]:
    """The conditions that a condition says at once, those that all sides of an OR share among them."""
    return tuple(part for each in conjuncts(condition) for part in _shared(each))


def _shared(condition: Scalar) -> tuple[Scalar, ...]:
    if not isinstance(condition, Or):
        return (condition,)
    sides = [conjuncts(part) for part in condition.parts]
    common = tuple(each for each in sides[0] if all(each in side for side in sides[1:]))
    rest = tuple(_without(side, common) for side in sides)
    if not common or not all(rest):
        return common or (condition,)
    return (*common, Or(tuple(conjunction(each) for each in rest), condition.place))


def _reads(scalar: Scalar) -> set[int]:
    return {attribute.id for attribute in attributes_in(scalar)}


def _without(conditions: tuple[Scalar, ...], taken: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    return tuple(each for each in conditions if each not in taken)
