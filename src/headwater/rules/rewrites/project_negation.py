"""`!r(X, _)` becomes the negation of a projection of `r`."""

from __future__ import annotations

from dataclasses import replace

from headwater.errors import Place
from headwater.language.program import Atom, Constant, Negated, Positive, Variable, Wildcard
from headwater.rules.draft import Draft, DraftRule, helper_atom
from headwater.rules.terms import Part


def project_negation(draft: Draft) -> Draft:
    """Negated atoms hold no wildcards from here on. Equal projections share one internal relation.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.values.functions import Functions
    >>> draft = project_negation(begin(parse("leaf(X) :- node(X), !link(X, _)."), Functions()))
    >>> print(render_draft(draft))
    leaf#1: leaf(X) :- node(X), !link~0(X).
    link~0: link~0(c0) :- link(c0, _).
    """
    made: list[DraftRule] = []
    rules: list[DraftRule] = []
    for rule in draft.rules:
        body: list[Part] = []
        for part in rule.body:
            if isinstance(part, Negated) and any(isinstance(arg, Wildcard) for arg in part.atom.args):
                place = part.atom.place
                kept = tuple(i for i, arg in enumerate(part.atom.args) if not isinstance(arg, Wildcard))
                draft, relation, new = project(draft, part.atom.relation, kept, len(part.atom.args), place)
                made += new
                args = tuple(part.atom.args[i] for i in kept) or (Constant(1),)
                part = Negated(Atom(relation, args, place=place))
            body.append(part)
        rules.append(rule.with_body(body))
    return draft.with_rules((*rules, *made))


def project(
    draft: Draft, relation: str, kept: tuple[int, ...], arity: int, place: Place | None
) -> tuple[Draft, str, list[DraftRule]]:
    """The draft with a projection of the relation to some columns, its name, and its rule unless it was there."""
    key = (relation, kept)
    if key in draft.projections:
        return draft, draft.projections[key], []
    draft, name = draft.helper(f"{relation}~{'.'.join(map(str, kept)) or 'any'}", relation)
    draft = replace(draft, projections={**draft.projections, key: name})
    columns = {i: Variable(f"c{i}") for i in kept}
    args = tuple(columns.get(i, Wildcard()) for i in range(arity))
    body = (Positive(Atom(relation, args, place=place)),)
    return draft, name, [DraftRule(name, (helper_atom(name, columns.values()),), body, None, place)]
