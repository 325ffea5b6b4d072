"""Goals over rows that are on nodes: what they need is brought to the driver, and evaluated there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.language.program import Constant, Variable
from headwater.maintain.goals import GoalStatistics, Means, evaluate_goal
from headwater.plan.goals import GoalProgram
from headwater.plan.steps import Ints
from headwater.rules.checked import Premise
from headwater.values.codec import Codec

ROWS_OF_A_VIEW = 100_000
"""What a view is taken to have: the driver knows the sizes of base relations only."""

Fetch = Callable[[str, Codec], Ints]
"""All rows of a relation, as codes of a codec."""


def guessed_fanout(premise: Premise, bound: set[str], sizes: Mapping[str, int]) -> float:
    """How many rows match one binding, if all columns are alike."""
    size = max(1, sizes.get(premise.relation, ROWS_OF_A_VIEW))
    known = sum(
        isinstance(arg, Constant) or (isinstance(arg, Variable) and arg.name in bound) for arg in premise.args
    )
    return float(size ** (1 - known / len(premise.args))) if known else size + 1e6


def evaluate_on_nodes(
    program: GoalProgram, facts: Mapping[str, Ints], means: Means, fetch: Fetch
) -> tuple[Ints, GoalStatistics]:
    """The rows of the goal's relation, and what they cost."""
    gathered = {name: fetch(name, means.codec) for name in program.stored if name not in facts}
    return evaluate_goal(program, {}, facts, means, gathered)
