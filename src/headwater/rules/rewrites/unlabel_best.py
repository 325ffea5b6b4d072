"""The best value of a group is never a labelled null: min and max take those for null."""

from __future__ import annotations

from dataclasses import replace

from headwater.language.program import Call, Variable
from headwater.rules.checked import Compute
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.nullability import Nullability, Nulls, infer_nullability


def unlabel_best(draft: Draft) -> Draft:
    """Rules whose head aggregate is min or max of what may be a labelled null select NULL in its place.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.rules.rewrites.head_aggregates import head_aggregates
    >>> from headwater.rules.rewrites.orient_equalities import orient_equalities
    >>> from headwater.values.functions import Functions
    >>> draft = begin(parse("q(k: int, v: int?). p(X, min<Y>) :- q(X, Y). r(X, max<X>) :- q(X, _)."), Functions())
    >>> print(render_draft(unlabel_best(orient_equalities(head_aggregates(draft)))))
    p#1: p(X, min~1) :- q(X, Y), min~1 := unlabelled(Y).
    r#1: r(X, X) :- q(X, _).
    """
    if not draft.selections:
        return draft
    nulls = infer_nullability(draft)
    return replace(draft, rules=tuple(_unlabel(draft, nulls, rule) for rule in draft.rules))


def _unlabel(draft: Draft, nulls: Nullability, rule: DraftRule) -> DraftRule:
    for selection in draft.selections.get(rule.relation, ()):
        value = rule.head.args[selection.value]
        if not isinstance(value, Variable):
            continue
        if Nulls.LABELLED not in nulls.variables(rule).get(value.name, Nulls.NONE):
            continue
        fresh = rule.fresh()(selection.best, value.place)
        args = list(rule.head.args)
        args[selection.value] = fresh
        computed = Compute(fresh, Call("unlabelled", (value,), value.place), value.place)
        rule = replace(rule.with_head(args), body=(*rule.body, computed))
    return rule
