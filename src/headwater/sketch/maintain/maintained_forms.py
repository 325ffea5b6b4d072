"""Plans in the forms in which they are maintained: a semi join as a join with distinct keys, a join over a union as a
union of joins, an equality as a pair of columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headwater.errors import SketchError
from headwater.language.sql.algebra import Distinct, Named, Operator, Project, Select, ThetaJoin, UnionAll
from headwater.language.sql.scalars import (
    Attribute,
    Compare,
    Scalar,
    attributes_in,
    conjunction,
    conjuncts,
    substitute,
)
from headwater.sketch.maintain.table_access import FreshIds


def read_by(*scalars: Scalar) -> frozenset[int]:
    """The ids of the attributes that scalars read."""
    return frozenset(attribute.id for scalar in scalars for attribute in attributes_in(scalar))


def key_pair(condition: Scalar, left: Iterable[int]) -> tuple[int, int] | None:
    """The columns that an equality compares, that of the left side first."""
    if not isinstance(condition, Compare) or condition.operator != "=":
        return None
    one, other = condition.left, condition.right
    if not isinstance(one, Attribute) or not isinstance(other, Attribute):
        return None
    ours = set(left)
    if one.id in ours and other.id not in ours:
        return (one.id, other.id)
    return (other.id, one.id) if other.id in ours and one.id not in ours else None


def semi_as_inner(plan: ThetaJoin, fresh: FreshIds) -> ThetaJoin:
    """A semi join as a join with the distinct rows of the right side that the condition can tell apart.

    Right where at most one of them matches a row of the left: all that the condition reads of the right side, beyond
    what is about the right side alone, is equal to something of the left.
    """
    right_ids = {each.id for each in plan.right.attributes}
    own: list[Scalar] = []
    both: list[Scalar] = []
    for each in conjuncts(plan.condition):
        (own if read_by(each) <= right_ids else both).append(each)
    compared = set()
    for each in both:
        if not (isinstance(each, Compare) and each.operator == "="):
            raise refused(plan, "IN or EXISTS with a condition other than equality is not maintained")
        sides = [each.left, each.right]
        theirs = [side for side in sides if isinstance(side, Attribute) and side.id in right_ids]
        if len(theirs) != 1 or any(read_by(side) & right_ids for side in sides if side is not theirs[0]):
            raise refused(plan, "IN or EXISTS with a condition other than equality is not maintained")
        compared.add(theirs[0].id)
    source: Operator = Select(plan.right, conjunction(tuple(own))) if own else plan.right
    used = tuple(each for each in plan.right.attributes if each.id in compared)
    renamed = tuple(fresh.attribute(each.name, each.type) for each in used)
    columns = tuple(Named(new, old) for new, old in zip(renamed, used, strict=True))
    meanings = {old.id: new for new, old in zip(renamed, used, strict=True)}
    condition = substitute(conjunction(tuple(both)), dict(meanings)) if both else None
    return ThetaJoin("inner", plan.left, Distinct(Project(source, columns)), condition, plan.place)


def below_union(plan: ThetaJoin, side: str) -> UnionAll:
    """A join over a union as a union of joins."""
    union = plan.left if side == "left" else plan.right
    assert isinstance(union, UnionAll)
    joined = []
    for each in union.inputs:
        named = zip(union.attributes, each.attributes, strict=True)
        renamed = Project(each, tuple(Named(ours, theirs) for ours, theirs in named))
        joined.append(replace(plan, left=renamed) if side == "left" else replace(plan, right=renamed))
    return UnionAll(tuple(joined), plan.attributes)


def refused(plan: Operator, what: str) -> SketchError:
    """The error for a plan that is not maintained."""
    return SketchError(
        "not-maintained",
        what,
        place=getattr(plan, "place", None),
        hint="the sketch is captured anew when its tables change",
    )
