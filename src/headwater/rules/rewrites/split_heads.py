"""A rule with several heads becomes one rule for each."""

from __future__ import annotations

from dataclasses import replace

from headwater.rules.draft import Draft, DraftRule


def split_heads(draft: Draft) -> Draft:
    """One head a rule. The labels of the parts are the rule's, numbered.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.values.functions import Functions
    >>> draft = split_heads(begin(parse("a(X), b(X) :- c(X)."), Functions()))
    >>> [(rule.label, rule.relation) for rule in draft.rules]
    [('a#1/1', 'a'), ('a#1/2', 'b')]
    """
    return draft.with_rules(part for rule in draft.rules for part in _split(rule))


def _split(rule: DraftRule) -> list[DraftRule]:
    if len(rule.heads) == 1:
        return [rule]
    return [replace(rule, label=f"{rule.label}/{i}", heads=(head,)) for i, head in enumerate(rule.heads, 1)]
