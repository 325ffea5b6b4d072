"""What is known of each relation once all rules are rewritten: columns, types, key, lifetime, selections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headwater.errors import RuleError
from headwater.language.program import Materialize
from headwater.rules.checked import Aggregate, Kind, RelationInfo
from headwater.rules.draft import Draft
from headwater.rules.infer_types import Typing
from headwater.rules.shapes import Shape, column_names
from headwater.values.names import made_up


def relations(
    draft: Draft, shapes: Mapping[str, Shape], typing: Typing
) -> tuple[dict[str, RelationInfo], list[str]]:
    """Every relation, the user's first, in order of mention; and notes on what was ignored."""
    derived = {rule.relation for rule in draft.rules}
    columns = {relation: shape.columns for relation, shape in shapes.items()}
    for relation in draft.internal:
        columns[relation] = _internal_columns(draft, columns, relation)
    tables, notes = _tables(draft, shapes, derived)
    result = {}
    for relation, names in columns.items():
        table = tables.get(relation)
        result[relation] = RelationInfo(
            name=relation,
            columns=names,
            types=tuple(typing.column(relation, i) for i in range(len(names))),
            kind=_kind(draft, relation, derived),
            owner=draft.internal.get(relation),
            key=_key(table),
            lifetime=table.lifetime if table is not None else None,
            size=table.size if table is not None else None,
            selections=draft.selections.get(relation, ()),
            aggregate=_plain(draft.aggregates.get(relation)),
            named=_named(draft, shapes, relation),
        )
    return result, notes


def _named(draft: Draft, shapes: Mapping[str, Shape], relation: str) -> bool:
    """Whether somebody chose the names of the columns; a twin's are those of its view."""
    shape = shapes.get(draft.internal.get(relation) or relation)
    return shape is not None and shape.declared and not made_up(shape.columns)


def _kind(draft: Draft, relation: str, derived: set[str]) -> Kind:
    if relation not in derived:
        return Kind.BASE
    return Kind.HELPER if relation in draft.internal else Kind.STORED


def _key(table: Materialize | None) -> tuple[int, ...] | None:
    """The columns of the key, each once: `keys(2, 1, 2)` is a set."""
    return tuple(dict.fromkeys(table.keys)) or None if table is not None else None


def _plain(aggregate: Aggregate | None) -> Aggregate | None:
    """As the contract has it: count takes no argument."""
    if aggregate is not None and aggregate.function == "count":
        return replace(aggregate, argument=None)
    return aggregate


def _internal_columns(draft: Draft, columns: Mapping[str, tuple[str, ...]], relation: str) -> tuple[str, ...]:
    for facade, twin in draft.facades.items():
        if twin == relation:
            return columns[facade]
    heads = [rule.head for rule in draft.rules if rule.relation == relation]
    return column_names(len(heads[0].args), heads) if heads else ("c0",)


def _tables(
    draft: Draft, shapes: Mapping[str, Shape], derived: set[str]
) -> tuple[dict[str, Materialize], list[str]]:
    """The `materialize` lines of base relations; those of derived ones must not ask for anything."""
    tables: dict[str, Materialize] = {}
    notes: list[str] = []
    for table in draft.program.tables:
        if table.relation not in shapes:
            notes.append(f"the table {table.relation} is not used")
        elif table.relation not in derived:
            tables[table.relation] = table
        elif table.lifetime is not None or table.size is not None:
            raise RuleError(
                "unsupported",
                f"{table.relation} has rules; its rows cannot expire or be limited in number",
                place=table.place,
                hint="give the lifetime or size to the relations it is derived from, and `infinity` here",
            )
        elif table.keys:
            notes.append(f"the keys of {table.relation} are ignored: its rows come from rules")
    return tables, notes
