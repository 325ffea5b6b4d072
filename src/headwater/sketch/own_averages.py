"""Averages that a database rounds in a way of its own, and which of them are known here to the last digit.

PostgreSQL has all but averages of floats in some digits, DuckDB has all as floats. They are captured by the
database's own function. They are maintained by its rule (`maintain/database_averages`) where what the rule needs is
known, and else not maintained:

- of decimals, how many digits the values have: those of a column of a table do as it says. What expressions have is
  up to the database, and `numeric` without a number of digits has those of each value.
- DuckDB makes an average of decimals a sum and a count where a query asks for something else that needs them, and if
  it does so depends on whether its statistics know of NULLs: an average beside other sums, counts and averages of the
  same groups may be rounded in either way.

DuckDB does so with averages of integers, too. Of these, bounds are known that are almost always equal
(`integer_averages`). So conditions on them are maintained as what the bounds allow (`average_bounds`), and what
needs the average itself where they are equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.language.sql.algebra import (
    AggregateCall,
    Distinct,
    Except,
    GroupBy,
    Intersect,
    Named,
    NamedAggregate,
    Operator,
    Project,
    Scan,
    UnionAll,
    children,
    scalars_of,
    walk,
)
from headwater.language.sql.inference import type_of
from headwater.language.sql.scalars import Attribute, attributes_in
from headwater.sketch.maintain.database_averages import (
    AverageRule,
    DuckdbAverages,
    DuckdbIntegerAverages,
    PostgresAverages,
)
from headwater.values.types import INT

ROUNDED_ALIKE = {"postgres": ("float",), "duckdb": ("float",)}
"""Of databases that round some averages in a way of their own, the types with which they do not."""
_SHARED = ("count", "sum", "avg")
"""Aggregates that DuckDB makes sums and counts of."""


def has_own_averages(call: AggregateCall, dialect: str) -> bool:
    """Whether a system does so with averages of a call's argument."""
    known = None if call.argument is None else type_of(call.argument)
    return dialect in ROUNDED_ALIKE and (known is None or known.name not in ROUNDED_ALIKE[dialect])


def rounds_in_two_ways(plan: Operator, dialect: str) -> bool:
    """Whether a system has two ways to round some average of a plan, and what else is asked for decides."""
    calls = (item.call for each in walk(plan) if isinstance(each, GroupBy) for item in each.aggregates)
    return dialect == "duckdb" and any(
        call.function == "avg" and has_own_averages(call, dialect) for call in calls
    )


def averages_of(plan: Operator) -> frozenset[int]:
    """The attributes of a plan that are averages where they are made."""
    groups = (each for each in walk(plan) if isinstance(each, GroupBy))
    return frozenset(
        item.attribute.id for each in groups for item in each.aggregates if item.call.function == "avg"
    )


def deciding(plan: Operator) -> frozenset[int]:
    """The attributes of a plan that decide about rows; others are shown and no more."""
    found: set[int] = set()
    named: list[Named] = []
    for each in walk(plan):
        if isinstance(each, Project):
            named += each.columns
            continue
        if isinstance(each, Distinct | UnionAll | Except | Intersect):
            found |= {attribute.id for below in children(each) for attribute in below.attributes}
        found |= {attribute.id for scalar in scalars_of(each) for attribute in attributes_in(scalar)}
    for column in named:  # from the top down
        if column.attribute.id in found:
            found |= {attribute.id for attribute in attributes_in(column.expression)}
    return frozenset(found)


def own_average(
    call: AggregateCall, dialect: str, columns: frozenset[int], beside: Sequence[NamedAggregate]
) -> AverageRule | None:
    """How a database rounds such an average, `beside` other aggregates of the same groups; `None` if that is not
    known. `columns` are the attributes that are columns of tables (`table_columns`)."""
    argument = call.argument
    known = None if argument is None else type_of(argument)
    if known == INT:
        return PostgresAverages() if dialect == "postgres" else DuckdbIntegerAverages(call.function)
    if known is None or known.name != "decimal" or known.scale < 0:
        return None
    if not (isinstance(argument, Attribute) and argument.id in columns):
        return None
    if dialect == "postgres":
        return PostgresAverages()
    if any(other.call.function in _SHARED and other.call != call for other in beside):
        return None
    return DuckdbAverages(known.precision)


def table_columns(plan: Operator) -> frozenset[int]:
    """The attributes of a plan that are columns of tables, as they are or under another name."""
    found = {attribute.id for each in walk(plan) if isinstance(each, Scan) for attribute in each.attributes}
    named = [column for each in walk(plan) if isinstance(each, Project) for column in each.columns]
    for _ in named:
        more = {
            column.attribute.id
            for column in named
            if isinstance(column.expression, Attribute) and column.expression.id in found
        }
        if more <= found:
            break
        found |= more
    return frozenset(found)
