"""Long expressions are computed in steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headwater.language.program import (
    BodyAggregate,
    Call,
    Comparison,
    Disjunction,
    Literal,
    Negated,
    Positive,
    Term,
)
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.terms import Fresh, plain, plain_atom

MOST_NESTED = 40
"""So deeply calls may be nested in one another."""


def cut_terms(draft: Draft) -> Draft:
    """Terms are nested so little from here on that a function may call itself for each level.

    A chain of operators is as deep as it is long. What is further inside gets a variable of its own, and an equality
    before the literal it is in.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.values.functions import Functions
    >>> draft = begin(parse(f"p(Y) :- q(X), Y = X{100 * ' + 1'}."), Functions())
    >>> [part.left.name for part in cut_terms(draft).rules[0].body[1:]]
    ['v~1', 'v~2', 'Y']
    """
    return draft.with_rules(_cut_rule(rule) for rule in draft.rules)


def _cut_rule(rule: DraftRule) -> DraftRule:
    if not rule.body or (plain(rule.head.args) and all(map(plain_atom, rule.body))):
        return rule
    fresh = _Names(rule)
    body = _cut_body(rule.body, fresh)  # type: ignore[arg-type]
    after: list[Literal] = []
    args = tuple(_cut(arg, fresh, after) for arg in rule.head.args)
    return replace(rule.with_head(args), body=(*body, *after))


class _Names:
    """New variables of a rule; most rules need none, and are not searched for their names then."""

    def __init__(self, rule: DraftRule):
        self._rule = rule
        self._fresh: Fresh | None = None

    def __call__(self, term: Term) -> Term:
        if self._fresh is None:
            self._fresh = self._rule.fresh()
        return self._fresh(place=term.place)


def _cut_body(body: Iterable[Literal], fresh: _Names) -> tuple[Literal, ...]:
    return tuple(part for literal in body for part in _cut_literal(literal, fresh))


def _cut_literal(literal: Literal, fresh: _Names) -> list[Literal]:
    before: list[Literal] = []
    if isinstance(literal, (Positive, Negated)):
        args = tuple(_cut(arg, fresh, before) for arg in literal.atom.args)
        return [*before, replace(literal, atom=replace(literal.atom, args=args))]
    if isinstance(literal, Disjunction):
        return [Disjunction(tuple(_cut_body(a, fresh) for a in literal.alternatives), literal.place)]
    assert isinstance(literal, Comparison), "negate_groups comes first"
    left, right = _cut(literal.left, fresh, before), _cut(literal.right, fresh, before)
    return [*before, replace(literal, left=left, right=right)]


def _cut(term: Term, fresh: _Names, out: list[Literal]) -> Term:
    """The term, not too deep; what had to be cut off goes to `out`."""
    done: list[tuple[Term, int]] = []
    todo: list[tuple[Term, bool]] = [(term, False)]
    while todo:
        inner, entered = todo.pop()
        if isinstance(inner, BodyAggregate):
            target = inner.target
            before: list[Literal] = []
            if target is not None:
                target = _cut(target, fresh, before)
            done.append((replace(inner, target=target, body=(*_cut_body(inner.body, fresh), *before)), 0))
        elif not isinstance(inner, Call):
            done.append((inner, 0))
        elif not entered:
            todo.append((inner, True))
            todo += [(arg, False) for arg in reversed(inner.args)]
        else:
            first = len(done) - len(inner.args)
            depth = 1 + max((depth for _, depth in done[first:]), default=0)
            call = Call(inner.function, tuple(arg for arg, _ in done[first:]), inner.place)
            del done[first:]
            if depth > MOST_NESTED:
                variable = fresh(call)
                out.append(Comparison("=", variable, call, call.place))
                done.append((variable, 0))
            else:
                done.append((call, depth))
    return done[0][0]
