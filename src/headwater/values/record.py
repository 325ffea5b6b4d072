"""Values made of named parts, and months: what Python has no hashable value for.

A `Struct` is a value of a struct column, a `FrozenMap` one of a map column. Both are immutable mappings, equal to any
mapping with the same items and hashable, so rows that hold them can be put into sets. `Months` is a value of a
year-month interval.

>>> ann = Struct({"name": "ann", "age": 3})
>>> ann, ann.name, ann == {"age": 3, "name": "ann"}, Months(14)
(Struct(name='ann', age=3), 'ann', True, Months(14))
>>> FrozenMap({"b": 2, "a": 1})
FrozenMap({'a': 1, 'b': 2})
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.errors import DataError
from headwater.values.misfit import class_name


class FrozenMap(Mapping[Any, Any]):
    """An immutable mapping, in the order of its keys."""

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[Any, Any]):
        """Take a copy of the items."""
        if not isinstance(items, Mapping):
            raise DataError("wrong-type", f"{type(self).__name__} takes a mapping, not {class_name(items)}")
        self._items: dict[Any, Any] = self._ordered(items)
        self._hash: int | None = None

    @staticmethod
    def _ordered(items: Mapping[Any, Any]) -> dict[Any, Any]:
        try:
            keys = sorted(items, key=lambda key: (key != key, key))  # NaN is above all
        except TypeError:
            keys = sorted(items, key=repr)  # keys that have no order of their own
        return {key: items[key] for key in keys}

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._items == dict(other.items())

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._items,)


class Struct(FrozenMap):
    """A value with named fields, in the order in which they were given; a field may be read as an attribute."""

    __slots__ = ()

    @staticmethod
    def _ordered(items: Mapping[Any, Any]) -> dict[Any, Any]:
        return dict(items)

    def __getattr__(self, field: str) -> Any:
        if field in FrozenMap.__slots__ or field not in self._items:  # the former, while it is being made
            raise AttributeError(f"the record has no field {field}")
        return self._items[field]

    def __repr__(self) -> str:
        return f"Struct({', '.join(f'{name}={value!r}' for name, value in self._items.items())})"


@dataclass(frozen=True, order=True)
class Months:
    """A number of months: twelve are a year, and no number of days is one."""

    months: int

    def __post_init__(self) -> None:
        if not isinstance(self.months, int) or isinstance(self.months, bool):
            raise DataError("wrong-type", f"Months takes a whole number, not {class_name(self.months)}")

    def __repr__(self) -> str:
        return f"Months({self.months})"


# ------------------------------------------------------------------ names of the functions that make and read records


def record_function(fields: Iterable[str]) -> str:
    """The name of the function that makes records with these fields.

    >>> record_function(["a", "b"])
    '{"a", "b"}'
    """
    return "{" + json.dumps(list(fields), ensure_ascii=False)[1:-1] + "}"


def record_fields(function: str) -> list[str] | None:
    """The fields of the records that a function makes; `None` if it makes none."""
    return json.loads(f"[{function[1:-1]}]") if function.startswith("{") else None


def field_function(field: str) -> str:
    """The name of the function that takes a field of a record."""
    return f".{field}"
