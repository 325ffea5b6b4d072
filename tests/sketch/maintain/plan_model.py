"""Plans evaluated row by row in plain Python, each row with the fragments that it rests on: what sketches are
compared with.

Nothing here is shared with the package but the plan's data. `ModelBackend` is a backend over such tables, for tests
that need none of the real ones.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.language.sql import algebra as a
from headwater.language.sql import scalars as s
from headwater.language.sql.tables import TableSchema
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.backend import CountsKeys, News, TableDelta, WantedRows, news_by_table
from headwater.sketch.tables.key_lookup import KeyLookup
from headwater.values.arrow_types import arrow_type

Values = dict[int, Any]


@dataclass(frozen=True)
class Row:
    """Values by the ids of attributes, and fragments by slot."""

    values: Values
    fragments: frozenset[tuple[Slot, int]] = frozenset()

    def with_values(self, values: Values) -> Row:
        return Row(values, self.fragments)


Tables = Mapping[str, Sequence[Mapping[str, Any]]]
Partition = Mapping[Slot, Ranges]


def sketch_of(plan: a.Operator, tables: Tables, partition: Partition) -> dict[Slot, frozenset[int]]:
    """The accurate sketch: all fragments that some row of the answer rests on."""
    found: dict[Slot, set[int]] = {slot: set() for slot in partition}
    for row in evaluate(plan, tables, partition):
        for slot, fragment in row.fragments:
            found[slot].add(fragment)
    return {slot: frozenset(fragments) for slot, fragments in found.items()}


def answer(plan: a.Operator, tables: Tables) -> Counter[tuple[Any, ...]]:
    """The bag of rows of a plan."""
    ids = [attribute.id for attribute in plan.attributes]
    return Counter(tuple(row.values[id] for id in ids) for row in evaluate(plan, tables, {}))


def sketched(tables: Tables, sketch: Mapping[Slot, frozenset[int]], partition: Partition) -> Tables:
    """The rows that a sketch leaves: those whose fragment is in every part of their table."""
    return {
        name: [
            row
            for row in rows
            if all(
                partition[slot].fragment(row[slot.attribute]) in fragments
                for slot, fragments in sketch.items()
                if slot.table == name
            )
        ]
        for name, rows in tables.items()
    }


# ------------------------------------------------------------------ operators


def evaluate(plan: a.Operator, tables: Tables, partition: Partition) -> list[Row]:
    """All rows of a plan."""
    match plan:
        case a.Scan():
            return [_scanned(plan, row, partition) for row in tables[plan.table]]
        case a.Select(input=input, condition=condition):
            return [row for row in evaluate(input, tables, partition) if value(condition, row.values) is True]
        case a.Project(input=input, columns=columns):
            return [
                row.with_values({each.attribute.id: value(each.expression, row.values) for each in columns})
                for row in evaluate(input, tables, partition)
            ]
        case a.ThetaJoin():
            return _joined(plan, tables, partition)
        case a.UnionAll(inputs=inputs, attributes=attributes):
            return [
                row.with_values(
                    {
                        ours.id: row.values[theirs.id]
                        for ours, theirs in zip(attributes, each.attributes, strict=True)
                    }
                )
                for each in inputs
                for row in evaluate(each, tables, partition)
            ]
        case a.Distinct(input=input):
            keys = tuple(a.Named(each, each) for each in input.attributes)
            return _grouped(a.GroupBy(input, keys, ()), tables, partition)
        case a.GroupBy():
            return _grouped(plan, tables, partition)
        case a.TopK():
            return _first(plan, tables, partition)
        case a.Window(calls=(call,)):
            return _ranked(call, evaluate(plan.input, tables, partition))
        case _:
            raise NotImplementedError(type(plan).__name__)


def _scanned(scan: a.Scan, row: Mapping[str, Any], partition: Partition) -> Row:
    fragments = frozenset(
        (slot, ranges.fragment(row[slot.attribute]))
        for slot, ranges in partition.items()
        if slot.table == scan.table
    )
    return Row({each.id: row[each.name] for each in scan.attributes}, fragments)


def _joined(plan: a.ThetaJoin, tables: Tables, partition: Partition) -> list[Row]:
    left, right = evaluate(plan.left, tables, partition), evaluate(plan.right, tables, partition)

    def matches(one: Row, other: Row) -> bool:
        return plan.condition is None or value(plan.condition, {**one.values, **other.values}) is True

    if plan.kind == "inner":
        return [
            Row({**one.values, **other.values}, one.fragments | other.fragments)
            for one in left
            for other in right
            if matches(one, other)
        ]
    assert plan.kind == "semi"
    found = []
    for one in left:
        partners = [other.fragments for other in right if matches(one, other)]
        if partners:
            found.append(Row(one.values, one.fragments.union(*partners)))
    return found


def _grouped(plan: a.GroupBy, tables: Tables, partition: Partition) -> list[Row]:
    groups: dict[tuple[Any, ...], list[Row]] = {} if plan.keys else {(): []}
    for row in evaluate(plan.input, tables, partition):
        key = tuple(value(each.expression, row.values) for each in plan.keys)
        groups.setdefault(key, []).append(row)
    found = []
    for key, rows in groups.items():
        values = {each.attribute.id: part for each, part in zip(plan.keys, key, strict=True)}
        for item in plan.aggregates:
            values[item.attribute.id] = _aggregate(item.call, rows)
        found.append(Row(values, frozenset().union(*(row.fragments for row in rows))))
    return found


def _aggregate(call: a.AggregateCall, rows: Sequence[Row]) -> Any:
    if call.argument is None:
        return len(rows)
    values = [value(call.argument, row.values) for row in rows]
    values = [each for each in values if each is not None]
    if call.distinct:
        values = list(dict.fromkeys(values))
    if call.function == "count":
        return len(values)
    if not values:
        return None
    match call.function:
        case "sum":
            total = sum(map(Fraction, values))
            return _like(total, values[0])
        case "avg":
            return float(sum(map(Fraction, values)) / len(values))
        case "min":
            return min(values)
        case _:
            return max(values)


def _like(total: Fraction, example: Any) -> Any:
    if isinstance(example, int):
        return int(total)
    return (
        Decimal(total.numerator) / Decimal(total.denominator)
        if isinstance(example, Decimal)
        else float(total)
    )


def _first(plan: a.TopK, tables: Tables, partition: Partition) -> list[Row]:
    rows = evaluate(plan.input, tables, partition)
    for key in reversed(plan.order):

        def rank(row: Row, key: a.SortKey = key) -> tuple[Any, ...]:
            found = value(key.expression, row.values)
            nulls_first = key.nulls_first != key.descending
            return ((found is None) != nulls_first, 0 if found is None else found)

        rows.sort(key=rank, reverse=key.descending)
    limit = None if plan.limit is None else plan.limit.value  # type: ignore[union-attr]
    return rows if limit is None else rows[:limit]  # type: ignore[misc]


def _ranked(item: a.NamedWindow, rows: list[Row]) -> list[Row]:
    assert item.call.function == "dense_rank"
    (order,) = item.call.order
    found = []
    for row in rows:
        part = [value(each, row.values) for each in item.call.partition]
        peers = {
            value(order.expression, other.values)
            for other in rows
            if [value(each, other.values) for each in item.call.partition] == part
        }
        own = value(order.expression, row.values)
        before = [each for each in peers if (each > own if order.descending else each < own)]
        found.append(row.with_values({**row.values, item.attribute.id: len(before) + 1}))
    return found


# ------------------------------------------------------------------ scalars

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda x, y: x == y,
    "<>": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "negate": lambda x: -x,
    "absolute": abs,
}


def value(scalar: s.Scalar, values: Values) -> Any:
    """A scalar over a row; `None` is NULL, and unknown."""
    match scalar:
        case s.Attribute(id=id):
            return values[id]
        case s.Value(value=constant):
            return constant
        case s.Compare(operator=operator, left=left, right=right):
            x, y = value(left, values), value(right, values)
            return None if x is None or y is None else _COMPARE[operator](x, y)
        case s.And(parts=parts):
            found = [value(part, values) for part in parts]
            return False if False in found else None if None in found else True
        case s.Or(parts=parts):
            found = [value(part, values) for part in parts]
            return True if True in found else None if None in found else False
        case s.Not(argument=argument):
            x = value(argument, values)
            return None if x is None else not x
        case s.IsNull(argument=argument):
            return value(argument, values) is None
        case s.InList(argument=argument, items=items):
            return value(s.Or(tuple(s.Compare("=", argument, item) for item in items)), values)
        case s.Case(branches=branches, otherwise=otherwise):
            for test, result in branches:
                if value(test, values) is True:
                    return value(result, values)
            return value(otherwise, values)
        case s.Like(argument=argument, pattern=pattern):
            x = value(argument, values)
            wanted = re.escape(str(value(pattern, values))).replace("%", ".*").replace("_", ".")
            return None if x is None else re.fullmatch(wanted, x) is not None
        case s.Function(name=name, arguments=arguments):
            found = [value(each, values) for each in arguments]
            return None if None in found else _FUNCTIONS[name](*found)
        case _:
            raise NotImplementedError(type(scalar).__name__)


# ------------------------------------------------------------------ a backend


@dataclass
class ModelBackend:
    """Tables in memory with all their versions; only what maintenance asks of a backend."""

    tables: dict[str, list[dict[str, Any]]]
    history: dict[str, list[tuple[list[dict[str, Any]], list[dict[str, Any]]]]] = field(default_factory=dict)
    asked: int = 0
    types: Mapping[str, pa.Schema] = field(default_factory=dict)
    key_seconds: float = 0.0
    dialect = "model"

    def schemas(self) -> dict[str, TableSchema]:
        return {}

    def version(self, table: str) -> int:
        return len(self.history.get(table, ()))

    def versions(self, tables: Sequence[str]) -> dict[str, int]:
        return {table: self.version(table) for table in tables}

    def moment(self) -> AbstractContextManager[None]:
        return nullcontext()

    def rows(self, table: str) -> int:
        return len(self.tables[table])

    def seconds_for_keys(self, table: str) -> float:
        return self.key_seconds

    @property
    def counts_keys(self) -> CountsKeys:
        return "here"

    def run(
        self,
        plan: a.Operator,
        *,
        versions: Mapping[str, int] | None = None,
        given: Mapping[str, pa.Table] | None = None,
        fragments: Mapping[Slot, Ranges] | None = None,
    ) -> pa.Table:
        self.asked += 1
        assert all(self.version(name) == number for name, number in (versions or {}).items())
        tables: dict[str, Any] = {
            name: [{**row, **_fragment_columns(name, row, fragments or {})} for row in rows]
            for name, rows in self.tables.items()
        }
        tables |= {name: table.to_pylist() for name, table in (given or {}).items()}
        rows = evaluate(plan, tables, {})
        arrays = [
            pa.array([row.values[each.id] for row in rows], arrow_type(each.type) if each.type else None)
            for each in plan.attributes
        ]
        return pa.Table.from_arrays(arrays, names=[each.name for each in plan.attributes])

    def lookup(
        self, asked: KeyLookup, keys: Sequence[pa.Array], *, versions: Mapping[str, int], most: int
    ) -> pa.Table | None:
        found = self.run(asked.plan, versions=versions)
        for key, column in zip(asked.keys, keys, strict=True):
            wanted = set(column.to_pylist()) - {None}
            there = [cell in wanted for cell in found.column(key.name).to_pylist()]
            found = found.filter(pa.array(there, pa.bool_()))
        return found if found.num_rows <= most else None

    def update(self, table: str, insert: list[dict[str, Any]], delete: list[dict[str, Any]]) -> int:
        for row in delete:
            self.tables[table].remove(row)
        self.tables[table] += insert
        self.history.setdefault(table, []).append((insert, delete))
        return self.version(table)

    def news(self, seen: Mapping[str, int], wanted: Mapping[str, WantedRows]) -> News:
        return news_by_table(self, seen, wanted)  # type: ignore[arg-type]

    def changes(
        self,
        table: str,
        after: int,
        upto: int,
        *,
        columns: Sequence[str] | None = None,
        condition: s.Scalar | None = None,
    ) -> TableDelta:
        schema = self.types[table]
        net: Counter[tuple[Any, ...]] = Counter()
        for insert, delete in self.history.get(table, [])[after:upto]:
            net.update(tuple(row[name] for name in schema.names) for row in insert)
            net.subtract(tuple(row[name] for name in schema.names) for row in delete)
        rows = [dict(zip(schema.names, row, strict=True)) for row, count in net.items() if count]
        signs = [count for count in net.values() if count]
        if condition is not None:
            named = {each.id: each.name for each in s.attributes_in(condition)}
            kept = [value(condition, {id: row[name] for id, name in named.items()}) is True for row in rows]
            rows, signs = list(itertools.compress(rows, kept)), list(itertools.compress(signs, kept))
        found = pa.Table.from_pylist(rows, schema)
        return TableDelta(
            table, after, upto, found.select(columns) if columns else found, np.array(signs, np.int64)
        )


def _fragment_columns(table: str, row: Mapping[str, Any], fragments: Mapping[Slot, Ranges]) -> dict[str, int]:
    return {
        f"_fragment_{slot.attribute}": ranges.fragment(row[slot.attribute])
        for slot, ranges in fragments.items()
        if slot.table == table
    }
