"""The plans of the SQL strategy: what the state is, what a version adds to it, and the sketch that it says.

A query is a *block* (selections, projections, inner joins), most often with one `GroupBy` above it and conditions
above that. Its state has a row for each combination of a group's keys and the fragments of the rows in it: how many
rows there are, and for each aggregate the sum and the number of its values; arguments of min, max and DISTINCT are
among the keys, since what goes must be told from what stays. (The paper's 𝓕_g, with the sums of section 5.6 split by
fragment.)

With the tables at their new versions, what a version adds is the sum over all non-empty sets of changed accesses of
the block with these accesses replaced by their deltas, with a minus for sets of even size: ΔR⋈S + R⋈ΔS − ΔR⋈ΔS.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from headwater.errors import SketchError
from headwater.language.sql.algebra import (
    AggregateCall,
    GroupBy,
    Named,
    NamedAggregate,
    Operator,
    Project,
    Scan,
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
    NULL,
    Attribute,
    Case,
    Compare,
    Function,
    IsNull,
    Scalar,
    Value,
    attributes_in,
    conjunction,
    conjuncts,
    substitute,
)
from headwater.sketch.average_bounds import with_average_bounds
from headwater.sketch.integer_averages import BOUNDS, bound_scalar
from headwater.sketch.own_averages import has_own_averages
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot
from headwater.sketch.summed_types import in_typed_functions
from headwater.sketch.tables.backend import fragment_column
from headwater.values.types import FLOAT, INT

SIGN = "_sign"
Total = Callable[[str, AggregateCall], Attribute]
"""What makes a column of an aggregate over the state, once for each name."""


@dataclass(frozen=True)
class PairState:
    """A column of fragments for each sketched access and slot, and what is kept beside keys and fragments."""

    block: Operator
    group: GroupBy | None
    conditions: tuple[Scalar, ...]
    carried: tuple[tuple[int, Slot], ...]

    # -------------------------------------------------------------- columns of the state

    @property
    def keys(self) -> tuple[Scalar, ...]:
        return () if self.group is None else tuple(key.expression for key in self.group.keys)

    @property
    def calls(self) -> tuple[NamedAggregate, ...]:
        return () if self.group is None else self.group.aggregates

    @property
    def known(self) -> list[str]:
        """The names of columns by which rows of the state are told apart."""
        kept = [f"m{at}" for at, each in enumerate(self.calls) if _is_kept(each.call)]
        fragments = [f"f{at}" for at in range(len(self.carried))]
        return [*(f"k{at}" for at in range(len(self.keys))), *kept, *fragments]

    @property
    def sums(self) -> list[str]:
        """The names of columns that are added up."""
        summed = [at for at, each in enumerate(self.calls) if _is_summed(each.call)]
        return ["n", *(f"{letter}{at}" for at in summed for letter in "sc")]

    # -------------------------------------------------------------- plans

    def rows(self, changed: frozenset[int] = frozenset()) -> Operator:
        """The state's rows of the block in which some accesses are replaced by their deltas."""
        ids = itertools.count(
            1 + max(each.id for operator in walk(self.block) for each in operator.attributes)
        )
        extras: dict[tuple[int, str], Attribute] = {}
        block = self._instrumented(self.block, changed, extras, ids)
        signs = [attribute for (_, name), attribute in extras.items() if name == SIGN]
        count: Scalar = Value(1 if len(changed) % 2 or not changed else -1, INT)
        count = reduce(lambda left, right: Function("multiply", (left, right), INT), signs, count)
        keys = [*self.keys]
        keys += [
            each.call.argument
            for each in self.calls
            if _is_kept(each.call) and each.call.argument is not None
        ]
        keys += [extras[access, fragment_column(slot)] for access, slot in self.carried]
        named = tuple(
            Named(Attribute(next(ids), name, type_of(key)), key)
            for name, key in zip(self.known, keys, strict=True)
        )
        totals = [
            count,
            *(part for each in self.calls if _is_summed(each.call) for part in _parts(each.call, count)),
        ]
        summed = tuple(
            NamedAggregate(Attribute(next(ids), name, INT), AggregateCall("sum", total))
            for name, total in zip(self.sums, totals, strict=True)
        )
        return GroupBy(block, named, summed)

    def delta(self, changed: frozenset[int]) -> Operator:
        """What the deltas of some accesses add to the state."""
        accesses = sorted(changed)
        sets = (
            frozenset(some)
            for size in range(1, len(accesses) + 1)
            for some in itertools.combinations(accesses, size)
        )
        inputs = tuple(self.rows(some) for some in sets)
        attributes = tuple(
            Attribute(-1 - at, each.name, each.type) for at, each in enumerate(inputs[0].attributes)
        )
        return UnionAll(inputs, attributes)

    def sketch(self, table: str, fragments: int) -> Operator:
        """The fragments in one column of the state, of groups that fulfil the conditions."""
        ids = itertools.count(1 + max((each.attribute.id for each in self.calls), default=0) + 10**6)
        outer, inner = self._scan(table, ids, 0), self._scan(table, ids, 1)
        kept: Operator = outer
        if self.group is not None and self.conditions:
            groups, keys = self._groups(inner, ids)
            named = {each.name: each for each in outer.attributes}
            pairs = zip((named[f"k{at}"] for at in range(len(self.keys))), keys, strict=True)
            same = tuple(Compare("<=>", left, right) for left, right in pairs)
            kept = ThetaJoin("semi", outer, groups, conjunction(same) if same else None)
        column = next(each for each in outer.attributes if each.name == f"f{fragments}")
        shown = Named(Attribute(next(ids), "fragment", INT), column)
        return GroupBy(kept, (shown,), ())

    def _scan(self, table: str, ids: Iterator[int], access: int) -> Scan:
        names = [*self.known, *self.sums]
        return Scan(table, table, access, tuple(Attribute(next(ids), name) for name in names))

    def _groups(self, scan: Scan, ids: Iterator[int]) -> tuple[Operator, list[Attribute]]:
        """The groups that fulfil the conditions, with their keys: aggregates are put together from the state."""
        assert self.group is not None
        columns = {each.name: each for each in scan.attributes}
        keys = tuple(Named(each.attribute, columns[f"k{at}"]) for at, each in enumerate(self.group.keys))
        parts: dict[str, NamedAggregate] = {}

        def total(name: str, function: AggregateCall) -> Attribute:
            made = parts.setdefault(name, NamedAggregate(Attribute(next(ids), name, INT), function))
            return made.attribute

        meanings = {}
        for at, each in enumerate(self.calls):
            meanings[each.attribute] = _put_together(at, each.call, columns, total)
        grouped = GroupBy(scan, keys, tuple(parts.values()))
        shown = tuple(Named(key.attribute, key.attribute) for key in keys)
        computed = tuple(Named(attribute, scalar) for attribute, scalar in meanings.items())
        groups = Select(Project(grouped, (*shown, *computed)), conjunction(self.conditions))
        return groups, [key.attribute for key in keys]

    def _instrumented(
        self,
        plan: Operator,
        changed: frozenset[int],
        extras: dict[tuple[int, str], Attribute],
        ids: Iterator[int],
    ) -> Operator:
        """The block with fragments and signs beside its columns."""
        if isinstance(plan, Scan):
            names = [fragment_column(slot) for access, slot in self.carried if access == plan.access]
            names += [SIGN] if plan.access in changed else []
            more = tuple(Attribute(next(ids), name, INT, nullable=False) for name in names)
            extras |= {(plan.access, each.name): each for each in more}
            table = source_name(plan.access, delta=plan.access in changed)
            return replace(plan, table=table, attributes=(*plan.attributes, *more))
        inputs = tuple(self._instrumented(each, changed, extras, ids) for each in children(plan))
        plan = with_children(plan, inputs)
        if isinstance(plan, Project):
            visible = {each.id for each in plan.input.attributes}
            passed = tuple(Named(each, each) for each in extras.values() if each.id in visible)
            return replace(plan, columns=(*plan.columns, *passed))
        return plan


def source_name(access: int, *, delta: bool) -> str:
    """What an access, or what changed in it, is called in these plans."""
    return f"_changed_{access}" if delta else f"_whole_{access}"


def pair_state(plan: Operator, accesses: Mapping[int, tuple[Ranges, ...]], dialect: str) -> PairState:
    """The state that a query needs in a database of that dialect; refused with the code `no-sql-strategy` where it
    has none. Conditions on averages are read as what is known of them (`average_bounds`)."""
    plan = with_average_bounds(plan, dialect)
    conditions: list[Scalar] = []
    while isinstance(plan, Project | Select) or (isinstance(plan, TopK) and plan.limit is None):
        if isinstance(plan, Project):
            meaning = {each.attribute.id: each.expression for each in plan.columns}
            conditions = [substitute(each, meaning) for each in conditions]
        elif isinstance(plan, Select):
            if not any(isinstance(each, GroupBy) for each in walk(plan)):
                break
            conditions += conjuncts(plan.condition)
        elif plan.offset is not None:
            break
        plan = plan.input
    group = plan if isinstance(plan, GroupBy) else None
    block = plan.input if isinstance(plan, GroupBy) else plan
    for operator in walk(block):
        if not isinstance(operator, Scan | Select | Project) and not (
            isinstance(operator, ThetaJoin) and operator.kind == "inner"
        ):
            raise _refused(f"{type(operator).__name__} has no state in SQL", operator)
    for each in group.aggregates if group is not None else ():
        argument = each.call.argument
        summed = _is_summed(each.call) and each.call.function != "count"
        if summed and argument is not None and type_of(argument) in (FLOAT, None):
            raise _refused("sums of floats drift", plan)
    if group is not None:
        group = _with_what_is_read(group, conditions, dialect)
    carried = tuple(
        (scan.access, Slot(scan.table, ranges.attribute))
        for scan in walk(block)
        if isinstance(scan, Scan)
        for ranges in accesses.get(scan.access, ())
    )
    return PairState(block, group, tuple(conditions), carried)


def _with_what_is_read(group: GroupBy, conditions: Sequence[Scalar], dialect: str) -> GroupBy:
    """The group-by with the aggregates that conditions read. A quotient of sums is not what databases make of
    averages that they round in their own way."""
    read = {attribute.id for each in conditions for attribute in attributes_in(each)}
    used = tuple(each for each in group.aggregates if each.attribute.id in read)
    if any(each.call.function == "avg" and has_own_averages(each.call, dialect) for each in used):
        raise _refused("only the database knows how it rounds an average", group)
    typed = in_typed_functions(conditions)
    added_up = ("count", "sum") if dialect == "postgres" else ()
    if any(each.call.function in added_up and each.attribute.id in typed for each in used):
        raise _refused("a function heeds that sums of sums have another type in PostgreSQL", group)
    return replace(group, aggregates=used)


def _refused(reason: str, operator: Operator) -> SketchError:
    hint = "one GROUP BY over selections, projections and inner joins, with conditions above it"
    return SketchError("no-sql-strategy", reason, place=operator.place, hint=hint)


def _is_kept(call: AggregateCall) -> bool:
    """Whether values of the argument are kept one by one."""
    return call.function in ("min", "max") or call.distinct


def _is_summed(call: AggregateCall) -> bool:
    return not _is_kept(call) and call.argument is not None


def _parts(call: AggregateCall, count: Scalar) -> tuple[Scalar, Scalar]:
    """The sum and the number of an aggregate's values in rows that count so often."""
    assert call.argument is not None
    nothing = IsNull(call.argument)
    number = Case(((nothing, Value(0, INT)),), count)
    if call.function == "count":
        return Value(0, INT), number
    value = Function("multiply", (call.argument, count), type_of(call.argument))
    return Case(((nothing, Value(0, INT)),), value), number


def _put_together(at: int, call: AggregateCall, columns: dict[str, Attribute], total: Total) -> Scalar:
    """An aggregate of a group, from the rows of the state that belong to it."""
    if call.argument is None:
        return total("n", AggregateCall("sum", columns["n"]))
    if _is_kept(call) and call.function in BOUNDS:
        kept = columns[f"m{at}"]
        parts = (total(f"{name}{at}", AggregateCall(name, kept, distinct=True)) for name in ("sum", "count"))
        return bound_scalar(next(parts), next(parts), call.function)
    if _is_kept(call):
        return total(f"m{at}", AggregateCall(call.function, columns[f"m{at}"], call.distinct))
    number = total(f"c{at}", AggregateCall("sum", columns[f"c{at}"]))
    if call.function == "count":
        return number
    summed: Scalar = total(f"s{at}", AggregateCall("sum", columns[f"s{at}"]))
    if call.function in BOUNDS:
        summed = bound_scalar(summed, number, call.function)
    elif call.function == "avg":
        summed = Function("divide", (summed, number), FLOAT)
    return Case(((Compare(">", number, Value(0, INT)), summed),), NULL)
