"""Texts that give a base relation a column more, or take one away: `.add column link(cost: int = 0)`,
`.drop column link(cost)`.

Rules that read the relation stay as they are meant: a column that comes is `_` in their bodies, one that goes is left
out there. What would have to be written anew is refused, with all places: a column that goes and that a rule makes
use of, and rows that rules derive or active rules insert. Facts of earlier texts have the default in the new column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from headwater.catalog.atom_edits import AtomEdit
from headwater.errors import LanguageError, Place, RuleError
from headwater.language.datalog import parse
from headwater.language.program import (
    Atom,
    Column,
    Constant,
    Declaration,
    Directive,
    Literal,
    Program,
    Term,
    Variable,
    Wildcard,
)
from headwater.rules.shapes import rule_atoms
from headwater.rules.terms import atoms, part_variables, variables

COLUMN_EDITS = ("add_column", "drop_column")
Value = TypeVar("Value")


@dataclass(frozen=True)
class ColumnEdit:
    """A column that comes to a relation, at the end, or goes from a place. Without a `default`, it is null."""

    relation: str
    column: Column
    place: int
    added: bool
    default: Constant | None = None

    def programs(self, programs: Sequence[Program]) -> list[Program]:
        """Earlier texts with the column, or without it."""
        edit = AtomEdit(self.relation, self.relation, self._read, self._stated)
        return [self._said(edit.program(program)) for program in programs]

    def columns(self, known: Sequence[Value], new: Value) -> tuple[Value, ...]:
        """What is known of each column, with that of the new one or without that of the old."""
        if self.added:
            return (*known, new)
        return (*known[: self.place], *known[self.place + 1 :])

    def _read(self, args: tuple[Term, ...]) -> tuple[Term, ...]:
        return self.columns(args, Wildcard()) if len(args) == self.place or not self.added else args

    def _stated(self, args: tuple[Term, ...]) -> tuple[Term, ...]:
        return self.columns(args, self.default or Constant(None))

    def _said(self, program: Program) -> Program:
        return replace(
            program,
            declarations=tuple(
                replace(each, columns=self.columns(each.columns, self.column))
                if each.relation == self.relation
                else each
                for each in program.declarations
            ),
            tables=tuple(
                replace(each, keys=tuple(key - (not self.added and key > self.place) for key in each.keys))
                if each.relation == self.relation
                else each
                for each in program.tables
            ),
        )


def column_edit(directive: Directive, programs: Sequence[Program]) -> ColumnEdit:
    """What a directive says, of a relation that the texts declare."""
    name = directive.relation
    declared = next((d for p in programs for d in p.declarations if d.relation == name), None)
    if declared is None:
        raise RuleError(
            "not-declared",
            f"columns of {name} cannot come and go: no text declares them",
            place=directive.place,
            hint=f"declare it first, as it is: {name}(...)., then change it",
        )
    if directive.kind == "add_column":
        return _added(directive, declared)
    known = [column.name for column in declared.columns]
    if directive.options["column"] not in known:
        raise RuleError(
            "unknown-column",
            f"{name} has no column {directive.options['column']}",
            place=directive.place,
            hint=f"its columns are {', '.join(known)}",
        )
    if len(known) == 1:
        raise RuleError(
            "unsupported",
            f"{known[0]} is the last column of {name}",
            place=directive.place,
            hint=f"drop the relation: .drop {name}",
        )
    place = known.index(directive.options["column"])
    return ColumnEdit(name, declared.columns[place], place, added=False)


def _added(directive: Directive, declared: Declaration) -> ColumnEdit:
    (statement,) = parse(f"r({directive.options['column']}).").declarations
    (column,) = statement.columns
    if any(column.name == known.name for known in declared.columns):
        raise RuleError(
            "duplicate-column",
            f"{directive.relation} has a column {column.name} already",
            place=directive.place,
            hint="give it another name",
        )
    written, default = directive.options.get("default"), None
    if written is not None:
        term = parse(f"r({written}).").rules[0].heads[0].args[0]
        if not isinstance(term, Constant):
            raise LanguageError(
                "syntax", f"a default is a value, not {written}", place=directive.place, hint="cost: int = 0"
            )
        default = term
    return ColumnEdit(directive.relation, column, len(declared.columns), True, default)


def has_column_edits(program: Program) -> bool:
    """Whether a text adds or drops columns."""
    return any(directive.kind in COLUMN_EDITS for directive in program.directives)


def column_edits(program: Program, earlier: Sequence[Program]) -> Iterator[ColumnEdit]:
    """What a text does to columns, one after another, of relations that earlier texts declare."""
    for directive in program.directives:
        if directive.kind in COLUMN_EDITS:
            edit = column_edit(directive, earlier)
            earlier = edit.programs(earlier)
            yield edit


def carried_columns(
    program: Program,
    earlier: Sequence[Program],
    known: Mapping[str, tuple[Value, ...]],
    new: Callable[[Column], Value],
) -> dict[str, tuple[Value, ...]]:
    """What is known of the columns of relations, as a text leaves it; `new` tells it of a column that comes."""
    found = dict(known)
    for edit in column_edits(program, earlier):
        if edit.relation in found:
            found[edit.relation] = edit.columns(found[edit.relation], new(edit.column))
    return found


def check_column_edits(program: Program, earlier: Sequence[Program], has_rows: Collection[str]) -> None:
    """Refuse what rules would have to be written anew for, and a new column that rows have no value for."""
    texts = list(earlier)
    for directive in (d for d in program.directives if d.kind in COLUMN_EDITS):
        name = directive.relation
        if any(atom.relation == name for rule in program.rules for atom, _ in rule_atoms(rule)):
            raise RuleError(
                "unsupported",
                f"{name} gets other columns in a text that also has rules or facts of it",
                place=directive.place,
                hint="put these into a text of their own, and define it afterwards",
            )
        edit = column_edit(directive, texts)
        places = list(_short_heads(edit, texts) if edit.added else _uses(edit, texts))
        if places:
            at = ", ".join(
                f"{place.source}:{place.line}:{place.column}" if place else "?" for place in places
            )
            what = "cannot be added: it would have no value" if edit.added else "cannot go: it is used"
            raise RuleError(
                "still-read" if not edit.added else "not-a-base-relation",
                f"column {edit.column.name} of {name} {what}, at {at}",
                place=directive.place,
                hint="change these rules first: replace_rule, or drop_rule",
            )
        if edit.added and edit.default is None and not edit.column.nullable and name in has_rows:
            raise RuleError(
                "no-default",
                f"{name} has rows, which have no value for {edit.column.name}",
                place=directive.place,
                hint=f"give a default, or let it take nulls: {edit.column.name}: {edit.column.type}?",
            )
        texts = edit.programs(texts)


def _short_heads(edit: ColumnEdit, texts: Sequence[Program]) -> Iterator[Place | None]:
    """Where rows of a relation are derived, or inserted by active rules."""
    for text in texts:
        for rule in text.rules:
            if rule.body:
                yield from (head.place or rule.place for head in rule.heads if head.relation == edit.relation)
        for active in text.active:
            for action in active.actions:
                if (
                    action.atom is not None
                    and action.kind != "call"
                    and action.atom.relation == edit.relation
                ):
                    yield action.place or active.place


def _uses(edit: ColumnEdit, texts: Sequence[Program]) -> Iterator[Place | None]:
    """Where a column has a value that matters: a constant, or a variable that stands elsewhere too; or is a key."""
    yield from _short_heads(edit, texts)
    for text in texts:
        yield from (t.place for t in text.tables if t.relation == edit.relation and edit.place in t.keys)
        for rule in (rule for rule in text.rules if rule.body):
            heads = [v.name for head in rule.heads for arg in head.args for v in variables(arg)]
            yield from _used(
                edit, [atom for atom, _ in rule_atoms(rule) if atom not in rule.heads], heads, rule.body
            )
        for query in text.queries:
            yield from _used(edit, [atom for atom, _ in atoms(query.body)], [], query.body)
        for active in text.active:
            inside = [active.event, *(atom for atom, _ in atoms(active.condition))]
            told = [v.name for a in active.actions if a.atom for arg in a.atom.args for v in variables(arg)]
            told += [v.name for arg in active.event.args for v in variables(arg)]
            yield from _used(edit, inside, told, active.condition)


def _used(
    edit: ColumnEdit, read: Sequence[Atom], also: Sequence[str], body: Sequence[Literal]
) -> Iterator[Place | None]:
    often = Counter(v.name for part in body for v in part_variables(part)) + Counter(also)
    for atom in read:
        if atom.relation == edit.relation and len(atom.args) > edit.place:
            arg = atom.args[edit.place]
            alone = isinstance(arg, Variable) and often[arg.name] <= 1
            if not isinstance(arg, Wildcard) and not alone:
                yield arg.place or atom.place
