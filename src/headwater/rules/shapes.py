"""How many columns each relation has, what they are called, and which relations there are at all.

The first mention of a relation sets its arity (a declaration, else data, else the first atom in the text);
any other mention must agree. Columns are named by the declaration, else after the variables the text uses
there, else `c0`, `c1`, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

from headwater.errors import Place, RuleError
from headwater.language.program import ActiveRule, Atom, HeadAggregate, Program, Rule, Term, Variable
from headwater.rules.draft import Draft
from headwater.rules.terms import aggregates, atoms
from headwater.spelling import did_you_mean

DECLARED = "as declared"


@dataclass(frozen=True)
class Shape:
    """A relation's column names, where it was first mentioned, and how."""

    columns: tuple[str, ...]
    place: Place | None
    how: str

    @property
    def declared(self) -> bool:
        """Whether a declaration gives the names of the columns."""
        return self.how == DECLARED


def shapes(draft: Draft) -> dict[str, Shape]:
    """The shape of every relation of the user's. `draft` is as the text has it, before any rewrite."""
    program, known = draft.program, draft.known
    result: dict[str, Shape] = {}
    for declaration in program.declarations:
        names = tuple(column.name for column in declaration.columns)
        _refuse_twice(names, declaration.relation, declaration.place)
        _agree(result, declaration.relation, len(names), declaration.place, DECLARED)
        result.setdefault(declaration.relation, Shape(names, declaration.place, DECLARED))
    for relation, types in known.items():
        _agree(result, relation, len(types), None, "in its data")
        result.setdefault(relation, Shape((), None, "in its data"))
    uses: dict[str, list[Atom]] = {}
    for atom, _ in mentions(program):
        if atom.relation not in draft.taken and draft.functions.has(atom.relation):
            continue
        columns = len(known[atom.relation]) if atom.relation in known else len(atom.args)
        result.setdefault(atom.relation, Shape(("",) * columns, atom.place, "here"))
        uses.setdefault(atom.relation, []).append(atom)
    for relation, shape in result.items():
        arity = len(known[relation]) if shape.how == "in its data" else len(shape.columns)
        for atom in uses.get(relation, ()):
            _agree(
                {relation: Shape(("",) * arity, shape.place, shape.how)}, relation, len(atom.args), atom.place
            )
        if not shape.declared:
            names = column_names(arity, uses.get(relation, []))
            result[relation] = Shape(names, shape.place, shape.how)
    _check_directives(draft, result)
    return result


def mentions(program: Program) -> Iterator[tuple[Atom, bool]]:
    """Every atom of the text, and whether it is a head."""
    for rule in program.rules:
        yield from rule_atoms(rule)
    for query in program.queries:
        for atom, _ in atoms(query.body):
            yield atom, False
    for active in program.active:
        for atom in active_atoms(active):
            yield atom, False


def rule_atoms(rule: Rule) -> Iterator[tuple[Atom, bool]]:
    """Every atom of a rule, and whether it is a head."""
    for head in rule.heads:
        yield head, True
    for atom, _ in atoms(rule.body):
        yield atom, False
    for head in rule.heads:
        for atom, _ in _atoms_in(head.args):
            yield atom, False


def active_atoms(rule: ActiveRule) -> Iterator[Atom]:
    """Every atom of an active rule: its event, its condition, and the rows that it inserts and deletes."""
    yield rule.event
    for atom, _ in atoms(rule.condition):
        yield atom
    for action in rule.actions:
        if action.atom is not None and action.kind != "call":
            yield action.atom


def _atoms_in(terms: Sequence[Term]) -> Iterator[tuple[Atom, bool]]:
    for term in terms:
        for aggregate in aggregates(term):
            yield from atoms(aggregate.body)


def _agree(
    shapes: Mapping[str, Shape], relation: str, arity: int, place: Place | None, how: str = "here"
) -> None:
    shape = shapes.get(relation)
    if shape is None or len(shape.columns) == arity:
        return
    at = f" at line {shape.place.line}" if shape.place is not None else ""
    first = f"{shape.how}{at}" if shape.how != "here" else at.strip() or "elsewhere"
    raise RuleError(
        "arity-clash",
        f"{relation} has {_columns(arity)} {how}, but {_columns(len(shape.columns))} {first}",
        place=place or shape.place,
        hint="use `_` for a column that does not matter",
    )


def _columns(number: int) -> str:
    return f"{number} column" if number == 1 else f"{number} columns"


def _refuse_twice(names: Sequence[str], relation: str, place: Place | None) -> None:
    known: set[str] = set()
    for name in names:
        if name in known:
            raise RuleError(
                "duplicate-column",
                f"{relation} has two columns called {name}",
                place=place,
                hint="give each column a name of its own",
            )
        known.add(name)


def column_names(arity: int, uses: Sequence[Atom]) -> tuple[str, ...]:
    """A name a column, from the first variable that stands there; no name twice."""
    names: dict[str, None] = {}
    for i in range(arity):
        found = (name for atom in uses if (name := _name_of(atom.args[i])) and name not in names)
        made_up = (name for number in count(i) if (name := f"c{number}") not in names)
        names[next(chain(found, made_up))] = None
    return tuple(names)


def _name_of(term: Term) -> str | None:
    if isinstance(term, HeadAggregate):
        return term.argument.name if term.argument is not None else term.function
    return term.name.split("~")[0] if isinstance(term, Variable) else None


def unknown(relation: str, others: Iterable[str], place: Place | None) -> RuleError:
    """The error about a relation that nothing fills."""
    declare = f"declare it: .decl {relation}(...)"
    meant = did_you_mean(relation, others, most=3)
    return RuleError(
        "unknown-relation",
        f"{relation} is neither declared, nor derived by a rule, nor given rows",
        place=place,
        hint=f"{meant} If not, {declare}" if meant else declare,
    )


def _check_directives(draft: Draft, shapes: Mapping[str, Shape]) -> None:
    for directive in draft.program.directives:
        if directive.relation not in shapes and directive.kind != "watch":
            raise unknown(directive.relation, shapes, directive.place)
    for table in draft.program.tables:
        if table.relation in shapes:
            arity = len(shapes[table.relation].columns)
            for key in table.keys:
                if key >= arity:
                    raise RuleError(
                        "arity-clash",
                        f"key column {key + 1} of {table.relation}, which has {_columns(arity)}",
                        place=table.place,
                        hint="keys count columns from 1",
                    )
