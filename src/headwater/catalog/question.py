"""A question to a catalog: its goal becomes a rule, checked together with the rules that it brings along.

What the question reads of the catalog are relations with known columns and types, whether they are stored or not. So
only the question itself is checked, however much is defined. Nothing that it defines is known to others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from headwater.catalog.catalog import Catalog
from headwater.catalog.doubtful import refuse_doubtful
from headwater.errors import RuleError
from headwater.language.program import (
    Atom,
    Comparison,
    Constant,
    Declaration,
    Disjunction,
    Literal,
    Positive,
    Program,
    Rule,
    Term,
    Variable,
)
from headwater.rules.check import check
from headwater.rules.checked import Absent, Checked, CheckedRule, Item, Premise, RelationInfo
from headwater.rules.terms import atoms, own_variables
from headwater.rules.unfilled import filled, unfilled
from headwater.spelling import did_you_mean

GOAL = "~goal"
"""The relation of the answers."""


@dataclass(frozen=True)
class Question:
    """A goal as a relation with rules, over the relations of a catalog.

    `rules` are those of all relations that are not stored: the question's own, and the catalog's. `facts` are the
    rows of the question's own base relations. `columns` are the variables of the goal, in the order in which they are
    written; where there are none, the goal's relation has one column that says nothing.
    """

    goal: str
    columns: tuple[str, ...]
    rules: tuple[CheckedRule, ...]
    infos: Mapping[str, RelationInfo]
    facts: Mapping[str, tuple[tuple[object, ...], ...]]

    @property
    def info(self) -> RelationInfo:
        """What is known of the answers."""
        return self.infos[self.goal]


def question(
    catalog: Catalog,
    program: Program,
    columns: tuple[str, ...] | None = None,
    terms: tuple[Term, ...] | None = None,
) -> Question:
    """What a text with one query asks of a catalog; answers have the given variables, or all that have names; or the
    values of `terms`, as the given columns."""
    (query,) = program.queries
    _refuse_definitions(catalog, program)
    if columns is None:
        bound = dict.fromkeys(name for part in query.body for name in _bound_by(part))
        columns = tuple(name for name in bound if not name.startswith("_"))
    head = (tuple(map(Variable, columns)) if terms is None else terms) or (Constant(1),)
    goal = Rule(None, (Atom(GOAL, head, place=query.place),), query.body, place=query.place)
    asked = replace(program, rules=(*program.rules, goal), queries=())
    declared = _declared(catalog, asked)
    asked = replace(asked, declarations=(*asked.declarations, *declared))
    known = {declaration.relation: catalog.info(declaration.relation).types for declaration in declared}
    _refuse_unknown(catalog, asked)
    refuse_doubtful(asked, replace(catalog, strict=False))
    checked = check(asked, catalog.functions, known=known)
    return _joined(catalog, checked, columns)


def _refuse_definitions(catalog: Catalog, program: Program) -> None:
    """A question's rules define relations of its own."""
    for rule in program.rules:
        for head in rule.heads:
            if head.relation in catalog.relations:
                raise RuleError(
                    "relation-taken",
                    f"{head.relation} is defined already; a question cannot add to it",
                    place=head.place or rule.place,
                    hint="derive a relation of another name and ask for that",
                )
    for directive in program.directives:
        raise RuleError(
            "unsupported",
            f".{directive.kind} has no meaning in a question",
            place=directive.place,
            hint="a question has rules and one goal",
        )


def _refuse_unknown(catalog: Catalog, program: Program) -> None:
    """No rows will come to a relation that a question alone mentions."""
    for mention in unfilled(program, catalog.functions, catalog.relations):
        there = [name for name in (*catalog.relations, *filled(program)) if name != GOAL]
        raise RuleError(
            "unknown-relation",
            f"there is no relation {mention.relation}",
            place=mention.place,
            hint=did_you_mean(mention.relation, there, most=3) or f"there are: {', '.join(there) or 'none'}",
        )


def _declared(catalog: Catalog, program: Program) -> list[Declaration]:
    """The relations of the catalog that a question mentions, as it knows them."""
    mentioned = dict.fromkeys(atom.relation for rule in program.rules for atom, _ in atoms(rule.body))
    own = {declaration.relation for declaration in program.declarations}
    found = []
    for name in mentioned:
        if name in catalog.relations and name not in own:
            found.append(Declaration(name, catalog.info(name).declared))
    return found


def _bound_by(part: Literal) -> Iterable[str]:
    """The variables that a part of a goal gives values to, so far as it is known without looking at the others."""
    if isinstance(part, Positive | Comparison):
        return [variable.name for variable in own_variables(part)]
    if isinstance(part, Disjunction):
        alternatives = [[name for inner in body for name in _bound_by(inner)] for body in part.alternatives]
        return [name for name in alternatives[0] if all(name in others for others in alternatives)]
    return []


def _joined(catalog: Catalog, checked: Checked, columns: tuple[str, ...]) -> Question:
    """The question's rules with those of the catalog that are not stored, no name or label meaning two things."""
    program = catalog.program
    own = {name for name, info in checked.relations.items() if name not in program.relations or info.internal}
    names = {name: name if name not in program.relations else f"{name}~asked" for name in own}

    def item(part: Item) -> Item:
        if isinstance(part, Premise | Absent) and part.relation in names:
            return replace(part, relation=names[part.relation])
        return part

    rules = [
        replace(
            rule,
            label=f"?{rule.label}",
            relation=names[rule.relation],
            body=tuple(map(item, rule.body)),
            aggregate=rule.aggregate
            and replace(rule.aggregate, demand=names.get(rule.aggregate.demand or "", rule.aggregate.demand)),
        )
        for stratum in checked.strata
        for rule in stratum.rules
    ]
    rules += [rule for stratum in program.virtual for rule in stratum.rules]
    infos = dict(program.relations)
    for name in own:
        info = checked.relations[name]
        infos[names[name]] = replace(
            info,
            name=names[name],
            aggregate=info.aggregate
            and replace(info.aggregate, demand=names.get(info.aggregate.demand or "", info.aggregate.demand)),
        )
    facts = {names[name]: checked.facts.get(name, ()) for name in own if checked.relations[name].base}
    return Question(names[GOAL], columns, tuple(rules), infos, facts)
