"""Variables that are equal become one; a variable that equals a constant becomes the constant."""

from __future__ import annotations

from dataclasses import replace

from headwater.errors import RuleError
from headwater.language.program import Call, Constant, Term, Variable
from headwater.rules.checked import Compute, Test
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.fit_constants import fit, takes
from headwater.rules.infer_types import Typing, infer_types
from headwater.rules.terms import Part, part_variables, rebuild, substitute
from headwater.values.special import is_untyped
from headwater.values.types import type_of


def merge_equal(draft: Draft) -> Draft:
    """No equality of two variables of one type is left, nor of a variable and a constant of its type.

    A join that is written as a test, `q(X, Y), r(Z), Y = Z`, becomes one that an index can serve. An int and
    a float are left to the test, which compares them as numbers; so are variables whose types are not known.
    The variable of a generator stays its own.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.rules.rewrites.orient_equalities import orient_equalities
    >>> from headwater.values.functions import Functions
    >>> text = "q(x: int, y: int). r(x: int). p(X, K) :- q(X, Y), r(Z), Y = Z, X = 7, K = Z."
    >>> print(render_draft(merge_equal(orient_equalities(begin(parse(text), Functions())))))
    p#1: p(7, Y) :- q(7, Y), r(Y).
    """
    if not any(_merge(rule, item) for rule in draft.rules for item in rule.body):
        return draft
    typing = infer_types(draft)
    return draft.with_rules(_merge_all(typing, rule) for rule in draft.rules)


def _merge_all(typing: Typing, rule: DraftRule) -> DraftRule:
    todo = list(rule.body)
    kept: list[Part] = []
    generated = {
        item.variable.name
        for item in rule.body
        if isinstance(item, Compute)
        and isinstance(item.value, Call)
        and typing.functions.is_generator(item.value.function)
    }
    while todo:
        item = todo.pop(0)
        merge = _merge(rule, item, typing)
        if merge is None or generated & {v.name for v in part_variables(item)}:
            kept.append(item)
            continue
        name, value = merge
        values = {name: value}
        todo = [substitute(part, values) for part in todo]
        kept = [substitute(part, values) for part in kept]
        rule = _substitute_head(rule, name, value)
    return replace(rule, body=tuple(kept))


def _merge(
    rule: DraftRule, item: Part, typing: Typing | None = None
) -> tuple[str, Variable | Constant] | None:
    """The variable to replace and what by, if the item is such an equality and the types allow it."""
    if isinstance(item, Compute):
        left: Term = item.variable
        right = item.value
    elif isinstance(item, Test) and item.op == "=":
        left, right = item.left, item.right
    else:
        return None
    if isinstance(left, Constant):
        left, right = right, left
    if not isinstance(left, Variable) or not isinstance(right, (Variable, Constant)) or left == right:
        return None
    if typing is not None:
        type = typing.variable(rule, left.name)
        if isinstance(right, Constant):
            own = type_of(right.value)
            if not is_untyped(right.value) and (type is None or own is None or not takes(type, own)):
                return None
            try:
                right = replace(right, value=fit(right.value, type), type=type)
            except RuleError:
                return None  # no value of the type equals it
        elif isinstance(item, Test) and (type is None or type != typing.variable(rule, right.name)):
            return None
    if isinstance(right, Constant):
        argument = rule.aggregate.argument if rule.aggregate is not None else None
        return None if argument is not None and argument.name == left.name else (left.name, right)
    if "~" in right.name and "~" not in left.name:
        return right.name, left
    return (left.name, right) if isinstance(item, Compute) else (right.name, left)


def _substitute_head(rule: DraftRule, name: str, value: Variable | Constant) -> DraftRule:
    def change(term: Term) -> Term:
        return value if isinstance(term, Variable) and term.name == name else term

    aggregate = rule.aggregate
    if aggregate is not None and aggregate.argument is not None and isinstance(value, Variable):
        argument = rebuild(aggregate.argument, change)
        assert isinstance(argument, Variable)
        aggregate = replace(aggregate, argument=argument)
    return replace(rule.with_head(rebuild(arg, change) for arg in rule.head.args), aggregate=aggregate)
