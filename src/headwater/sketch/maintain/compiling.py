"""A plan to a tree of incremental operators: what has no state is one block each, what nothing reads is left out.

Only what the sketch depends on is maintained. Columns that no condition, key or order reads are dropped. A group-by,
DISTINCT or order without a limit from which every row reaches the answer is dropped too: whatever its groups are, the
answer rests on the fragments of all its input. (So most of TPC-H's queries have no state but the counts of μ.)

IN and EXISTS are joins with the distinct keys of the other side. A join over a union is a union of joins. What cannot
be maintained is refused with the code `not-maintained`: such a sketch is captured anew when its tables change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headwater.errors import SketchError
from headwater.language.sql import algebra
from headwater.language.sql.algebra import (
    Distinct,
    Named,
    NamedAggregate,
    Operator,
    Project,
    Select,
    ThetaJoin,
    UnionAll,
    walk,
)
from headwater.language.sql.inference import type_of
from headwater.language.sql.scalars import (
    Attribute,
    Compare,
    Scalar,
    Value,
    attributes_in,
    conjunction,
    conjuncts,
    substitute,
)
from headwater.sketch.maintain.aggregates import GroupAggregate, GroupCount, GroupSum, OfDistinct
from headwater.sketch.maintain.block_delta import BlockDelta
from headwater.sketch.maintain.coding import CodedColumn
from headwater.sketch.maintain.columnwise import Columnwise, compile_scalar
from headwater.sketch.maintain.extremes import Extreme
from headwater.sketch.maintain.group_by import GroupByDelta
from headwater.sketch.maintain.groups import AggregateColumn, GroupKey, Groups
from headwater.sketch.maintain.join import JoinDelta
from headwater.sketch.maintain.numbering import FragmentNumbers
from headwater.sketch.maintain.operator import Incremental
from headwater.sketch.maintain.stateless import ProjectionDelta, SelectionDelta, UnionDelta
from headwater.sketch.maintain.stateless_block import StatelessBlock, is_stateless
from headwater.sketch.maintain.switches import Switches
from headwater.sketch.maintain.table_access import FreshIds
from headwater.sketch.maintain.top_k import SortColumn, TopKDelta
from headwater.sketch.own_averages import has_own_averages
from headwater.values.codec import Codec

NOTHING = -1
"""What `count(*)` reads."""


def compile_plan(
    plan: Operator, numbers: FragmentNumbers, switches: Switches | None = None, dialect: str = "spark"
) -> Incremental:
    """The incremental operators of a plan over tables of a system of that dialect, without state as yet."""
    compiler = _PlanCompiler(numbers, switches or Switches(), Codec(), FreshIds(_beyond(plan)), dialect)
    return compiler.needing(plan, frozenset(), all_pass=True)


def _beyond(plan: Operator) -> int:
    """A number above all ids of a plan."""
    return 1 + max((attribute.id for operator in walk(plan) for attribute in operator.attributes), default=0)


@dataclass
class _PlanCompiler:
    numbers: FragmentNumbers
    switches: Switches
    codec: Codec
    fresh: FreshIds
    dialect: str

    def needing(self, plan: Operator, wanted: frozenset[int], *, all_pass: bool = False) -> Incremental:
        """The operators for some columns of a plan. `all_pass`: every row of it reaches the answer."""
        if is_stateless(plan):
            return BlockDelta(StatelessBlock(plan), sorted(wanted), self.numbers, self.fresh, self.switches)
        match plan:
            case Select(input=input, condition=condition):
                below = self.needing(input, wanted | _read(condition))
                return SelectionDelta(below, self._scalar(condition))
            case Project(input=input, columns=columns):
                return self._project(input, columns, wanted, all_pass)
            case ThetaJoin():
                return self._join(plan, wanted)
            case UnionAll():
                return self._union(plan, wanted, all_pass)
            case Distinct(input=input):
                if all_pass:
                    return self.needing(input, frozenset(), all_pass=True)
                keys = tuple(Named(each, each) for each in input.attributes)
                return self._group_by(input, keys, (), wanted)
            case algebra.GroupBy(input=input, keys=keys, aggregates=aggregates):
                if all_pass:
                    return self.needing(input, frozenset(), all_pass=True)
                return self._group_by(input, keys, aggregates, wanted)
            case algebra.TopK():
                return self._top_k(plan, wanted, all_pass)
            case _:
                raise refused(plan, f"{type(plan).__name__} is not maintained")

    # ------------------------------------------------------------------ by operator

    def _project(
        self, input: Operator, columns: Sequence[Named], wanted: frozenset[int], all_pass: bool
    ) -> Incremental:
        used = [each for each in columns if each.attribute.id in wanted]
        read = _read(*(each.expression for each in used))
        below = self.needing(input, read, all_pass=all_pass)
        made = {each.attribute.id: self._scalar(each.expression) for each in used}
        passed = {
            each.attribute.id: each.expression.id for each in used if isinstance(each.expression, Attribute)
        }
        return ProjectionDelta(below, made, passed) if used else below

    def _union(self, plan: UnionAll, wanted: frozenset[int], all_pass: bool) -> Incremental:
        inputs, names = [], []
        places = [place for place, each in enumerate(plan.attributes) if each.id in wanted]
        for each in plan.inputs:
            theirs = {plan.attributes[place].id: each.attributes[place].id for place in places}
            inputs.append(self.needing(each, frozenset(theirs.values()), all_pass=all_pass))
            names.append(theirs)
        return UnionDelta(inputs, names)

    def _group_by(
        self,
        input: Operator,
        keys: Sequence[Named],
        aggregates: Sequence[NamedAggregate],
        wanted: frozenset[int],
    ) -> Incremental:
        """Keys and arguments are columns of a projection, so that a block below computes them, here or in its
        backend."""
        used = [each for each in aggregates if each.attribute.id in wanted]
        columns: list[Named] = []

        def input_of(scalar: Scalar) -> int:
            made = Named(self.fresh.attribute(f"_input_{len(columns)}", type_of(scalar)), scalar)
            columns.append(made)
            return made.attribute.id

        grouped = [
            GroupKey(
                key.attribute.id,
                input_of(key.expression),
                CodedColumn(self.codec, key.attribute.name, type_of(key.expression)),
                read=key.attribute.id in wanted,
            )
            for key in keys
        ]
        made = [
            AggregateColumn(
                each.attribute.id,
                NOTHING if each.call.argument is None else input_of(each.call.argument),
                self._aggregate(each),
            )
            for each in used
        ]
        name = f"groups by {', '.join(key.attribute.name for key in keys) or 'nothing'}"
        below = self.needing(Project(input, tuple(columns)), frozenset(each.attribute.id for each in columns))
        return GroupByDelta(below, Groups(grouped, made, name))

    def _aggregate(self, item: NamedAggregate) -> GroupAggregate | None:
        call, name = item.call, item.attribute.name
        if call.argument is None:
            return None
        argument = type_of(call.argument)
        match call.function:
            case "min" | "max":
                return Extreme(call.function, self.switches.buffer)
            case "count":
                return OfDistinct(self.codec, argument, name, GroupCount()) if call.distinct else GroupCount()
            case "avg" if has_own_averages(call, self.dialect):
                raise SketchError(
                    "not-maintained",
                    f"only the database knows how it rounds {name}, an average",
                    hint="the sketch is captured anew when its tables change",
                )
            case _:
                summed = GroupSum(self.codec, call.function, argument, name)
                return OfDistinct(self.codec, argument, name, summed) if call.distinct else summed

    def _top_k(self, plan: algebra.TopK, wanted: frozenset[int], all_pass: bool) -> Incremental:
        if plan.limit is None and plan.offset is None:
            return self.needing(plan.input, wanted, all_pass=all_pass)
        if plan.limit is None:  # rows are skipped, and all others kept: the answer rests on all of them
            return self.needing(plan.input, wanted, all_pass=all_pass)
        bounds = [bound for bound in (plan.limit, plan.offset) if bound is not None]
        if not all(isinstance(bound, Value) and isinstance(bound.value, int) for bound in bounds):
            raise refused(plan, "a limit that is not known yet is not maintained")
        first = sum(int(bound.value) for bound in bounds if isinstance(bound, Value))  # type: ignore[call-overload]
        read = wanted | _read(*(key.expression for key in plan.order))
        order = [
            SortColumn(self._scalar(key.expression), key.descending, key.nulls_first) for key in plan.order
        ]
        input = self.needing(plan.input, read)
        return TopKDelta(input, order, first, sorted(wanted), self.switches.buffer, f"the first {first} rows")

    def _join(self, plan: ThetaJoin, wanted: frozenset[int]) -> Incremental:
        if plan.kind == "semi":
            return self._join(_semi_as_inner(plan, self.fresh), wanted)
        if plan.kind != "inner":
            raise refused(plan, f"a join of kind {plan.kind} is not maintained")
        for side in ("left", "right"):
            if isinstance(getattr(plan, side), UnionAll):
                return self.needing(_below_union(plan, side), wanted)
        left_ids = {each.id for each in plan.left.attributes}
        found = [(each, _key_pair(each, left_ids)) for each in conjuncts(plan.condition)]
        keys = [pair for _, pair in found if pair is not None]
        others = tuple(each for each, pair in found if pair is None)
        rest = conjunction(others) if others else None
        read = wanted | _read(*conjuncts(plan.condition))
        left = self.needing(plan.left, frozenset(id for id in read if id in left_ids))
        right = self.needing(plan.right, frozenset(id for id in read if id not in left_ids))
        condition = None if rest is None else self._scalar(rest)
        return JoinDelta(left, right, keys, condition)

    def _scalar(self, scalar: Scalar) -> Columnwise:
        compiled = compile_scalar(scalar)
        if compiled is None:
            raise SketchError(
                "not-maintained",
                "an expression above a group-by or a limit is one that only the backend can compute",
                place=getattr(scalar, "place", None),
                hint="the sketch is captured anew when its tables change",
            )
        return compiled


# ------------------------------------------------------------------ plans


def _read(*scalars: Scalar) -> frozenset[int]:
    return frozenset(attribute.id for scalar in scalars for attribute in attributes_in(scalar))


def _key_pair(condition: Scalar, left: Iterable[int]) -> tuple[int, int] | None:
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


def _semi_as_inner(plan: ThetaJoin, fresh: FreshIds) -> ThetaJoin:
    """A semi join as a join with the distinct rows of the right side that the condition can tell apart.

    Right where at most one of them matches a row of the left: all that the condition reads of the right side, beyond
    what is about the right side alone, is equal to something of the left.
    """
    right_ids = {each.id for each in plan.right.attributes}
    own: list[Scalar] = []
    both: list[Scalar] = []
    for each in conjuncts(plan.condition):
        (own if _read(each) <= right_ids else both).append(each)
    compared = set()
    for each in both:
        if not (isinstance(each, Compare) and each.operator == "="):
            raise refused(plan, "IN or EXISTS with a condition other than equality is not maintained")
        sides = [each.left, each.right]
        theirs = [side for side in sides if isinstance(side, Attribute) and side.id in right_ids]
        if len(theirs) != 1 or any(_read(side) & right_ids for side in sides if side is not theirs[0]):
            raise refused(plan, "IN or EXISTS with a condition other than equality is not maintained")
        compared.add(theirs[0].id)
    source: Operator = Select(plan.right, conjunction(tuple(own))) if own else plan.right
    used = tuple(each for each in plan.right.attributes if each.id in compared)
    renamed = tuple(fresh.attribute(each.name, each.type) for each in used)
    columns = tuple(Named(new, old) for new, old in zip(renamed, used, strict=True))
    meanings = {old.id: new for new, old in zip(renamed, used, strict=True)}
    condition = substitute(conjunction(tuple(both)), dict(meanings)) if both else None
    return ThetaJoin("inner", plan.left, Distinct(Project(source, columns)), condition, plan.place)


def _below_union(plan: ThetaJoin, side: str) -> UnionAll:
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
