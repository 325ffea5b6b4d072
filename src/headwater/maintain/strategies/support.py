"""Ranked support, the default: a deletion costs what it takes away, also through recursion.

See `fixpoint` for the invariant. When a large part of the stratum is about to die, deriving it anew is cheaper
than taking it down and up again: then that is done, and the statistics say so.
"""

from __future__ import annotations

from headwater.kernel.relation import Relation
from headwater.maintain.fixpoint import GiveUp
from headwater.maintain.strategies.strategy import Strategy, Task
from headwater.rules.checked import Stratum

FRACTION = 0.1
"""The part of a stratum whose death makes recomputing cheaper (measured on closures of random graphs)."""
FEWEST_DEAD_TO_GIVE_UP = 4096
"""Below this many dead rows it is never worth asking."""
MEMORY = 0.1
"""How much a version counts in what is remembered about how far losses spread."""


class Support(Strategy):
    """Count off lost derivations whose premises rank below the row.

    `spread` is how many rows died in past versions for each derivation that was lost at first: what lets a
    change that would take down much of the stratum be seen before the work is done.
    """

    name = "support"

    def __init__(self, fraction: float = FRACTION):
        self.fraction = fraction
        self.spread = 1.0

    def refuses(self, stratum: Stratum) -> str | None:
        return None

    def refresh(self, task: Task) -> None:
        """Count, unless a large part of the stratum would die."""
        own = task.expected_losses()
        stored, losses, deaths = task.totals(task.stored(), own, own * self.spread)
        limit = max(FEWEST_DEAD_TO_GIVE_UP, self.fraction * stored)
        if deaths > 2 * limit:
            task.recompute("large-change", mostly_new=losses > limit)
            return
        try:
            task.change(Relation.subtract, limit)
        except GiveUp:
            task.recompute("support-lost", share=self.fraction)
        if own and task.redefined is None:
            self.spread += MEMORY * (task.statistics.died / own - self.spread)
