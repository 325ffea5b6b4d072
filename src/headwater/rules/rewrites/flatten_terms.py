"""Arguments become plain: what is computed inside an atom moves out into an equality."""

from __future__ import annotations

from dataclasses import replace

from headwater.language.program import (
    Atom,
    BodyAggregate,
    Call,
    Comparison,
    Disjunction,
    Literal,
    Negated,
    Positive,
    Term,
    Variable,
)
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.terms import Fresh, plain, plain_atom
from headwater.values.functions import Functions


def flatten_terms(draft: Draft) -> Draft:
    """Arguments of atoms are variables, constants, wildcards and (in heads) head aggregates from here on.

    An aggregate in a body only stands as `X = aggregate` with a variable `X`, and its target is a variable.
    The equality that computes an argument comes before the atom: where its inputs are bound by then, the atom
    is looked up with the value. A generator (`range`) only stands as `X = generator` with an `X` of its own.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.values.functions import Functions
    >>> print(render_draft(flatten_terms(begin(parse("p(X + 1) :- q(X), r(X * 2)."), Functions()))))
    p#1: p(v~2) :- q(X), v~1 = X * 2, r(v~1), v~2 = X + 1.
    """
    return draft.with_rules(_flatten_rule(draft.functions, rule) for rule in draft.rules)


class _Lifter(Fresh):
    """Fresh names, and what must be lifted out of terms."""

    def __init__(self, functions: Functions, rule: DraftRule):
        super().__init__(rule.names())
        self.functions = functions


def _flatten_rule(functions: Functions, rule: DraftRule) -> DraftRule:
    if plain(rule.head.args) and all(map(plain_atom, rule.body)):
        return rule
    fresh = _Lifter(functions, rule)
    body = _flatten_body(rule.body, fresh)  # type: ignore[arg-type]
    after: list[Literal] = []
    args = tuple(_flatten_argument(arg, fresh, after) for arg in rule.head.args)
    return replace(rule.with_head(args), body=(*body, *after))


def _flatten_body(body: tuple[Literal, ...], fresh: _Lifter) -> tuple[Literal, ...]:
    result: list[Literal] = []
    for part in body:
        result.extend(_flatten(part, fresh))
    return tuple(result)


def _flatten(part: Literal, fresh: _Lifter) -> list[Literal]:
    before: list[Literal] = []
    if isinstance(part, (Positive, Negated)):
        args = tuple(_flatten_argument(arg, fresh, before) for arg in part.atom.args)
        atom: Atom = replace(part.atom, args=args)
        return [*before, replace(part, atom=atom)]
    if isinstance(part, Disjunction):
        return [Disjunction(tuple(_flatten_body(a, fresh) for a in part.alternatives), part.place)]
    assert isinstance(part, Comparison), "negate_groups comes first"
    if part.op in ("=", ":="):
        for one, other in ((part.left, part.right), (part.right, part.left)):
            if isinstance(one, Variable) and isinstance(other, BodyAggregate):
                return [Comparison("=", one, _flatten_aggregate(other, fresh), part.place)]
    left = _lift(part.left, fresh, before)
    right = _lift(part.right, fresh, before)
    return [*before, replace(part, left=left, right=right)]


def _flatten_argument(term: Term, fresh: _Lifter, out: list[Literal]) -> Term:
    value = _lift(term, fresh, out)
    if isinstance(value, Call):
        variable = fresh(place=term.place)
        out.append(Comparison("=", variable, value, term.place))
        return variable
    return value


def _lift(term: Term, fresh: _Lifter, out: list[Literal]) -> Term:
    """The term with variables in place of aggregates and generators, and the equalities that bind those."""
    if isinstance(term, Call):
        term = replace(term, args=tuple(_lift(arg, fresh, out) for arg in term.args))
        if fresh.functions.is_generator(term.function):
            variable = fresh(term.function, term.place)
            out.append(Comparison("=", variable, term, term.place))
            return variable
        return term
    if isinstance(term, BodyAggregate):
        variable = fresh(term.function, term.place)
        out.append(Comparison("=", variable, _flatten_aggregate(term, fresh), term.place))
        return variable
    return term


def _flatten_aggregate(term: BodyAggregate, fresh: _Lifter) -> BodyAggregate:
    body = _flatten_body(term.body, fresh)
    target = term.target
    if target is not None and not isinstance(target, Variable):
        variable = fresh(place=target.place)
        body = (*body, *_flatten(Comparison("=", variable, target, target.place), fresh))
        target = variable
    return replace(term, target=target, body=body)
