"""A plan to a tree of incremental operators: what has no state is one block each, what nothing reads is left out.

Only what the sketch depends on is maintained. Columns that no condition, key or order reads are dropped. A group-by,
DISTINCT or order without a limit from which every row reaches the answer is dropped too: whatever its groups are, the
answer rests on the fragments of all its input. (So most of TPC-H's queries have no state but the counts of μ.)

IN and EXISTS are joins with the distinct keys of the other side. A join over a union is a union of joins. What cannot
be maintained is refused with the code `not-maintained`: such a sketch is captured anew when its tables change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

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
    Cast,
    Scalar,
    Value,
    conjunction,
    conjuncts,
    walk_scalar,
)
from headwater.sketch.average_bounds import with_average_bounds
from headwater.sketch.integer_averages import BOUNDS
from headwater.sketch.maintain.aggregates import (
    GroupAggregate,
    GroupCount,
    GroupSum,
    OfDistinct,
    OtherAverage,
)
from headwater.sketch.maintain.block_delta import BlockDelta
from headwater.sketch.maintain.coding import CodedColumn
from headwater.sketch.maintain.columnwise import Columnwise, compile_scalar
from headwater.sketch.maintain.database_averages import AverageRule, DuckdbIntegerAverages, unknown_here
from headwater.sketch.maintain.extremes import Extreme
from headwater.sketch.maintain.group_by import GroupByDelta
from headwater.sketch.maintain.groups import AggregateColumn, GroupKey, Groups
from headwater.sketch.maintain.join import JoinDelta
from headwater.sketch.maintain.maintained_forms import below_union, key_pair, read_by, refused, semi_as_inner
from headwater.sketch.maintain.numbering import FragmentNumbers
from headwater.sketch.maintain.operator import Incremental
from headwater.sketch.maintain.stateless import ProjectionDelta, SelectionDelta, UnionDelta
from headwater.sketch.maintain.stateless_block import StatelessBlock, is_stateless
from headwater.sketch.maintain.switches import Switches
from headwater.sketch.maintain.table_access import FreshIds
from headwater.sketch.maintain.top_k import SortColumn, TopKDelta
from headwater.sketch.own_averages import has_own_averages, own_average, table_columns
from headwater.values.codec import Codec

NOTHING = -1
"""What `count(*)` reads."""


def compile_plan(
    plan: Operator, numbers: FragmentNumbers, switches: Switches | None = None, dialect: str = "spark"
) -> Incremental:
    """The incremental operators of a plan over tables of a system of that dialect, without state as yet."""
    plan = with_average_bounds(plan, dialect)
    fresh = FreshIds(_beyond(plan))
    compiler = _PlanCompiler(numbers, switches or Switches(), Codec(), fresh, dialect, table_columns(plan))
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
    columns: frozenset[int]
    """The attributes that are columns of tables."""
    own: set[int] = field(default_factory=set)
    """Those that are averages as the database rounds them, or made of some: their values are of the database's type,
    not of the attribute's, so that they can be compared and no more."""

    def needing(self, plan: Operator, wanted: frozenset[int], *, all_pass: bool = False) -> Incremental:
        """The operators for some columns of a plan. `all_pass`: every row of it reaches the answer."""
        if is_stateless(plan):
            return BlockDelta(StatelessBlock(plan), sorted(wanted), self.numbers, self.fresh, self.switches)
        match plan:
            case Select(input=input, condition=condition):
                below = self.needing(input, wanted | read_by(condition))
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
        read = read_by(*(each.expression for each in used))
        below = self.needing(input, read, all_pass=all_pass)
        made = {each.attribute.id: self._scalar(each.expression) for each in used}
        self.own |= {each.attribute.id for each in used if read_by(each.expression) & self.own}
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
            self._refuse_own(theirs.values(), "a union of")
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
        made: list[AggregateColumn] = []
        for each in used:
            other = self._other_average(each, used[: len(made)], made)
            if other is not None:
                made.append(other)
                continue
            argument = each.call.argument
            input_id = NOTHING if argument is None else input_of(argument)
            made.append(AggregateColumn(each.attribute.id, input_id, self._aggregate(each, aggregates)))
        name = f"groups by {', '.join(key.attribute.name for key in keys) or 'nothing'}"
        inputs = frozenset(each.attribute.id for each in columns)
        below = self.needing(Project(input, tuple(columns)), inputs)
        self._refuse_own(inputs, "groups of")
        return GroupByDelta(below, Groups(grouped, made, name))

    def _aggregate(self, item: NamedAggregate, beside: Sequence[NamedAggregate]) -> GroupAggregate | None:
        call, name = item.call, item.attribute.name
        if call.argument is None:
            return None
        argument = type_of(call.argument)
        match call.function:
            case "min" | "max":
                return Extreme(call.function, self.switches.buffer)
            case "count":
                return OfDistinct(self.codec, argument, name, GroupCount()) if call.distinct else GroupCount()
            case _:
                summed = GroupSum(self.codec, call.function, argument, name, self._averages(item, beside))
                return OfDistinct(self.codec, argument, name, summed) if call.distinct else summed

    def _other_average(
        self, item: NamedAggregate, earlier: Sequence[NamedAggregate], made: Sequence[AggregateColumn]
    ) -> AggregateColumn | None:
        """The second of two bounds of an average, by the sums of the first."""
        for other, column in zip(earlier, made, strict=True):
            is_same = replace(other.call, function=item.call.function) == item.call
            if item.call.function in BOUNDS and other.call.function in BOUNDS and is_same:
                state = column.state.inner if isinstance(column.state, OfDistinct) else column.state
                assert isinstance(state, GroupSum)
                rule = DuckdbIntegerAverages(item.call.function)
                return AggregateColumn(item.attribute.id, column.input, OtherAverage(state, rule))
        return None

    def _averages(self, item: NamedAggregate, beside: Sequence[NamedAggregate]) -> AverageRule | None:
        """How the database rounds an average, if it does so in a way of its own."""
        if not item.call.function.endswith("avg") or not has_own_averages(item.call, self.dialect):
            return None
        rule = own_average(item.call, self.dialect, self.columns, beside)
        if rule is None:
            raise unknown_here(f"only the database knows how it rounds {item.attribute.name}, an average")
        if not isinstance(rule, DuckdbIntegerAverages):  # whose values are floats, as the attribute's are
            self.own.add(item.attribute.id)
        return rule

    def _refuse_own(self, read: Iterable[int], what: str) -> None:
        """Refuse what reads the database's own averages and does more than to compare them."""
        if self.own.intersection(read):
            raise unknown_here(f"{what} averages that the database rounds in its own way")

    def _top_k(self, plan: algebra.TopK, wanted: frozenset[int], all_pass: bool) -> Incremental:
        if plan.limit is None and plan.offset is None:
            return self.needing(plan.input, wanted, all_pass=all_pass)
        if plan.limit is None:  # rows are skipped, and all others kept: the answer rests on all of them
            return self.needing(plan.input, wanted, all_pass=all_pass)
        bounds = [bound for bound in (plan.limit, plan.offset) if bound is not None]
        if not all(isinstance(bound, Value) and isinstance(bound.value, int) for bound in bounds):
            raise refused(plan, "a limit that is not known yet is not maintained")
        first = sum(int(bound.value) for bound in bounds if isinstance(bound, Value))  # type: ignore[call-overload]
        read = wanted | read_by(*(key.expression for key in plan.order))
        order = [
            SortColumn(self._scalar(key.expression), key.descending, key.nulls_first) for key in plan.order
        ]
        input = self.needing(plan.input, read)
        self._refuse_own(read, "a limit over")
        return TopKDelta(input, order, first, sorted(wanted), self.switches.buffer, f"the first {first} rows")

    def _join(self, plan: ThetaJoin, wanted: frozenset[int]) -> Incremental:
        if plan.kind == "semi":
            return self._join(semi_as_inner(plan, self.fresh), wanted)
        if plan.kind != "inner":
            raise refused(plan, f"a join of kind {plan.kind} is not maintained")
        for side in ("left", "right"):
            if isinstance(getattr(plan, side), UnionAll):
                return self.needing(below_union(plan, side), wanted)
        left_ids = {each.id for each in plan.left.attributes}
        found = [(each, key_pair(each, left_ids)) for each in conjuncts(plan.condition)]
        keys = [pair for _, pair in found if pair is not None]
        others = tuple(each for each, pair in found if pair is None)
        rest = conjunction(others) if others else None
        read = wanted | read_by(*conjuncts(plan.condition))
        left = self.needing(plan.left, frozenset(id for id in read if id in left_ids))
        right = self.needing(plan.right, frozenset(id for id in read if id not in left_ids))
        self._refuse_own(read, "a join with")
        condition = None if rest is None else self._scalar(rest)
        return JoinDelta(left, right, keys, condition)

    def _scalar(self, scalar: Scalar) -> Columnwise:
        for part in walk_scalar(scalar) if self.own else ():
            if isinstance(part, Cast):
                self._refuse_own(read_by(part), "a cast of")
        compiled = compile_scalar(scalar)
        if compiled is None:
            raise SketchError(
                "not-maintained",
                "an expression above a group-by or a limit is one that only the backend can compute",
                place=getattr(scalar, "place", None),
                hint="the sketch is captured anew when its tables change",
            )
        return compiled
