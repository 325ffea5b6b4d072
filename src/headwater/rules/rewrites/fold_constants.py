"""Arithmetic on constants is done once, here."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace

from headwater.language.program import Call, Constant, Term
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.terms import rebuild, rebuild_part
from headwater.values.types import type_of

# Division, remainder and power have corners (zero, rounding, sign) that the engine decides: not folded.
_FOLDS: dict[str, Callable[[int | float, int | float], int | float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def fold_constants(draft: Draft) -> Draft:
    """`-1`, `1 + 2` and `[1, 2]` become constants, where the result fits and no type is mixed.

    >>> rebuild(Call("+", (Constant(1), Call("neg", (Constant(3),)))), fold)
    Constant(value=-2, address=False)
    """
    return replace(draft, rules=tuple(_fold_rule(rule) for rule in draft.rules))


def _fold_rule(rule: DraftRule) -> DraftRule:
    heads = tuple(replace(head, args=tuple(rebuild(arg, fold) for arg in head.args)) for head in rule.heads)
    return replace(rule, heads=heads, body=tuple(rebuild_part(part, fold) for part in rule.body))


def fold(term: Term) -> Term:
    """A constant in place of a call whose arguments are constants, where that is safe."""
    if not isinstance(term, Call) or not all(isinstance(arg, Constant) for arg in term.args):
        return term
    values = [arg.value for arg in term.args if isinstance(arg, Constant)]
    if term.function == "list":
        items = tuple(values)
        return term if type_of(items) is None else Constant(items, place=term.place)
    result: object = None
    if term.function == "neg" and len(values) == 1 and type(values[0]) in (int, float):
        result = -values[0]  # type: ignore[operator]
    elif term.function in _FOLDS and len(values) == 2:
        left, right = values
        if type(left) is type(right) and type(left) in (int, float):
            result = _FOLDS[term.function](left, right)  # type: ignore[arg-type]
    if isinstance(result, int) and not -(2**63) <= result < 2**63:
        return term
    if result is None or (isinstance(result, float) and not math.isfinite(result)):
        return term
    return Constant(result, place=term.place)
