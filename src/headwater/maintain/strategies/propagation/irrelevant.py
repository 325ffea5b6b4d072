"""Irrelevant updates: changed rows that no rule can use, found by looking at the row and the rule alone.

A row is of no use to a premise if it has not the constants that stand there, or not equal values where a variable
stands twice, or if a test of the rule on its values alone fails (Blakeley, Coburn and Larson 1989).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from headwater.language.program import Constant, Term, Variable
from headwater.plan.steps import Ints
from headwater.rules.checked import Absent, CheckedRule, Premise, Test
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.layout import constant_code
from headwater.values.types import Type, type_of

Useful = Callable[[Ints], npt.NDArray[np.bool_]]
"""Which of some rows a rule can use."""


def useful(rule: CheckedRule, position: int, codec: Codec, functions: Functions) -> Useful:
    """Which rows of the premise at a position, come or gone, a rule can use."""
    item = rule.body[position]
    assert isinstance(item, Premise | Absent)
    places: dict[str, int] = {}
    constants: list[tuple[int, int]] = []
    equal: list[tuple[int, int]] = []
    for column, arg in enumerate(item.args):
        if isinstance(arg, Constant):
            constants.append((column, constant_code(codec, arg.value)))
        elif isinstance(arg, Variable):
            if arg.name in places:
                equal.append((places[arg.name], column))
            else:
                places[arg.name] = column
    tests = [part for part in rule.body if isinstance(part, Test) and _about(part, places)]

    def found(rows: Ints) -> npt.NDArray[np.bool_]:
        good = np.ones(rows.shape[0], np.bool_)
        for column, code in constants:
            good &= rows[:, column] == code
        for one, other in equal:
            good &= rows[:, one] == rows[:, other]
        for test in tests:
            if good.any():
                left, left_type = _values(test.left, places, rows[good], rule.types, codec)
                right, right_type = _values(test.right, places, rows[good], rule.types, codec)
                good[good] = functions.compare(test.op, left, right, left_type, right_type, codec)
        return good

    return found


def _about(test: Test, places: Mapping[str, int]) -> bool:
    """Whether a test is about values of the row, and constants, as they are."""
    return all(
        isinstance(term, Constant) or (isinstance(term, Variable) and term.name in places)
        for term in (test.left, test.right)
    )


def _values(
    term: Term, places: Mapping[str, int], rows: Ints, types: Mapping[str, Type | None], codec: Codec
) -> tuple[Ints, Type | None]:
    if isinstance(term, Variable):
        return np.ascontiguousarray(rows[:, places[term.name]]), types.get(term.name)
    assert isinstance(term, Constant)
    return np.full(rows.shape[0], constant_code(codec, term.value), np.int64), type_of(term.value)
