"""Sums that a database gives another type when it adds up sums: PostgreSQL's of integers.

`sum` of `integer` is a `bigint` there, and `sum` of `bigint` a `numeric`. The numbers are the same, but `/` cuts to a
whole number with one of them and not with the other, and `sqrt` has other digits. So a sum that such a function reads
is not put together from the sums of parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headwater.language.sql.algebra import (
    AggregateCall,
    Except,
    GroupBy,
    Intersect,
    Operator,
    Project,
    UnionAll,
    Window,
    scalars_of,
    walk,
)
from headwater.language.sql.inference import type_of
from headwater.language.sql.scalars import Attribute, Function, Scalar, attributes_in, walk_scalar
from headwater.values.types import INT

_OF_ANY_TYPE = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "remainder",
        "negate",
        "absolute",
        "coalesce",
        "null_if",
        "greatest",
        "least",
    ]
)
"""Functions that give the same number for the same numbers, whatever their types."""


def has_own_sums(call: AggregateCall, dialect: str) -> bool:
    """Whether sums of a call's sums have another type than these."""
    known = None if call.argument is None else type_of(call.argument)
    return dialect == "postgres" and call.function == "sum" and known in (INT, None)


def read_by_type(plan: Operator) -> frozenset[int]:
    """The attributes of a plan that are read, sooner or later, by a function that heeds their types."""
    found: set[int] = set()
    for operator in walk(plan):  # from the top down
        found |= in_typed_functions(scalars_of(operator))
        for attribute, sources in _made(operator):
            if attribute.id in found:
                found |= {source.id for source in sources}
    return frozenset(found)


def in_typed_functions(scalars: Iterable[Scalar]) -> set[int]:
    """The attributes that functions in some scalars read which heed types."""
    functions = (
        part
        for scalar in scalars
        for part in walk_scalar(scalar)
        if isinstance(part, Function) and part.name not in _OF_ANY_TYPE
    )
    return {attribute.id for function in functions for attribute in attributes_in(function)}


def _made(operator: Operator) -> Iterator[tuple[Attribute, Iterable[Attribute]]]:
    """The attributes that an operator makes, with what each is made of."""
    match operator:
        case Project(columns=columns):
            yield from ((each.attribute, attributes_in(each.expression)) for each in columns)
        case GroupBy(keys=keys, aggregates=aggregates):
            yield from ((each.attribute, attributes_in(each.expression)) for each in keys)
            for item in aggregates:
                yield item.attribute, () if item.call.argument is None else attributes_in(item.call.argument)
        case Window(calls=calls):
            for named in calls:
                parts = (attributes_in(argument) for argument in named.call.arguments)
                yield named.attribute, [attribute for part in parts for attribute in part]
        case UnionAll() | Except() | Intersect():
            inputs = operator.inputs if isinstance(operator, UnionAll) else (operator.left, operator.right)
            for at, attribute in enumerate(operator.attributes):
                yield attribute, [each.attributes[at] for each in inputs]
        case _:
            return
