"""`!r(X, _)` becomes the negation of a projection of `r`."""

from __future__ import annotations

from dataclasses import replace

from headwater.language.program import Atom, Negated, Positive, Term, Variable, Wildcard
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
    projections: dict[tuple[str, tuple[int, ...]], DraftRule] = {}
    rules: list[DraftRule] = []
    for rule in draft.rules:
        body: list[Part] = []
        for part in rule.body:
            if isinstance(part, Negated) and any(isinstance(arg, Wildcard) for arg in part.atom.args):
                kept = tuple(i for i, arg in enumerate(part.atom.args) if not isinstance(arg, Wildcard))
                key = (part.atom.relation, kept)
                if key not in projections:
                    draft, projections[key] = _projection(draft, part.atom, kept)
                head = projections[key].head
                args = tuple(part.atom.args[i] for i in kept) or head.args
                part = Negated(replace(head, args=args, place=part.atom.place))
            body.append(part)
        rules.append(replace(rule, body=tuple(body)))
    return replace(draft, rules=(*rules, *projections.values()))


def _projection(draft: Draft, atom: Atom, kept: tuple[int, ...]) -> tuple[Draft, DraftRule]:
    name = f"{atom.relation}~{'.'.join(map(str, kept)) or 'any'}"
    draft, relation = draft.helper(name, atom.relation)
    columns = {i: Variable(f"c{i}") for i in kept}
    args: list[Term] = [columns.get(i, Wildcard()) for i in range(len(atom.args))]
    body = (Positive(Atom(atom.relation, tuple(args), place=atom.place)),)
    return draft, DraftRule(relation, (helper_atom(relation, columns.values()),), body, None, atom.place)
