"""Plans: relational algebra over bags with NULLs, as data. What a query means, whichever system runs it.

A plan is a tree of frozen dataclasses. Every operator has `attributes`, its columns in order; ids of attributes
are unique in a query, so that an attribute names one column wherever it is read. Operators that compute a column
give it a new id (`Named`), all others pass on the ids of their inputs. Places never take part in comparison, and
ids are given in the order of the text: two texts with the same meaning up to white space give equal plans.

What holds of every plan that `parse` makes:

- Each access of a table is a `Scan` of its own with its own `access` number (from 0, in the order of the text)
  and ids, also where a CTE is read twice.
- Scalars read attributes of their operator's inputs only. There are no subqueries in scalars: IN and EXISTS are
  semi and anti joins, a scalar subquery is a join with a plan of at most one row for each row of the other side.
  An anti join for NOT IN has a condition that is also true where the comparison is unknown, which is what NOT IN
  means.
- HAVING is a `Select` above a `GroupBy`. UNION is a `Distinct` above a `UnionAll`. DISTINCT and FILTER of an
  aggregate: the first is said by `AggregateCall`, the second became a CASE.
- A `GroupBy` without keys gives exactly one row, also for no input. With keys, NULLs are one group, as they are
  one value to `Distinct`, `Except` and `Intersect`.
- A `TopK` is the only operator that knows an order; it holds at the root and below it through `Project` only.
  Rows that are equal by all sort keys come in any order, so which of them a limit keeps is not said by the
  query.

>>> from headwater.language.sql.scalars import Compare
>>> from headwater.values.types import INT
>>> x = Attribute(0, "x", INT)
>>> scan = Scan("t", "t", 0, (x,))
>>> plan = Select(scan, Compare("<", x, Value(3, INT)))
>>> [type(operator).__name__ for operator in walk(plan)], plan.attributes == (x,)
(['Select', 'Scan'], True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal as OneOf

from headwater.errors import Place
from headwater.language.sql.scalars import Attribute, Parameter, Scalar, Value

JoinKind = OneOf["inner", "left", "right", "full", "semi", "anti"]
"""A cross join is an inner one without a condition. Semi and anti joins have the columns of the left side."""
SaidAggregate = OneOf["count", "sum", "min", "max", "avg"]
"""Those that texts can say."""
AggregateFunction = OneOf[
    "count", "sum", "min", "max", "avg", "set_of", "union_of", "lowest_avg", "highest_avg"
]
"""Of the others, two make sets of integers, and unite them, and two are the floats between which a database has an
average of integers."""
WindowFunction = OneOf[
    "count",
    "sum",
    "min",
    "max",
    "avg",
    "set_of",
    "union_of",
    "row_number",
    "rank",
    "dense_rank",
    "lag",
    "lead",
    "first",
    "last",
]


@dataclass(frozen=True)
class Named:
    """A computed column: a new attribute and what it is."""

    attribute: Attribute
    expression: Scalar


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate of a group; `argument` is `None` for `count(*)`. NULLs do not count, nor take part."""

    function: AggregateFunction
    argument: Scalar | None
    distinct: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class NamedAggregate:
    """A column that is an aggregate."""

    attribute: Attribute
    call: AggregateCall


@dataclass(frozen=True)
class SortKey:
    """One of the things that rows are ordered by. Where NULLs come is always said, whatever the dialect's
    default."""

    expression: Scalar
    descending: bool = False
    nulls_first: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class WindowCall:
    """A function over the rows of a partition, without a frame of its own (SQL's default: with an order up to the
    row's peers, else the whole partition)."""

    function: WindowFunction
    arguments: tuple[Scalar, ...]
    partition: tuple[Scalar, ...]
    order: tuple[SortKey, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class NamedWindow:
    """A column that is a window function."""

    attribute: Attribute
    call: WindowCall


# ------------------------------------------------------------------ operators


@dataclass(frozen=True)
class Scan:
    """An access of a table: those of its columns that the catalog names, all of them."""

    table: str
    alias: str
    access: int
    attributes: tuple[Attribute, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Inline:
    """Rows that the text itself has: VALUES, or the one row without columns of a SELECT without FROM."""

    attributes: tuple[Attribute, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Select:
    """σ: the rows for which a condition is true (neither false nor unknown)."""

    input: Operator
    condition: Scalar
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self.input.attributes


@dataclass(frozen=True)
class Project:
    """Π: one row for each row of the input, duplicates kept. A column that is only passed on is `Named(a', a)`."""

    input: Operator
    columns: tuple[Named, ...]
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(column.attribute for column in self.columns)


@dataclass(frozen=True)
class ThetaJoin:
    """⋈: pairs of rows for which the condition is true (`None`: all pairs), and by kind the rows without a
    partner."""

    kind: JoinKind
    left: Operator
    right: Operator
    condition: Scalar | None = None
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Those of both sides; the ids of a side that may be filled with NULLs stay, and are nullable then."""
        if self.kind in ("semi", "anti"):
            return self.left.attributes
        left, right = self.left.attributes, self.right.attributes
        if self.kind in ("right", "full"):
            left = tuple(replace(attribute, nullable=True) for attribute in left)
        if self.kind in ("left", "full"):
            right = tuple(replace(attribute, nullable=True) for attribute in right)
        return left + right


@dataclass(frozen=True)
class UnionAll:
    """All rows of all inputs, column by column in order."""

    inputs: tuple[Operator, ...]
    attributes: tuple[Attribute, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Except:
    """Rows of the left side without those of the right; `all` takes away as often as they occur, else sets."""

    left: Operator
    right: Operator
    attributes: tuple[Attribute, ...]
    all: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Intersect:
    """Rows of both sides; `all` as often as they occur in both, else once."""

    left: Operator
    right: Operator
    attributes: tuple[Attribute, ...]
    all: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Distinct:
    """δ: each row once."""

    input: Operator
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self.input.attributes


@dataclass(frozen=True)
class GroupBy:
    """γ: a row for each combination of keys that occurs; without keys, one row."""

    input: Operator
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return (*(key.attribute for key in self.keys), *(item.attribute for item in self.aggregates))


@dataclass(frozen=True)
class Window:
    """The rows of the input with further columns, computed from the rows of their partitions."""

    input: Operator
    calls: tuple[NamedWindow, ...]
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return (*self.input.attributes, *(item.attribute for item in self.calls))


@dataclass(frozen=True)
class TopK:
    """τ: the first rows by an order, after `offset` ones; `limit` `None` keeps all, an empty order any."""

    input: Operator
    order: tuple[SortKey, ...]
    limit: Value | Parameter | None
    offset: Value | Parameter | None = None
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self.input.attributes


Operator = (
    Scan
    | Inline
    | Select
    | Project
    | ThetaJoin
    | UnionAll
    | Except
    | Intersect
    | Distinct
    | GroupBy
    | Window
    | TopK
)


# ------------------------------------------------------------------ going through plans


def children(operator: Operator) -> tuple[Operator, ...]:
    """The inputs of an operator, from left to right."""
    match operator:
        case Scan() | Inline():
            return ()
        case ThetaJoin() | Except() | Intersect():
            return (operator.left, operator.right)
        case UnionAll():
            return operator.inputs
        case _:
            return (operator.input,)


def with_children(operator: Operator, inputs: tuple[Operator, ...]) -> Operator:
    """The same operator over other inputs: as many as `children` gives."""
    match operator:
        case Scan() | Inline():
            return operator
        case ThetaJoin() | Except() | Intersect():
            return replace(operator, left=inputs[0], right=inputs[1])
        case UnionAll():
            return replace(operator, inputs=inputs)
        case _:
            return replace(operator, input=inputs[0])


def walk(operator: Operator) -> Iterator[Operator]:
    """An operator and all below it, from the top down and from left to right."""
    yield operator
    for child in children(operator):
        yield from walk(child)


def scans(operator: Operator) -> tuple[Scan, ...]:
    """The accesses of tables in a plan, in the order of their numbers."""
    found = (each for each in walk(operator) if isinstance(each, Scan))
    return tuple(sorted(found, key=lambda scan: scan.access))


def transform(operator: Operator, change: Callable[[Operator], Operator]) -> Operator:
    """The plan with `change` applied to each input, then to the operator itself: from the bottom up."""
    inputs = children(operator)
    changed = tuple(transform(each, change) for each in inputs)
    same = all(new is old for new, old in zip(changed, inputs, strict=True))
    return change(operator if same else with_children(operator, changed))


def scalars_of(operator: Operator) -> tuple[Scalar, ...]:
    """The scalars that an operator itself evaluates (not those of its inputs), in a fixed order."""
    match operator:
        case Scan() | UnionAll() | Except() | Intersect() | Distinct():
            return ()
        case Inline(rows=rows):
            return tuple(cell for row in rows for cell in row)
        case Select(condition=condition):
            return (condition,)
        case Project(columns=columns):
            return tuple(column.expression for column in columns)
        case ThetaJoin(condition=condition):
            return () if condition is None else (condition,)
        case GroupBy(keys=keys, aggregates=aggregates):
            arguments = (item.call.argument for item in aggregates)
            return (
                *(key.expression for key in keys),
                *(argument for argument in arguments if argument is not None),
            )
        case Window(calls=calls):
            return tuple(
                scalar
                for item in calls
                for scalar in (
                    *item.call.arguments,
                    *item.call.partition,
                    *(key.expression for key in item.call.order),
                )
            )
        case TopK(order=order, limit=limit, offset=offset):
            bounds = (bound for bound in (limit, offset) if bound is not None)
            return (*(key.expression for key in order), *bounds)


def map_scalars(operator: Operator, change: Callable[[Scalar], Scalar]) -> Operator:
    """The operator with `change` applied to each of `scalars_of` (limits stay constants or parameters)."""
    match operator:
        case Scan() | UnionAll() | Except() | Intersect() | Distinct():
            return operator
        case Inline(rows=rows):
            return replace(operator, rows=tuple(tuple(change(cell) for cell in row) for row in rows))
        case Select(condition=condition):
            return replace(operator, condition=change(condition))
        case Project(columns=columns):
            return replace(operator, columns=tuple(_changed(column, change) for column in columns))
        case ThetaJoin(condition=condition):
            return operator if condition is None else replace(operator, condition=change(condition))
        case GroupBy(keys=keys, aggregates=aggregates):
            return replace(
                operator,
                keys=tuple(_changed(key, change) for key in keys),
                aggregates=tuple(_changed_aggregate(item, change) for item in aggregates),
            )
        case Window(calls=calls):
            return replace(operator, calls=tuple(_changed_window(item, change) for item in calls))
        case TopK():
            return replace(
                operator,
                order=_changed_order(operator.order, change),
                limit=_changed_bound(operator.limit, change),
                offset=_changed_bound(operator.offset, change),
            )


def _changed(column: Named, change: Callable[[Scalar], Scalar]) -> Named:
    return replace(column, expression=change(column.expression))


def _changed_aggregate(item: NamedAggregate, change: Callable[[Scalar], Scalar]) -> NamedAggregate:
    if item.call.argument is None:
        return item
    return replace(item, call=replace(item.call, argument=change(item.call.argument)))


def _changed_window(item: NamedWindow, change: Callable[[Scalar], Scalar]) -> NamedWindow:
    call = replace(
        item.call,
        arguments=tuple(map(change, item.call.arguments)),
        partition=tuple(map(change, item.call.partition)),
        order=_changed_order(item.call.order, change),
    )
    return replace(item, call=call)


def _changed_order(order: tuple[SortKey, ...], change: Callable[[Scalar], Scalar]) -> tuple[SortKey, ...]:
    return tuple(replace(key, expression=change(key.expression)) for key in order)


def _changed_bound(
    bound: Value | Parameter | None, change: Callable[[Scalar], Scalar]
) -> Value | Parameter | None:
    if bound is None:
        return None
    changed = change(bound)
    assert isinstance(changed, Value | Parameter), "a limit is a constant or a parameter"
    return changed
