"""Arithmetic on constants is done once, here."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from headwater.language.program import Call, Constant, Term
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.terms import plain, plain_atom, rebuild, rebuild_part
from headwater.values.literals import WrittenFloat
from headwater.values.special import LabelledNull
from headwater.values.types import type_of

_Number = int | float


def _divide(left: _Number, right: _Number) -> _Number:
    if isinstance(left, float):
        return left / right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: _Number, right: _Number) -> _Number:
    if isinstance(left, float):
        return math.fmod(left, right)
    return abs(left) % abs(right) * (-1 if left < 0 else 1)


_FOLDS: dict[str, Callable[[_Number, _Number], _Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
}


def fold_constants(draft: Draft) -> Draft:
    """`-1`, `1 + 2` and `[1, 2]` become constants, where the result fits and is a number.

    The results are those of the engine: `/` of ints truncates, `%` has the sign of the dividend, an int
    beside a float becomes one. What the engine refuses, such as a division by zero, is left to it.

    >>> rebuild(Call("+", (Constant(1), Call("neg", (Constant(3),)))), fold)
    Constant(value=-2, address=False)
    """
    return draft.with_rules(_fold_rule(rule) for rule in draft.rules)


def _fold_rule(rule: DraftRule) -> DraftRule:
    if not rule.body and all(isinstance(arg, Constant) for arg in rule.head.args):
        return rule
    if all(plain(head.args) for head in rule.heads) and all(map(plain_atom, rule.body)):
        return rule
    heads = tuple(replace(head, args=tuple(rebuild(arg, fold) for arg in head.args)) for head in rule.heads)
    return replace(rule, heads=heads, body=tuple(rebuild_part(part, fold) for part in rule.body))


def fold(term: Term) -> Term:
    """A constant in place of a call whose arguments are constants, where that is safe."""
    if not isinstance(term, Call) or not all(isinstance(arg, Constant) for arg in term.args):
        return term
    values = [arg.value for arg in term.args if isinstance(arg, Constant)]
    if term.function == "list":
        items = tuple(values)
        typed = type_of(items) is not None and not any(isinstance(item, LabelledNull) for item in items)
        return Constant(items, place=term.place) if typed else term
    result: object = None
    numbers = [value for value in values if type(value) in (int, float, WrittenFloat)]
    if term.function != "neg" and any(isinstance(value, float) for value in numbers):
        numbers = [float(value) for value in numbers]  # type: ignore[arg-type]
    if term.function == "neg" and len(numbers) == len(values) == 1:
        result = -numbers[0]  # type: ignore[operator]
    elif term.function in _FOLDS and len(numbers) == len(values) == 2:
        with suppress(ArithmeticError, ValueError):
            result = _FOLDS[term.function](*numbers)  # type: ignore[arg-type]
    if isinstance(result, int) and not -(2**63) <= result < 2**63:
        return term
    if result is None or (isinstance(result, float) and not math.isfinite(result)):
        return term
    return Constant(result, place=term.place)
