"""How many rows on nodes a goal may expect of a premise: the driver has no indexes to ask."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.language.program import Constant, Variable
from headwater.rules.checked import Premise

ROWS_OF_A_VIEW = 100_000
"""What a view is taken to have: the driver knows the sizes of base relations only."""


def guessed_fanout(premise: Premise, bound: set[str], sizes: Mapping[str, int]) -> float:
    """How many rows match one binding, if all columns are alike."""
    size = max(1, sizes.get(premise.relation, ROWS_OF_A_VIEW))
    known = sum(
        isinstance(arg, Constant) or (isinstance(arg, Variable) and arg.name in bound) for arg in premise.args
    )
    return float(size ** (1 - known / len(premise.args))) if known else size + 1e6
