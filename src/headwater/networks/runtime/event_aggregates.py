"""Aggregates of update rules: over the bindings that one event gives, or over those of one group.

Of nothing, a count is 0, a sum is 0, a list is empty, and anything else is null, as in P2.

>>> aggregate("count", []), aggregate("min", []), aggregate("min", [3, 1]), aggregate("list", [2, 1])
(0, None, 1, (2, 1))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.errors import EvaluationError
from headwater.values.scalars import show


def aggregates(functions: Sequence[str], columns: Sequence[Sequence[Any]]) -> list[Any]:
    """Several aggregates of the same bindings; a `witness` is of the binding that the min or max before it is of.

    >>> aggregates(["min", "witness", "count"], [[3, 1, 2], ["c", "a", "b"], [1, 1, 1]])
    [1, 'a', 3]
    """
    found: list[Any] = []
    best = 0
    for function, values in zip(functions, columns, strict=True):
        if function == "witness":
            found.append(None)
            continue
        value = aggregate(function, values)
        found.append(value)
        if function in ("min", "max") and values:
            best = list(values).index(value)
    return [
        (values[best] if values else None) if function == "witness" else value
        for function, values, value in zip(functions, columns, found, strict=True)
    ]


def aggregate(function: str, values: Sequence[Any]) -> Any:
    """The aggregate of some values, of which nulls count for nothing but in a list and in the count of all."""
    if function == "list":
        return tuple(values)
    there = [value for value in values if value is not None]
    if function == "count":
        return len(there)
    if function == "countdistinct":
        return len(set(there))
    if function == "sum":
        return sum(there)
    if not there:
        return None
    if function == "avg":
        return sum(there) / len(there)
    try:
        return min(there) if function == "min" else max(there)
    except TypeError:
        message = f"{function} of {', '.join(map(show, there[:3]))}: these are not of one kind"
        raise EvaluationError("not-comparable", message) from None
