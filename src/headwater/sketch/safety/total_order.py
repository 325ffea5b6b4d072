"""Limits whose order leaves ties open, with the ties broken.

`GROUP BY g ORDER BY sum(x) DESC LIMIT 10` does not say which of two groups with the same sum is kept. Any choice is
an answer; one that goes by the keys of the groups is the same over the sketched data as over all data, so it is the
one that is captured and used. A row of a `GroupBy` is known by its keys, a row of a `Distinct` by all of its columns.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.language.sql.algebra import (
    Distinct,
    GroupBy,
    Operator,
    Project,
    Select,
    SortKey,
    ThetaJoin,
    TopK,
    transform,
)
from headwater.language.sql.scalars import Attribute, substitute


def with_total_orders(plan: Operator) -> Operator:
    """The plan with further sort keys in limits where a row is known by some of its columns."""
    return transform(plan, lambda operator: _total(operator) if isinstance(operator, TopK) else operator)


def _total(plan: TopK) -> Operator:
    if plan.limit is None or not plan.order:
        return plan
    identity = identity_of(plan.input)
    if identity is not None:
        ordered = {key.expression for key in plan.order}
        more = tuple(SortKey(each, place=plan.place) for each in identity if each not in ordered)
        return replace(plan, order=(*plan.order, *more))
    if isinstance(plan.input, Project) and identity_of(plan.input.input) is not None:
        meaning = {column.attribute.id: column.expression for column in plan.input.columns}
        order = tuple(replace(key, expression=substitute(key.expression, meaning)) for key in plan.order)
        below = _total(replace(plan, input=plan.input.input, order=order))
        return replace(plan.input, input=below)
    return plan


def identity_of(plan: Operator) -> tuple[Attribute, ...] | None:
    """Columns that no two rows of a plan have in common; `None` where none are known."""
    match plan:
        case GroupBy(keys=keys):
            return tuple(key.attribute for key in keys)
        case Distinct(attributes=attributes):
            return attributes
        case Select() | TopK():
            return identity_of(plan.input)
        case ThetaJoin(kind="semi" | "anti"):
            return identity_of(plan.left)
        case Project(columns=columns):
            below = identity_of(plan.input)
            if below is None:
                return None
            shown = {column.expression: column.attribute for column in columns}
            found = [shown.get(each) for each in below]
            return tuple(each for each in found if each is not None) if None not in found else None
        case _:
            return None
