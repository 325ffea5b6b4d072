"""Literals become items: each equality computes a variable or tests two values."""

from __future__ import annotations

from dataclasses import replace

from headwater.rules.draft import Draft
from headwater.rules.safety import check_head, schedule


def orient_equalities(draft: Draft) -> Draft:
    """Bodies are items from here on, and every rule is safe.

    Items stand in an order in which each variable is bound before it is used. An equality computes when one
    side is a variable without a value so far and the other side has one, in either direction.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.values.functions import Functions
    >>> draft = begin(parse("p(X) :- X = Y + 1, Y = Z, q(Z), Z != 3."), Functions())
    >>> print(render_draft(orient_equalities(draft)))
    p#1: p(X) :- q(Z), Y := Z, X := Y + 1, Z != 3.
    """
    rules = []
    for rule in draft.rules:
        rule = replace(rule, body=schedule(rule.body))
        check_head(rule)
        rules.append(rule)
    return draft.with_rules(rules)
