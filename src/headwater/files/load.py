"""The files of many relations as tables, with one look at all of them for the types nobody declared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.files.alike import ColumnAt, Types, TypesOf, groups
from headwater.files.cells import BadCell
from headwater.files.contents import Contents
from headwater.files.header import likely_header
from headwater.files.infer import infer, together
from headwater.files.typed import bad_cell, own_type, typed
from headwater.values.arrow_types import column_type
from headwater.values.arrow_values import python_values
from headwater.values.types import STRING, Type


def load(contents: Sequence[Contents], types_of: TypesOf) -> list[Any]:
    """A table (see `typed`) for each file, in order, whose columns have the relation's types.

    A type that neither a declaration nor a rule gives is the file's own (Parquet, Arrow, JSON), else that
    which all texts of the column, and of the columns that must be like it, have in common.
    """
    types = settle_types(contents, types_of)
    return [typed(one, tuple(type or STRING for type in types[one.relation])) for one in contents]


def settle_types(contents: Sequence[Contents], types_of: TypesOf) -> dict[str, Types]:
    """The types of the relations of these files; none is left open where there are rows to tell."""
    declared = types_of({})
    known: dict[str, Types] = {}
    for one in contents:
        before = known.get(one.relation, declared[one.relation])
        known[one.relation] = tuple(
            own_type(one, column) if type is None else type for column, type in enumerate(before)
        )
    everything = types_of(known)
    known = {name: everything[name] for name in known}
    texts: dict[ColumnAt, list[Contents]] = {}
    for one in contents:
        if one.kind == "text" and one.rows:
            for column, type in enumerate(known[one.relation]):
                if type is None or _is_open(type):
                    texts.setdefault((one.relation, column), []).append(one)
    for group in groups(types_of, known, [at for at in texts if known[at[0]][at[1]] is None]):
        found = together(_infer(one, column, None) for name, column in group for one in texts[name, column])
        for name, column in group:
            known[name] = _with(known[name], column, found)
    for (name, column), files in texts.items():
        type = known[name][column]
        if type is not None and _is_open(type):
            known[name] = _with(known[name], column, together(_infer(one, column, type) for one in files))
    return known


def _is_open(type: Type) -> bool:
    """Whether it is a list of something not known."""
    return type.name == "list" and (type.element is None or _is_open(type.element))


def _infer(contents: Contents, column: int, type: Type | None) -> Type:
    texts = contents.columns[column]
    try:
        found = infer(texts, type)
        if found == STRING and contents.first_line and contents.rows > 1 and infer(texts.slice(1)) != STRING:
            # Only the first of many texts is no number (date, bool).
            raise likely_header(contents.origin, contents.first_line, contents.relation, contents.names)
        return found
    except BadCell as bad:
        raise bad_cell(contents, bad.row, column, type or STRING, bad.reason) from None


def _with(types: Types, column: int, type: Type) -> Types:
    return (*types[:column], type, *types[column + 1 :])


def by_relation(contents: Sequence[Contents], tables: Sequence[Any]) -> dict[str, Any]:
    """The rows of all files, by relation; relations without rows are left out."""
    return together_by_relation([(one.relation, table) for one, table in zip(contents, tables, strict=True)])


def together_by_relation(tables: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Tables of the same relation as one, those without rows left out."""
    import pyarrow as pa

    found: dict[str, list[Any]] = {}
    for relation, table in tables:
        if len(table):
            found.setdefault(relation, []).append(table)
    joined: dict[str, Any] = {}
    for relation, parts in found.items():
        if len(parts) == 1:
            joined[relation] = parts[0]
            continue
        try:
            joined[relation] = pa.concat_tables(parts, promote_options="permissive")
        except (pa.ArrowException, TypeError):  # Arrow types that differ, or no columns at all
            joined[relation] = [row for part in parts for row in _tuples(part)]
    return joined


def _tuples(table: Any) -> list[tuple[Any, ...]]:
    if isinstance(table, list):
        return table
    values = (python_values(column, column_type(column)) for column in table.columns)
    return list(zip(*values, strict=True))
