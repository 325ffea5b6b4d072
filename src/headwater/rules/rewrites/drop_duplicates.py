"""The same premise twice in a body, or the same rule twice, is kept once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from headwater.language.program import Call, Constant, Term, Variable, Wildcard
from headwater.rules.checked import Absent, Premise, Test
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.terms import Part, part_terms, variables


def drop_duplicates(draft: Draft) -> Draft:
    """Bodies and rules are sets. Rules that differ only in the names of their variables are the same.

    Not so where they count, sum or average: bindings of different rules are different. Only what is written twice,
    word by word, is one rule.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.rules.rewrites.orient_equalities import orient_equalities
    >>> from headwater.values.functions import Functions
    >>> draft = begin(parse("p(X) :- q(X), q(X). p(A) :- q(A)."), Functions())
    >>> print(render_draft(drop_duplicates(orient_equalities(draft))))
    p#1: p(X) :- q(X).
    """
    rules: dict[Hashable, DraftRule] = {}
    for rule in draft.rules:
        numbers: dict[str, int] = {}
        once: dict[Hashable, Part] = {}
        for item in rule.body:
            once.setdefault(_key(item, numbers), item)
        if len(once) < len(rule.body):
            rule = replace(rule, body=tuple(once.values()))
        same = rules.setdefault(_rule_key(rule), rule)
        if same is not rule and rule.relation not in draft.internal:
            draft = draft.note(f"{rule.label} says the same as {same.label} and was left out")
    return draft.with_rules(rules.values())


def _rule_key(rule: DraftRule) -> Hashable:
    """What a rule says, its variables numbered in order of appearance."""
    numbers: dict[str, int] = {}
    head = tuple(_term_key(term, numbers) for term in rule.head.args)
    body = tuple(_key(item, numbers) for item in rule.body)
    if rule.aggregate is None:
        return rule.relation, head, body
    written = " ".join(rule.text.split()) or rule.label
    return rule.relation, tuple(v.name for term in rule.head.args for v in variables(term)), written


def _key(part: Part, numbers: dict[str, int]) -> Hashable:
    terms = tuple(_term_key(term, numbers) for term in part_terms(part))
    if isinstance(part, (Premise, Absent)):
        return type(part), part.relation, terms
    return type(part), part.op if isinstance(part, Test) else "", terms


def _term_key(term: Term, numbers: dict[str, int]) -> Hashable:
    if isinstance(term, Variable):
        return numbers.setdefault(term.name, len(numbers))
    if isinstance(term, Constant):
        return type(term.value), repr(term.value)  # 1, 1.0 and True are equal in Python, not here
    if isinstance(term, Call):
        return term.function, tuple(_term_key(arg, numbers) for arg in term.args)
    assert isinstance(term, Wildcard)
    return "_"
