"""What is known of each relation once all rules are rewritten: columns, types, key, lifetime, selections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headwater.errors import RuleError
from headwater.language.program import Materialize
from headwater.rules.checked import Aggregate, Kind, RelationInfo
from headwater.rules.draft import Draft
from headwater.rules.infer_types import Typing
from headwater.rules.locations import locations
from headwater.rules.nullability import Nullability, Nulls
from headwater.rules.shapes import Shape, column_names
from headwater.values.names import made_up


def relations(
    draft: Draft, shapes: Mapping[str, Shape], typing: Typing, nulls: Nullability
) -> tuple[dict[str, RelationInfo], list[str]]:
    """Every relation, the user's first, in order of mention; and notes on what was ignored."""
    derived = {rule.relation for rule in draft.rules}
    columns = {relation: shape.columns for relation, shape in shapes.items()}
    for relation in draft.internal:
        columns[relation] = _internal_columns(draft, columns, relation)
    tables, notes = _tables(draft, shapes, derived)
    located = locations(draft.program.rules)
    located |= {twin: located[facade] for facade, twin in draft.facades.items() if facade in located}
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
            aggregate=_counted(draft, nulls, relation),
            nullable=_nullable(draft, nulls, relation, len(names), derived),
            labelled=tuple(Nulls.LABELLED in nulls.column(relation, i) for i in range(len(names))),
            location=located.get(relation),
            named=_named(draft, shapes, relation),
        )
    return result, notes


def _named(draft: Draft, shapes: Mapping[str, Shape], relation: str) -> bool:
    """Whether somebody chose the names of the columns; a twin's are those of its view."""
    shape = shapes.get(draft.internal.get(relation) or relation)
    return shape is not None and shape.declared and not made_up(shape.columns)


def _kind(draft: Draft, relation: str, derived: set[str]) -> Kind:
    if relation in draft.roles.events:
        return Kind.EVENT
    if relation in draft.roles.state:
        return Kind.STATE
    if relation not in derived:
        return Kind.BASE
    return Kind.HELPER if relation in draft.internal else Kind.STORED


def _key(table: Materialize | None) -> tuple[int, ...] | None:
    """The columns of the key, each once: `keys(2, 1, 2)` is a set."""
    return tuple(dict.fromkeys(table.keys)) or None if table is not None else None


def _counted(draft: Draft, nulls: Nullability, relation: str) -> Aggregate | None:
    """The aggregate; count takes an argument only where that may be NULL, which it does not count."""
    aggregate = draft.aggregates.get(relation)
    if aggregate is None or aggregate.function != "count":
        return aggregate
    arguments = [
        (rule.aggregate.argument, nulls.variables(rule))
        for rule in draft.rules
        if rule.relation == relation and rule.aggregate is not None and rule.aggregate.argument is not None
    ]
    counted = next((arg for arg, held in arguments if Nulls.NULL in held.get(arg.name, Nulls.NONE)), None)
    return replace(aggregate, argument=counted)


def _nullable(
    draft: Draft, nulls: Nullability, relation: str, arity: int, derived: set[str]
) -> tuple[bool | None, ...]:
    """Of a base relation, what was said of it; of a view, what its rules can give."""
    if relation in derived:
        return tuple(bool(nulls.column(relation, i)) for i in range(arity))
    return nulls.base.get(relation, (None,) * arity)


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
        elif table.relation not in derived or table.relation in draft.roles.state:
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
