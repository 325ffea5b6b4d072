"""A relation that has rules and rows from outside gets a hidden twin for the latter."""

from __future__ import annotations

from dataclasses import replace

from headwater.language.program import Atom, Positive, Variable
from headwater.rules.draft import GIVEN, Draft, DraftRule


def split_inputs(draft: Draft) -> Draft:
    """A relation is base or derived from here on, never both.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.rules.rewrites.take_facts import take_facts
    >>> from headwater.values.functions import Functions
    >>> draft = begin(parse("reach(1, 2). reach(X, Y) :- link(X, Y)."), Functions())
    >>> draft = split_inputs(take_facts(draft))
    >>> print(render_draft(draft))
    reach#1: reach(X, Y) :- link(X, Y).
    reach~given: reach(c0, c1) :- reach~given(c0, c1).
    >>> list(draft.facts), draft.facades
    (['reach~given'], {'reach': 'reach~given'})
    """
    derived = {rule.relation: rule for rule in draft.rules}
    facts = dict(draft.facts)
    facades = dict(draft.facades)
    rules = list(draft.rules)
    for relation, rule in derived.items():
        if relation in draft.internal or not (relation in facts or relation in draft.given):
            continue
        draft, twin = draft.helper(f"{relation}{GIVEN}", relation)
        facades[relation] = twin
        if relation in facts:
            facts[twin] = facts.pop(relation)
        columns = tuple(Variable(f"c{i}") for i in range(len(rule.head.args)))
        head, given = Atom(relation, columns), Positive(Atom(twin, columns))
        rules.append(DraftRule(twin, (head,), (given,)))
    return replace(draft, rules=tuple(rules), facts=facts, facades=facades)
