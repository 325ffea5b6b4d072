"""Bodies of very many premises become several rules."""

from __future__ import annotations

from dataclasses import replace

from headwater.rules.checked import Premise
from headwater.rules.draft import Draft, DraftRule, helper_atom
from headwater.rules.terms import names, part_variables, variables

MOST_PREMISES = 100
"""Running a rule takes a place on Python's stack for each of its premises, and time to order them."""


def cut_bodies(draft: Draft) -> Draft:
    """No body has more premises than can be joined in one go. Needs items in order, as `orient_equalities` has them.

    The first ones become an internal relation of the values that the others need; under an aggregate, which ranges
    over bindings, of all values.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.rewrites.orient_equalities import orient_equalities
    >>> from headwater.values.functions import Functions
    >>> body = ", ".join(f"e(X{i}, X{i + 1})" for i in range(150))
    >>> draft = orient_equalities(begin(parse(f"p(X0, X150) :- {body}."), Functions()))
    >>> for rule in cut_bodies(draft).rules:
    ...     print(rule.label, rule.relation, len(rule.body), [v.name for v in rule.head.args])
    p#1~first p#1~first 100 ['X0', 'X100']
    p#1 p 51 ['X0', 'X150']
    """
    rules: list[DraftRule] = []
    for rule in draft.rules:
        while _long(rule):
            draft, first, rule = _cut(draft, rule)
            rules.append(first)
        rules.append(rule)
    return draft.with_rules(rules)


def _long(rule: DraftRule) -> bool:
    if rule.aggregate is not None and rule.aggregate.demand is not None:
        return False
    return sum(isinstance(item, Premise) for item in rule.body) > MOST_PREMISES


def _cut(draft: Draft, rule: DraftRule) -> tuple[Draft, DraftRule, DraftRule]:
    places = [place for place, item in enumerate(rule.body) if isinstance(item, Premise)]
    end = places[MOST_PREMISES]
    first, rest = rule.body[:end], rule.body[end:]
    needed = names(rest) | {v.name for arg in rule.head.args for v in variables(arg)}
    if rule.aggregate is not None:
        needed |= names(first)
    kept = [v for item in first for v in part_variables(item) if v.name in needed]
    draft, name = draft.helper(f"{rule.label}~first", rule.relation)
    head = helper_atom(name, kept, rule.place)
    premise = Premise(name, head.args, rule.place)  # type: ignore[arg-type]
    made = replace(rule, label=name, heads=(head,), body=first, aggregate=None)
    return draft, made, replace(rule, body=(premise, *rest))
