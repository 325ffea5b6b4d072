"""Functions of records, maps and decimals that a program writes without naming them.

`{name: X, age: Y}` makes a record, `R.name` takes a field of one, `decimal(X, 12, 2)` makes a decimal with so many
digits. Each is a *family* of functions: `{"name", "age"}`, `.name`, `decimal(12,2)` are names of members, which say
what they give.

>>> [overload.signature.text for overload in member('{"a", "b"}')]
['A, B -> {a: A, b: B}']
>>> str(member(".a")[0].signature.result([struct_of({"b": INT, "a": STRING})]))
'string'
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any

from headwater.values.decimals import to_decimal_overloads
from headwater.values.record import FrozenMap, Struct, record_fields
from headwater.values.signatures import NO_MATCH, NoMatch, Overload, computed, pointwise
from headwater.values.types import INT, STRING, Type, TypeClash, map_of, parse_type, struct_of, unify

__all__ = ["INT", "MAPS", "STRING", "member", "no_field"]


@lru_cache(maxsize=1000)
def member(name: str) -> tuple[Overload, ...]:
    """The overloads of a member of a family; none if the name is no member's."""
    if name.startswith("."):
        return (_field(name[1:]), _entry(name[1:]))
    fields = record_fields(name)
    if fields is not None:
        return (_make(name, tuple(fields)),)
    type_ = parse_type(name) if name.startswith("decimal(") else None
    return () if type_ is None else to_decimal_overloads(name, type_)


def no_field(function: str, given: Type | None) -> str:
    """Why a field cannot be taken of a value of this type."""
    if given is None or given.name != "struct":
        return f"{function} takes a record or a map with keys that are strings, given {given}"
    near = difflib.get_close_matches(function[1:], given.fields, n=1)
    fields = f"did you mean {near[0]}?" if near else f"its fields are {', '.join(given.fields)}"
    return f"the record has no field {function[1:]}; {fields}"


def _field(field: str) -> Overload:
    def result(types: Sequence[Type | None]) -> Type | None | NoMatch:
        (record,) = types
        if record is None:
            return None
        if record.name != "struct" or field not in record.fields:
            return NO_MATCH
        return record.parts[record.fields.index(field)]

    return computed(f".{field}", f"{{{field}: T}} -> T", 1, result, lambda record: record[field])


def _entry(field: str) -> Overload:
    def result(types: Sequence[Type | None]) -> Type | None | NoMatch:
        (found,) = types
        if found is None:
            return None
        return found.parts[1] if found.name == "map" and found.parts[0] in (None, STRING) else NO_MATCH

    return computed(f".{field}", "map[string, T] -> T", 1, result, lambda items: items.get(field))


def _make(name: str, fields: tuple[str, ...]) -> Overload:
    def result(types: Sequence[Type | None]) -> Type | None | NoMatch:
        return struct_of(dict(zip(fields, types, strict=True)))

    def make(*values: Any) -> Struct:
        return Struct(dict(zip(fields, values, strict=True)))

    letters = [chr(ord("A") + place % 26) for place in range(len(fields))]
    shown = ", ".join(f"{field}: {letter}" for field, letter in zip(fields, letters, strict=True))
    text = f"{', '.join(letters)} -> {{{shown}}}"
    return computed(name, text, len(fields), result, make, nulls=True)


# ------------------------------------------------------------------ maps


def _map_type(types: Sequence[Type | None]) -> Type | None | NoMatch:
    if len(types) % 2:
        return NO_MATCH
    try:
        return map_of(reduce(unify, types[::2], None), reduce(unify, types[1::2], None))
    except TypeClash:
        return NO_MATCH


def _map(*items: Any) -> FrozenMap:
    made = dict(zip(items[::2], items[1::2], strict=True))
    if len(made) < len(items) // 2:
        raise ValueError("a key is there twice")
    if None in made:
        raise ValueError("a key is null")
    return FrozenMap(made)


MAPS: Mapping[str, list[Overload]] = {
    "map": [computed("map", "K, V... -> map[K, V]", None, _map_type, _map, nulls=True)],
    "f_get": [pointwise("f_get", "map[K; V], K -> V", lambda items, key: items.get(key))],
    "f_keys": [pointwise("f_keys", "map[K; V] -> list[K]", tuple)],
    "f_values": [pointwise("f_values", "map[K; V] -> list[V]", lambda items: tuple(items.values()))],
}
