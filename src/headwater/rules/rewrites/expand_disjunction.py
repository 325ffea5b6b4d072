"""`(a ; b)` in a body becomes two rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

from headwater.language.program import Disjunction, Literal, Positive
from headwater.rules.draft import Draft, DraftRule, helper_atom
from headwater.rules.terms import own_names, own_variables


def expand_disjunction(draft: Draft) -> Draft:
    """No disjunction is left in a rule's own body (bodies of aggregates in it are for `body_aggregates`).

    A rule that counts, sums or averages must see each binding once, whichever alternative gives it. Its
    alternatives become rules of an internal relation of the bindings, and the aggregate ranges over that. A
    variable that occurs in some alternatives only is then existential.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.values.functions import Functions
    >>> text = "p(X) :- q(X), (r(X) ; X > 3). n(count<X>) :- (q(X) ; r(X))."
    >>> print(render_draft(expand_disjunction(begin(parse(text), Functions()))))
    p#1/1: p(X) :- q(X), r(X).
    p#1/2: p(X) :- q(X), X > 3.
    n#1~rows/1: n#1~rows(X) :- q(X).
    n#1~rows/2: n#1~rows(X) :- r(X).
    n#1: n(count<X>) :- n#1~rows(X).
    """
    rules = []
    for rule in draft.rules:
        draft, expanded = expand_rule(draft, rule)
        rules.extend(expanded)
    return replace(draft, rules=tuple(rules))


def expand_rule(draft: Draft, rule: DraftRule) -> tuple[Draft, list[DraftRule]]:
    """The rules that stand for one rule, and the draft with the internal relation if one was needed."""
    if not any(isinstance(part, Disjunction) for part in rule.body):
        return draft, [rule]
    if any(a.function not in ("min", "max") for _, a in rule.head_aggregates()):
        return _expand_below(draft, rule)
    bodies = _alternatives(rule.body)  # type: ignore[arg-type]
    return draft, [replace(rule, label=f"{rule.label}/{i}", body=body) for i, body in enumerate(bodies, 1)]


def _expand_below(draft: Draft, rule: DraftRule) -> tuple[Draft, list[DraftRule]]:
    fresh = rule.fresh()
    bodies = _alternatives(fresh.named(part) for part in rule.body)  # type: ignore[misc]
    everywhere = set.intersection(*(own_names(alternative) for alternative in bodies))
    columns = [v for part in bodies[0] for v in own_variables(part) if v.name in everywhere]
    draft, relation = draft.helper(f"{rule.label}~rows", rule.relation)
    rows = helper_atom(relation, columns, rule.place)
    parts = [
        replace(rule, label=f"{relation}/{i}", heads=(rows,), body=alternative)
        for i, alternative in enumerate(bodies, 1)
    ]
    return draft, [*parts, replace(rule, body=(Positive(rows),))]


def _alternatives(body: Iterable[Literal]) -> list[tuple[Literal, ...]]:
    """All ways to choose one alternative of every disjunction, disjunctions inside them included."""
    choices: list[list[tuple[Literal, ...]]] = []
    for part in body:
        if isinstance(part, Disjunction):
            choices.append([chosen for a in part.alternatives for chosen in _alternatives(a)])
        else:
            choices.append([(part,)])
    return [tuple(part for chosen in way for part in chosen) for way in product(*choices)]
