"""Inner joins in an order in which each next side is tied to those before it, where the conditions allow one.

`FROM part, supplier, lineitem` with conditions between lineitem and each of the others is a product of part and
supplier first, if joins are left as they are written. Sides keep the order of the text otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.language.sql.algebra import Operator, ThetaJoin, children, with_children
from headwater.language.sql.scalars import Scalar, attributes_in, conjunction, conjuncts


def connect_joins(plan: Operator) -> Operator:
    """The plan with the sides of inner joins ordered so that products come last."""
    if not isinstance(plan, ThetaJoin) or plan.kind != "inner":
        return with_children(plan, tuple(map(connect_joins, children(plan))))
    sides, conditions = _flat(plan)
    return _chained(plan, [connect_joins(side) for side in sides], conditions)


def _flat(plan: Operator) -> tuple[list[Operator], list[Scalar]]:
    """The sides of a tree of inner joins, and all of their conditions."""
    if not isinstance(plan, ThetaJoin) or plan.kind != "inner":
        return [plan], []
    left, above = _flat(plan.left)
    right, more = _flat(plan.right)
    return [*left, *right], [*above, *more, *conjuncts(plan.condition)]


def _chained(plan: ThetaJoin, sides: list[Operator], conditions: list[Scalar]) -> Operator:
    joined = sides.pop(0)
    seen = _ids(joined)
    while sides:
        at = next((at for at, side in enumerate(sides) if _tied(seen, _ids(side), conditions)), 0)
        side = sides.pop(at)
        seen |= _ids(side)
        now = [each for each in conditions if _reads(each) <= seen]
        conditions = [each for each in conditions if each not in now]
        condition = conjunction(tuple(now), plan.place) if now else None
        joined = replace(plan, left=joined, right=side, condition=condition)
    return joined


def _tied(seen: set[int], side: set[int], conditions: list[Scalar]) -> bool:
    """Whether a condition is between what was joined so far and a side."""
    reads = [_reads(each) for each in conditions]
    return any(each & seen and each & side and each <= seen | side for each in reads)


def _ids(plan: Operator) -> set[int]:
    return {attribute.id for attribute in plan.attributes}


def _reads(scalar: Scalar) -> set[int]:
    return {attribute.id for attribute in attributes_in(scalar)}
