"""Rows as users give them: by relation, in forms that have a length and can be read more than once; and types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.errors import DataError
from headwater.values import arguments
from headwater.values.arguments import relation_name
from headwater.values.scalars import class_name
from headwater.values.sources import held
from headwater.values.types import Type


def given_rows(argument: str, rows: Mapping[str, Any] | None) -> dict[str, Any]:
    """Rows by relation, without relations that get none."""
    return some_rows(by_relation(argument, rows))


def some_rows(rows: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the relations that get rows at all."""
    return {name: data for name, data in rows.items() if len(data)}


def by_relation(argument: str, rows: Mapping[str, Any] | None) -> dict[str, Any]:
    """Rows by relation, in forms that have a length and can be read more than once."""
    if rows is None:
        return {}
    if not isinstance(rows, Mapping):
        raise DataError(
            "wrong-type",
            f"{argument} takes rows by relation, not {class_name(rows)}",
            hint=f'{argument}={{"link": rows}}',
        )
    return {relation_name(name): _held(name, data) for name, data in rows.items()}


def _held(name: str, data: Any) -> Any:
    if hasattr(data, "toArrow"):  # a Spark DataFrame
        from headwater.spark.frames import arrow_of

        data = arrow_of(data)
    if hasattr(data, "__len__") or hasattr(data, "read_all") or hasattr(data, "collect"):
        return held(data, name)
    try:
        return list(data)
    except TypeError:
        raise DataError(
            "wrong-type",
            f"the rows of {name} are {class_name(data)}",
            hint="give a list of tuples, an Arrow table, a DataFrame or a numpy matrix",
        ) from None


def column_types(known: Mapping[str, Any]) -> dict[str, tuple[Type | None, ...]]:
    """Types of columns by relation, as users give them."""
    found = arguments.mapping("known", known, '{"link": (INT, INT)}')
    for name, types in found.items():
        if not isinstance(types, tuple) or not all(isinstance(type, Type | None) for type in types):
            raise arguments.wrong(f"known[{name!r}]", types, "a tuple of types, None where it is not known")
    return found
