"""The types a column can have.

A type is data: a name and, for lists, the type of the elements. An unknown type is `None` everywhere; it
unifies with any other. Unification never converts: an int column does not unify with a float column.

>>> unify(list_of(None), list_of(STRING))
Type(name='list', element=Type(name='string', element=None))
>>> str(parse_type("symbol")), str(parse_type("number")), str(list_of(INT))
('string', 'int', 'list[int]')
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass


@dataclass(frozen=True)
class Type:
    """A column's type; `element` is used by lists only."""

    name: str
    element: Type | None = None

    def __str__(self) -> str:
        """Write the type the way `parse_type` reads it."""
        return f"{self.name}[{self.element}]" if self.element is not None else self.name


INT = Type("int")
FLOAT = Type("float")
STRING = Type("string")
BOOL = Type("bool")
DATE = Type("date")
TIMESTAMP = Type("timestamp")


MOST_LEVELS = 32
"""How deep lists may be nested: Arrow reads files of up to 64 levels."""


def list_of(element: Type | None) -> Type:
    """The type of lists whose elements have the given type (`None`: not known yet)."""
    return Type("list", element)


_NAMES = {
    "int": INT, "integer": INT, "number": INT, "unsigned": INT, "bigint": INT, "long": INT, "int64": INT,
    "float": FLOAT, "double": FLOAT, "real": FLOAT, "float64": FLOAT,
    "string": STRING, "symbol": STRING, "str": STRING, "text": STRING, "varchar": STRING, "address": STRING,
    "bool": BOOL, "boolean": BOOL,
    "date": DATE, "timestamp": TIMESTAMP, "datetime": TIMESTAMP,
    "list": list_of(None),
}  # fmt: skip


def parse_type(name: str) -> Type | None:
    """The type called `name` in any of the dialects (`list[T]` too), or `None` if there is no such type."""
    name, levels = name.strip(), 0
    while name.startswith("list[") and name.endswith("]") and levels < MOST_LEVELS:
        name, levels = name[5:-1].strip(), levels + 1
    found = _NAMES.get(name.lower())
    for _ in range(levels if found is not None else 0):
        found = list_of(found)
    return found


class TypeClash(Exception):  # noqa: N818
    """Two types that do not unify; callers turn it into an error with a place."""

    def __init__(self, left: Type, right: Type):
        """Keep both for the message."""
        super().__init__(f"{left} and {right}")
        self.left = left
        self.right = right


def unify(left: Type | None, right: Type | None) -> Type | None:
    """The one type that both stand for; `None` when neither is known; raises `TypeClash` when they differ."""
    if left is None or right is None:
        return right if left is None else left
    if left.name != right.name:
        raise TypeClash(left, right)
    if left.name == "list":
        return list_of(unify(left.element, right.element))
    return left


def type_of(value: object) -> Type | None:
    """The type of a Python value, or `None` if no column can hold it."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT
    if isinstance(value, float):
        return FLOAT
    if isinstance(value, str):
        return STRING
    if isinstance(value, datetime.datetime):
        return TIMESTAMP
    if isinstance(value, datetime.date):
        return DATE
    if isinstance(value, (list, tuple)):
        element: Type | None = None
        for item in value:
            try:
                element = unify(element, type_of(item))
            except TypeClash:
                return None
        return list_of(element)
    return None


def types_to_json(types: tuple[Type | None, ...]) -> list[str | None]:
    """Types by name."""
    return [None if type_ is None else str(type_) for type_ in types]


def types_from_json(names: list[str | None]) -> tuple[Type | None, ...]:
    """Types from what `types_to_json` gave."""
    return tuple(None if name is None else parse_type(name) for name in names)
