"""Plans evaluated in the plainest way: nested loops over lists of rows, three-valued logic, lineage of each row.

Independent of everything but the data classes of plans. Lineage is that of the paper: the rows of tables that a row
of the answer was made of, all rows of a group for a group, all duplicates for a distinct row.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cmp_to_key
from types import MappingProxyType
from typing import Any

from headwater.language.sql.algebra import (
    AggregateCall,
    Distinct,
    Except,
    GroupBy,
    Inline,
    Intersect,
    Operator,
    Project,
    Scan,
    Select,
    SortKey,
    ThetaJoin,
    TopK,
    UnionAll,
    Window,
)
from headwater.language.sql.scalars import (
    And,
    Attribute,
    Case,
    Cast,
    Compare,
    Function,
    InList,
    IsNull,
    Like,
    Not,
    Or,
    Scalar,
    Value,
)

Database = Mapping[str, list[tuple[Any, ...]]]
Lineage = frozenset[tuple[int, int]]
"""Rows by the number of the access that read them, and their place in the table."""
Hidden = Mapping[int, frozenset[int]]
"""The rows that an access does not see, by its number."""


@dataclass(frozen=True)
class Annotated:
    """Values by attribute, and the rows that they come from."""

    values: dict[int, Any]
    lineage: Lineage


def answer(
    plan: Operator, database: Database, hidden: Hidden = MappingProxyType({})
) -> list[tuple[Any, ...]]:
    """The rows of a plan, in its order."""
    return [
        tuple(row.values[each.id] for each in plan.attributes) for row in evaluate(plan, database, hidden)
    ]


def provenance(plan: Operator, database: Database) -> Lineage:
    """All rows that the answer comes from."""
    return frozenset().union(*(row.lineage for row in evaluate(plan, database)))


def bag(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    """Rows in an order of their own, numbers alike whatever their kind."""
    return sorted(repr(tuple(map(_plain, row))) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, float | Decimal) and not isinstance(value, bool):
        return round(float(value), 6) + 0.0
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


# ------------------------------------------------------------------ scalars


def scalar(node: Scalar, row: Mapping[int, Any]) -> Any:
    match node:
        case Attribute(id=id):
            return row[id]
        case Value(value=value):
            return value
        case Compare(operator=operator, left=left, right=right):
            return compare(operator, scalar(left, row), scalar(right, row))
        case And(parts=parts):
            found = [scalar(part, row) for part in parts]
            return False if False in found else (None if None in found else True)
        case Or(parts=parts):
            found = [scalar(part, row) for part in parts]
            return True if True in found else (None if None in found else False)
        case Not(argument=argument):
            value = scalar(argument, row)
            return None if value is None else not value
        case IsNull(argument=argument):
            return scalar(argument, row) is None
        case InList(argument=argument, items=items):
            value = scalar(argument, row)
            found = [compare("=", value, scalar(item, row)) for item in items]
            return True if True in found else (None if None in found else False)
        case Case(branches=branches, otherwise=otherwise):
            for condition, result in branches:
                if scalar(condition, row) is True:
                    return scalar(result, row)
            return scalar(otherwise, row)
        case Like(argument=argument, pattern=pattern):
            value, like = scalar(argument, row), scalar(pattern, row)
            if value is None or like is None:
                return None
            return (
                re.fullmatch(re.escape(like).replace("%", ".*").replace("_", "."), value, re.DOTALL)
                is not None
            )
        case Cast(argument=argument, type=type):
            value = scalar(argument, row)
            return None if value is None else {"int": int, "float": float, "string": str}[type.name](value)
        case Function(name=name, arguments=arguments):
            return function(name, [scalar(argument, row) for argument in arguments])
    raise AssertionError(node)


def compare(operator: str, left: Any, right: Any) -> bool | None:
    if operator == "<=>":
        return left == right and (left is None) == (right is None)
    if left is None or right is None:
        return None
    return {
        "=": left == right,
        "<>": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[operator]


def function(name: str, values: list[Any]) -> Any:
    if name == "coalesce":
        return next((value for value in values if value is not None), None)
    if None in values:
        return None
    left, *rest = values
    match name:
        case "add":
            return left + rest[0]
        case "subtract":
            return left - rest[0]
        case "multiply":
            return left * rest[0]
        case "negate":
            return -left
        case "absolute":
            return abs(left)
        case "null_if":
            return None if left == rest[0] else left
        case "concatenate":
            return left + rest[0]
        case "year":
            assert isinstance(left, datetime.date)
            return left.year
    raise AssertionError(name)


# ------------------------------------------------------------------ operators


def evaluate(plan: Operator, database: Database, hidden: Hidden = MappingProxyType({})) -> list[Annotated]:
    """The rows of a plan with their lineage."""
    match plan:
        case Scan(table=table, attributes=attributes, access=access):
            unseen = hidden.get(access, frozenset())
            return [
                Annotated(
                    dict(zip((each.id for each in attributes), row, strict=True)),
                    frozenset({(access, number)}),
                )
                for number, row in enumerate(database[table])
                if number not in unseen
            ]
        case Inline(attributes=attributes, rows=rows):
            ids = [each.id for each in attributes]
            return [
                Annotated(dict(zip(ids, (scalar(cell, {}) for cell in row), strict=True)), frozenset())
                for row in rows
            ]
        case Select(condition=condition):
            return [
                row for row in evaluate(plan.input, database, hidden) if scalar(condition, row.values) is True
            ]
        case Project(columns=columns):
            return [
                Annotated(
                    {each.attribute.id: scalar(each.expression, row.values) for each in columns}, row.lineage
                )
                for row in evaluate(plan.input, database, hidden)
            ]
        case ThetaJoin():
            return join(plan, evaluate(plan.left, database, hidden), evaluate(plan.right, database, hidden))
        case UnionAll(inputs=inputs):
            return [row for each in inputs for row in renamed(each, plan, evaluate(each, database, hidden))]
        case Except() | Intersect():
            left = renamed(plan.left, plan, evaluate(plan.left, database, hidden))
            right = renamed(plan.right, plan, evaluate(plan.right, database, hidden))
            return difference(plan, left, right)
        case Distinct():
            return distinct(plan.attributes, evaluate(plan.input, database, hidden))
        case GroupBy():
            return group(plan, evaluate(plan.input, database, hidden))
        case Window():
            return window(plan, evaluate(plan.input, database, hidden))
        case TopK():
            rows = ordered(plan.order, evaluate(plan.input, database, hidden))
            start = 0 if plan.offset is None else plan.offset.value
            stop = None if plan.limit is None else start + plan.limit.value
            return rows[start:stop]
    raise AssertionError(plan)


def join(plan: ThetaJoin, left: list[Annotated], right: list[Annotated]) -> list[Annotated]:
    def matches(values: dict[int, Any]) -> bool:
        return plan.condition is None or scalar(plan.condition, values) is True

    if plan.kind == "semi":
        found = []
        for one in left:
            partners = [other for other in right if matches(one.values | other.values)]
            if partners:
                found.append(Annotated(one.values, one.lineage.union(*(other.lineage for other in partners))))
        return found
    if plan.kind == "anti":
        return [one for one in left if not any(matches(one.values | other.values) for other in right)]
    pairs = [
        (i, j, Annotated(one.values | other.values, one.lineage | other.lineage))
        for i, one in enumerate(left)
        for j, other in enumerate(right)
        if matches(one.values | other.values)
    ]
    rows = [row for _, _, row in pairs]
    nothing_left = {each.id: None for each in plan.left.attributes}
    nothing_right = {each.id: None for each in plan.right.attributes}
    if plan.kind in ("left", "full"):
        met = {i for i, _, _ in pairs}
        rows += [
            Annotated(one.values | nothing_right, one.lineage) for i, one in enumerate(left) if i not in met
        ]
    if plan.kind in ("right", "full"):
        met = {j for _, j, _ in pairs}
        rows += [
            Annotated(nothing_left | one.values, one.lineage) for j, one in enumerate(right) if j not in met
        ]
    return rows


def renamed(child: Operator, plan: Operator, rows: list[Annotated]) -> list[Annotated]:
    pairs = [(new.id, old.id) for new, old in zip(plan.attributes, child.attributes, strict=True)]
    return [Annotated({new: row.values[old] for new, old in pairs}, row.lineage) for row in rows]


def _key(attributes: Iterable[Attribute], row: Annotated) -> tuple[Any, ...]:
    return tuple(row.values[each.id] for each in attributes)


def distinct(attributes: tuple[Attribute, ...], rows: list[Annotated]) -> list[Annotated]:
    found: dict[tuple[Any, ...], Annotated] = {}
    for row in rows:
        key = _key(attributes, row)
        before = found.get(key)
        found[key] = row if before is None else Annotated(before.values, before.lineage | row.lineage)
    return list(found.values())


def difference(plan: Except | Intersect, left: list[Annotated], right: list[Annotated]) -> list[Annotated]:
    counts: dict[tuple[Any, ...], int] = {}
    for row in right:
        counts[_key(plan.attributes, row)] = counts.get(_key(plan.attributes, row), 0) + 1
    found = []
    for row in left if plan.all else distinct(plan.attributes, left):
        key = _key(plan.attributes, row)
        there = counts.get(key, 0) > 0
        if there and plan.all:
            counts[key] -= 1
        if there == isinstance(plan, Intersect):
            found.append(row)
    return found


def group(plan: GroupBy, rows: list[Annotated]) -> list[Annotated]:
    groups: dict[tuple[Any, ...], list[Annotated]] = {} if plan.keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(scalar(key.expression, row.values) for key in plan.keys), []).append(row)
    found = []
    for key, members in groups.items():
        values = {each.attribute.id: value for each, value in zip(plan.keys, key, strict=True)}
        values |= {each.attribute.id: aggregate(each.call, members) for each in plan.aggregates}
        found.append(Annotated(values, frozenset().union(*(row.lineage for row in members))))
    return found


def aggregate(call: AggregateCall, rows: list[Annotated]) -> Any:
    if call.argument is None:
        return len(rows)
    values = [value for row in rows if (value := scalar(call.argument, row.values)) is not None]
    if call.distinct:
        values = list(dict.fromkeys(values))
    if call.function == "count":
        return len(values)
    if not values:
        return None
    if call.function == "avg":
        return sum(values) / len(values)
    return {"sum": sum, "min": min, "max": max}[call.function](values)


def window(plan: Window, rows: list[Annotated]) -> list[Annotated]:
    found = [dict(row.values) for row in rows]
    lineage = [row.lineage for row in rows]
    for each in plan.calls:
        call = each.call
        keys = [tuple(scalar(part, row.values) for part in call.partition) for row in rows]
        for at, row in enumerate(rows):
            members = [other for key, other in zip(keys, rows, strict=True) if key == keys[at]]
            lineage[at] = lineage[at].union(*(other.lineage for other in members))
            before = [other for other in members if _compared(call.order, other, row) < 0]
            peers = [other for other in members if _compared(call.order, other, row) <= 0]
            if call.function == "rank":
                value: Any = len(before) + 1
            elif call.function == "dense_rank":
                value = len({repr(_sort_values(call.order, other)) for other in before}) + 1
            else:
                seen = peers if call.order else members
                argument = call.arguments[0] if call.arguments else None
                value = aggregate(AggregateCall(call.function, argument), seen)
            found[at][each.attribute.id] = value
    return [Annotated(values, origin) for values, origin in zip(found, lineage, strict=True)]


def _sort_values(order: tuple[SortKey, ...], row: Annotated) -> list[Any]:
    return [scalar(key.expression, row.values) for key in order]


def _compared(order: tuple[SortKey, ...], left: Annotated, right: Annotated) -> int:
    for key in order:
        one, other = scalar(key.expression, left.values), scalar(key.expression, right.values)
        if one is None or other is None:
            if (one is None) != (other is None):
                return -1 if (one is None) == key.nulls_first else 1
        elif one != other:
            return -1 if (one < other) != key.descending else 1
    return 0


def ordered(order: tuple[SortKey, ...], rows: list[Annotated]) -> list[Annotated]:
    return sorted(rows, key=cmp_to_key(lambda left, right: _compared(order, left, right)))
