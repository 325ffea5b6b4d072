"""A rule without premises reads a relation of one row."""

from __future__ import annotations

from dataclasses import replace

from headwater.language.program import Constant
from headwater.rules.checked import Premise
from headwater.rules.draft import Draft

UNIT = "~unit"


def anchor_rules(draft: Draft) -> Draft:
    """Every body has a premise from here on, so that every derivation starts from a row.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.rules.rewrites.orient_equalities import orient_equalities
    >>> from headwater.values.functions import Functions
    >>> draft = anchor_rules(orient_equalities(begin(parse("p(X) :- X = 1."), Functions())))
    >>> print(render_draft(draft), draft.facts)
    p#1: p(X) :- ~unit(1), X := 1. {'~unit': ((1,),)}
    """
    unit = Premise(UNIT, (Constant(1),))
    rules = tuple(
        rule
        if any(isinstance(item, Premise) for item in rule.body)
        else replace(rule, body=(unit, *rule.body))
        for rule in draft.rules
    )
    if rules == draft.rules:
        return draft
    internal = {**draft.internal, UNIT: UNIT}
    return replace(draft, rules=rules, internal=internal, facts={**draft.facts, UNIT: ((1,),)})
