"""`L := f_concat(L, M)` gives L another value: the one before gets a name of its own."""

from __future__ import annotations

from dataclasses import replace

from headwater.language.program import Comparison, Variable
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.terms import binding, substitute, variables


def rename_assigned(draft: Draft) -> Draft:
    """A variable has one value from here on, also where a rule assigns it again.

    Programs of P2 and RapidNet are read from left to right: what stands before `L := ...`, and its right side, speak
    of the value that L had; what stands behind it, and the head, of the new one. An assignment that does not mention
    its variable on the right is left as it is: where the variable has a value already, that is most likely a slip.
    Not so in programs with events, which are P2's: there it gives the variable another value, too.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.values.functions import Functions
    >>> draft = begin(parse("p(X, L) :- q(X, L), L := f_append(L, X)."), Functions())
    >>> print(render_draft(rename_assigned(draft)))
    p#1: p(X, L) :- q(X, L~1), L := f_append(L~1, X).
    """
    events = bool(draft.roles.events)
    return draft.with_rules(_renamed(rule, events) for rule in draft.rules)


def _renamed(rule: DraftRule, events: bool) -> DraftRule:
    for position, part in enumerate(rule.body):
        if not isinstance(part, Comparison) or part.op != ":=" or not isinstance(part.left, Variable):
            continue
        before, name = rule.body[:position], part.left.name
        mentioned = name in {variable.name for variable in variables(part.right)}
        if not mentioned and not (events and name in binding(before)):
            continue
        old = {name: rule.fresh()(name, part.left.place)}
        value = substitute(replace(part, left=part.right), old)
        assert isinstance(value, Comparison)
        assigned = replace(part, right=value.left)
        earlier = (substitute(item, old) for item in before)
        rule = rule.with_body((*earlier, assigned, *rule.body[position + 1 :]))
    return rule
