"""Capture: the plan that gives a query's own answer and, beside each row, the fragments it rests on.

Every access that is to be sketched gets a column with the fragment of its row. What comes after carries such
columns along: a join has those of both sides, a union fills up with NULL. A group collects them into a *set*;
later groups unite sets. At the root each row of the answer has its columns and, in further ones (`Carried`),
numbers or sets of fragments; all of them together are the accurate sketch (section 4.4), or, below a semi join
on something other than equality, more than it.

A group is computed in two steps where its aggregates allow it, first by key *and* fragment, then by key: so sets
are made of few pairs, not of all rows. (Measured on Spark: pairs 0.94 s, sets of rows 3.1 s, the plain query
0.65 s.)

Not captured, with the code `no-capture`: EXCEPT ALL and INTERSECT ALL, and windows, which are left to `safety`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from headwater.errors import SketchError
from headwater.language.sql.algebra import (
    AggregateCall,
    Distinct,
    Except,
    GroupBy,
    Inline,
    Intersect,
    Named,
    NamedAggregate,
    Operator,
    Project,
    Scan,
    Select,
    ThetaJoin,
    TopK,
    UnionAll,
    Window,
    walk,
)
from headwater.language.sql.inference import type_of
from headwater.language.sql.scalars import (
    NULL,
    Attribute,
    Cast,
    Compare,
    Function,
    Scalar,
    Value,
    attributes_in,
    conjunction,
    conjuncts,
)
from headwater.sketch.integer_averages import BOUNDS, bound_scalar
from headwater.sketch.own_averages import averages_of, deciding, has_own_averages
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot
from headwater.sketch.summed_types import has_own_sums, read_by_type
from headwater.sketch.tables.backend import fragment_column
from headwater.values.decimal_types import sum_type
from headwater.values.types import FLOAT, INT, Type, decimal_of, list_of

Accesses = Mapping[int, tuple[Ranges, ...]]
"""The accesses that are sketched, by their numbers, and by which attributes."""
SET = list_of(INT)
COUNT = decimal_of(20, 0)
"""What Spark divides sums of decimals by."""
MOST_DIGITS_DIVIDED = 15
"""Up to so many digits of decimals, Spark's quotient of a sum and a count has 9 digits more than the average: rounded
to the average's digits it is the average, of up to 10^9 rows."""


@dataclass(frozen=True)
class Carried:
    """A column that says on which fragments a row rests: a number, or a set of numbers. NULL: on none."""

    slot: Slot
    attribute: Attribute
    is_set: bool


@dataclass(frozen=True)
class CapturePlan:
    """A plan whose first columns are the query's own, and whose others are `carried`."""

    plan: Operator
    carried: tuple[Carried, ...]


def capture_plan(
    plan: Operator, accesses: Accesses, dialect: str = "spark", *, answers: bool = True
) -> CapturePlan:
    """The instrumented plan of a query, for a system of that dialect. If it is not run for `answers`, averages that
    are shown and no more need not be rounded as the query's are."""
    shown_only = frozenset() if answers else averages_of(plan) - deciding(plan)
    found = _Capture(plan, accesses, dialect, shown_only).annotated(plan)
    columns = (*plan.attributes, *(one.attribute for one in found.carried))
    if found.plan.attributes == columns:
        return found
    return replace(found, plan=Project(found.plan, tuple(Named(each, each) for each in columns)))


class _Capture:
    """Instruments the operators of one plan."""

    def __init__(self, plan: Operator, accesses: Accesses, dialect: str, shown_only: frozenset[int]):
        self.accesses = accesses
        self.dialect = dialect
        self.shown_only = shown_only
        self.read_by_type = read_by_type(plan)
        ids = (each.id for operator in walk(plan) for each in operator.attributes)
        self._ids = itertools.count(max(ids, default=0) + 1)

    def annotated(self, plan: Operator) -> CapturePlan:
        match plan:
            case Scan():
                return self._scan(plan)
            case Inline():
                return CapturePlan(plan, ())
            case Select() | TopK():
                below = self.annotated(plan.input)
                return CapturePlan(replace(plan, input=below.plan), below.carried)
            case Project():
                below = self.annotated(plan.input)
                passed = tuple(Named(one.attribute, one.attribute) for one in below.carried)
                return CapturePlan(Project(below.plan, (*plan.columns, *passed), plan.place), below.carried)
            case ThetaJoin(kind="semi" | "anti"):
                return self._semi_join(plan)
            case ThetaJoin():
                left, right = self.annotated(plan.left), self.annotated(plan.right)
                joined = replace(plan, left=left.plan, right=right.plan)
                return CapturePlan(joined, left.carried + right.carried)
            case UnionAll():
                return self._union(plan)
            case Distinct():
                return self._collected(self.annotated(plan.input), plan.attributes)
            case GroupBy():
                return self._group(plan)
            case Except() | Intersect():
                return self._set_operation(plan)
            case Window():
                return self._without(plan, "a window function")

    def _new(self, name: str, type_: Type | None) -> Attribute:
        return Attribute(next(self._ids), name, type_)

    def _without(self, plan: Operator, what: str) -> CapturePlan:
        """The plan as it is, which must not have accesses that are sketched."""
        if any(isinstance(each, Scan) and each.access in self.accesses for each in walk(plan)):
            raise SketchError(
                "no-capture",
                f"no sketch is captured below {what}",
                place=plan.place,
                hint="sketch other tables only",
            )
        return CapturePlan(plan, ())

    def _scan(self, plan: Scan) -> CapturePlan:
        slots = [Slot(plan.table, ranges.attribute) for ranges in self.accesses.get(plan.access, ())]
        carried = tuple(Carried(slot, self._new(fragment_column(slot), INT), is_set=False) for slot in slots)
        attributes = (*plan.attributes, *(one.attribute for one in carried))
        return CapturePlan(replace(plan, attributes=attributes), carried)

    def _union(self, plan: UnionAll) -> CapturePlan:
        """All carried columns of one slot become one: numbers if each input has at most one number, else sets."""
        inputs = [self.annotated(each) for each in plan.inputs]
        carried = []
        cells: list[list[Scalar]] = [[] for _ in inputs]
        for slot in sorted({one.slot for each in inputs for one in each.carried}):
            of_slot = [[one for one in each.carried if one.slot == slot] for each in inputs]
            for column in itertools.zip_longest(*of_slot):
                is_set = any(one is not None and one.is_set for one in column)
                name = fragment_column(slot)
                carried.append(Carried(slot, self._new(name, SET if is_set else INT), is_set))
                for row, one in zip(cells, column, strict=True):
                    row.append(_cell(one, is_set))
        filled = tuple(
            _project(each.plan, input_.attributes, carried, row)
            for each, input_, row in zip(inputs, plan.inputs, cells, strict=True)
        )
        attributes = (*plan.attributes, *(one.attribute for one in carried))
        return CapturePlan(replace(plan, inputs=filled, attributes=attributes), tuple(carried))

    # ------------------------------------------------------------------ groups

    def _group(self, plan: GroupBy) -> CapturePlan:
        if any(item.call.function in BOUNDS for item in plan.aggregates):
            return self.annotated(self._bounds_from_sums(plan))
        return self._grouped(plan, self.annotated(plan.input))

    def _bounds_from_sums(self, plan: GroupBy) -> Project:
        """The group-by with sums and counts in the place of bounds of averages, which are computed from them."""
        others = tuple(item for item in plan.aggregates if item.call.function not in BOUNDS)
        parts: dict[tuple[Scalar | None, bool], list[NamedAggregate]] = {}
        columns = [Named(each, each) for each in plan.attributes[: len(plan.keys)]]
        for item in plan.aggregates:
            if item.call.function not in BOUNDS:
                columns.append(Named(item.attribute, item.attribute))
                continue
            asked = (item.call.argument, item.call.distinct)
            if asked not in parts:
                calls = (replace(item.call, function="sum"), replace(item.call, function="count"))
                parts[asked] = [NamedAggregate(self._new(call.function, INT), call) for call in calls]
            total, count = (part.attribute for part in parts[asked])
            columns.append(Named(item.attribute, bound_scalar(total, count, item.call.function)))
        summed = tuple(part for both in parts.values() for part in both)
        return Project(replace(plan, aggregates=(*others, *summed)), tuple(columns), plan.place)

    def _grouped(self, plan: GroupBy, below: CapturePlan) -> CapturePlan:
        numbers = [one for one in below.carried if not one.is_set]
        if numbers and all(self._is_made_of_pairs(item) for item in plan.aggregates):
            return self._by_pairs(plan, below, numbers)
        sets, carried = self._sets(below.carried)
        return CapturePlan(replace(plan, input=below.plan, aggregates=(*plan.aggregates, *sets)), carried)

    def _is_made_of_pairs(self, item: NamedAggregate) -> bool:
        """Whether sums and counts of pairs say what the aggregate is, to the last digit: databases have ways of their
        own to round averages of other numbers than floats, Spark's quotients of long decimals lack digits, and some
        functions heed of which type a sum is."""
        call = item.call
        if has_own_sums(call, self.dialect) and item.attribute.id in self.read_by_type:
            return False
        is_rounded = call.function == "avg" and (has_own_averages(call, self.dialect) or _is_long(call))
        return not call.distinct and (not is_rounded or item.attribute.id in self.shown_only)

    def _by_pairs(self, plan: GroupBy, below: CapturePlan, numbers: list[Carried]) -> CapturePlan:
        """γ by key and fragments, then γ by key over that, then what the aggregates are made of."""
        keys = tuple(replace(key, attribute=self._like(key.attribute)) for key in plan.keys)
        pairs = tuple(Carried(one.slot, self._like(one.attribute), is_set=False) for one in numbers)
        again = tuple(Named(pair.attribute, one.attribute) for pair, one in zip(pairs, numbers, strict=True))
        partials: list[NamedAggregate] = []
        merges: list[NamedAggregate] = []
        results: list[Named] = []
        for item in plan.aggregates:
            parts = [self._partial(call) for call in _partials(item.call)]
            partials += [partial for partial, _ in parts]
            merges += [merge for _, merge in parts]
            merged = [merge.attribute for _, merge in parts]
            results.append(Named(item.attribute, _result(item, merged)))
        sets, united = self._sets(tuple(one for one in below.carried if one.is_set))
        inner = GroupBy(below.plan, (*keys, *again), (*partials, *sets), plan.place)
        more, carried = self._sets((*pairs, *united))
        outer_keys = tuple(
            Named(key.attribute, made.attribute) for key, made in zip(plan.keys, keys, strict=True)
        )
        outer = GroupBy(inner, outer_keys, (*merges, *more), plan.place)
        passed = [Named(one.attribute, one.attribute) for one in carried]
        own = [Named(key.attribute, key.attribute) for key in plan.keys]
        return CapturePlan(Project(outer, (*own, *results, *passed), plan.place), carried)

    def _partial(self, call: AggregateCall) -> tuple[NamedAggregate, NamedAggregate]:
        """An aggregate of a pair, and that of a group made of its pairs'."""
        part = Attribute(next(self._ids), f"part_{call.function}")
        whole = Attribute(next(self._ids), f"whole_{call.function}")
        merge = "sum" if call.function in ("count", "sum") else call.function
        return NamedAggregate(part, call), NamedAggregate(whole, AggregateCall(merge, part))

    def _like(self, attribute: Attribute) -> Attribute:
        return replace(attribute, id=next(self._ids))

    def _sets(self, carried: Iterable[Carried]) -> tuple[tuple[NamedAggregate, ...], tuple[Carried, ...]]:
        """Aggregates that collect carried columns of a slot, each into a set."""
        made = [(one, self._new(fragment_column(one.slot), SET)) for one in carried]
        aggregates = tuple(
            NamedAggregate(new, AggregateCall("union_of" if one.is_set else "set_of", one.attribute))
            for one, new in made
        )
        return aggregates, tuple(Carried(one.slot, new, is_set=True) for one, new in made)

    def _collected(self, below: CapturePlan, attributes: tuple[Attribute, ...]) -> CapturePlan:
        """Each row once, with the fragments of all rows that are equal to it."""
        if not below.carried:
            return CapturePlan(Distinct(below.plan), ())
        return self._group_of(below, tuple(Named(each, each) for each in attributes))

    def _group_of(self, below: CapturePlan, keys: tuple[Named, ...]) -> CapturePlan:
        """A group for each combination of keys, with no aggregates but the sets."""
        return self._grouped(GroupBy(below.plan, keys, ()), below)

    # ------------------------------------------------------- semi joins and sets

    def _semi_join(self, plan: ThetaJoin) -> CapturePlan:
        """A semi join whose right side is sketched becomes a join with at most one row: that of all its partners."""
        left = self.annotated(plan.left)
        if plan.kind == "anti":
            right = self._without(plan.right, "what must not be there")
            return CapturePlan(replace(plan, left=left.plan), left.carried + right.carried)
        right = self.annotated(plan.right)
        if not right.carried:
            return CapturePlan(replace(plan, left=left.plan, right=right.plan), left.carried)
        parts = [_sides(each, plan) for each in conjuncts(plan.condition)]
        equalities = [part for part in parts if part is not None]
        if not equalities or len(equalities) < len(parts):
            return self._with_all_partners(plan, left, right)
        keys = tuple(Named(self._new("partner", type_of(own)), own) for _, own, _ in equalities)
        partners = self._group_of(right, keys)
        condition = conjunction(
            tuple(
                Compare(operator, theirs, key.attribute)
                for (theirs, _, operator), key in zip(equalities, keys, strict=True)
            )
        )
        joined = ThetaJoin("inner", left.plan, partners.plan, condition, plan.place)
        kept = (*plan.attributes, *(one.attribute for one in (*left.carried, *partners.carried)))
        return CapturePlan(
            Project(joined, tuple(Named(each, each) for each in kept)), left.carried + partners.carried
        )

    def _with_all_partners(self, plan: ThetaJoin, left: CapturePlan, right: CapturePlan) -> CapturePlan:
        """Whichever rows are partners: all fragments of the right side are taken, which is more than needed."""
        everything = self._group_of(right, ())
        semi = replace(plan, left=left.plan)
        joined = ThetaJoin("inner", semi, everything.plan, None, plan.place)
        return CapturePlan(joined, left.carried + everything.carried)

    def _set_operation(self, plan: Except | Intersect) -> CapturePlan:
        if plan.all:
            return self._without(plan, "EXCEPT ALL or INTERSECT ALL")
        left = self._collected(self.annotated(plan.left), plan.left.attributes)
        if isinstance(plan, Except):
            self._without(plan.right, "what must not be there")
            right = CapturePlan(plan.right, ())
            kind = "anti"
        else:
            right = self._collected(self.annotated(plan.right), plan.right.attributes)
            kind = "inner" if right.carried else "semi"
        same = zip(plan.left.attributes, plan.right.attributes, strict=True)
        condition = conjunction(tuple(Compare("<=>", mine, theirs) for mine, theirs in same))
        joined = ThetaJoin(kind, left.plan, right.plan, condition, plan.place)  # type: ignore[arg-type]
        carried = left.carried + right.carried
        named = zip(plan.attributes, plan.left.attributes, strict=True)
        columns = (
            *(Named(new, old) for new, old in named),
            *(Named(one.attribute, one.attribute) for one in carried),
        )
        return CapturePlan(Project(joined, columns), carried)


def _sides(condition: Scalar, plan: ThetaJoin) -> tuple[Scalar, Scalar, str] | None:
    """An equality between something of the left side and something of the right, in this order."""
    if not isinstance(condition, Compare) or condition.operator not in ("=", "<=>"):
        return None
    left = {each.id for each in plan.left.attributes}
    right = {each.id for each in plan.right.attributes}
    for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
        mine = {each.id for each in attributes_in(one)}
        theirs = {each.id for each in attributes_in(other)}
        if mine <= left and theirs <= right and theirs:
            return one, other, condition.operator
    return None


def _cell(carried: Carried | None, is_set: bool) -> Scalar:
    """A carried column of one input of a union, as the union has it."""
    if carried is None:
        return Function("singleton", (Cast(NULL, INT),), SET) if is_set else Cast(NULL, INT)
    if is_set and not carried.is_set:
        return Function("singleton", (carried.attribute,), SET)
    return carried.attribute


def _project(
    plan: Operator, attributes: tuple[Attribute, ...], carried: list[Carried], cells: list[Scalar]
) -> Operator:
    own = tuple(Named(each, each) for each in attributes)
    filled = zip(carried, cells, strict=True)
    return Project(plan, (*own, *(Named(one.attribute, cell) for one, cell in filled)))


def _is_long(call: AggregateCall) -> bool:
    known = None if call.argument is None else type_of(call.argument)
    return known is not None and known.name == "decimal" and known.precision > MOST_DIGITS_DIVIDED


def _partials(call: AggregateCall) -> Iterator[AggregateCall]:
    """What of the pairs an aggregate is made of."""
    if call.function == "avg":
        yield replace(call, function="sum")
        yield replace(call, function="count")
    else:
        yield call


def _result(item: NamedAggregate, merged: list[Attribute]) -> Scalar:
    """An aggregate from its merged parts, of the type that it would have without them."""
    own = item.attribute.type
    exact = own is not None and own.name == "decimal"
    match item.call.function:
        case "count":
            return Cast(Function("coalesce", (merged[0], Value(0, INT)), INT), INT)
        case "avg":
            total, count = merged
            argument = type_of(item.call.argument) if item.call.argument is not None else None
            if own is not None and exact and argument is not None and argument.name == "decimal":
                parts = (Cast(total, sum_type(argument)), Cast(count, COUNT))
                return Cast(Function("divide", parts, own), own)
            return Function("divide", (Cast(total, FLOAT), Cast(count, FLOAT)), FLOAT)
        case "sum" if exact and own is not None:
            return Cast(merged[0], own)
        case _:
            return merged[0]
