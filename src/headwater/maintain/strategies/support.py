"""Ranked support, the default: a deletion costs what it takes away, also through recursion.

See `fixpoint` for the invariant. When a large part of the stratum is about to die, deriving it anew is cheaper
than taking it down and up again: then that is done, and the statistics say so.
"""

from __future__ import annotations

from headwater.kernel.relation import Relation
from headwater.maintain.fixpoint import COST_OF_SURE_DEATH, spent
from headwater.maintain.small_rounds import GiveUp
from headwater.maintain.strategies.strategy import Strategy, Task
from headwater.rules.checked import Stratum

FRACTION = 0.16
"""The part of a stratum whose death, if it is in doubt, makes recomputing cheaper; of rows that are not in doubt five
times as many (see `fixpoint.spent`). Both ways cost about the same for each row that joins look at. On closures of
random graphs, in one piece and in ten, and on pairs of one generation, deriving anew looks at 2.3 to 4 rows for each
that is stored, and counting off at 13 to 20 for each in doubt."""
FEWEST_DEAD_TO_GIVE_UP = 4096
"""Below this many dead rows it is never worth asking."""
FEWEST_LOSSES_TO_RECOMPUTE = 256
"""Below this many lost derivations they are counted off, however few would be derived again."""
MARGIN = 1.25
"""How far beyond what makes recomputing cheaper a change may go before it is given up: near its end it is not."""
GIVEN_UP = 2.0
"""How much would have been spent on a change that was given up, supposedly, beside what was."""
SUPPOSED_TOLL = 2.0
"""What is spent for each row that goes, supposedly, until some version shows it: as many come back."""
FORGETTING = 0.02
"""How much is forgotten of how far losses spread with each version that was not tried, and did not show it."""
MEMORY = 0.1
"""How much a version with few losses counts in what is remembered about how far losses spread."""


class Support(Strategy):
    """Count off lost derivations whose premises rank below the row.

    `spread` is what was `spent` in past versions for each derivation that was lost at first: what lets a change that
    would take down much of the stratum be seen before the work is done. As long as nothing is known, each is supposed
    to take a row along, and a part of what enters the stratum as large a part of its rows.

    A stratum that was derived anew does not show what counting off would have cost, but how many rows are gone. By
    `toll`, what was spent for each row that went where losses were counted off, that tells how far they spread, too.
    """

    name = "support"
    starts_over = True

    def __init__(self, fraction: float = FRACTION):
        self.fraction = fraction
        self.spread: float | None = None
        self.toll = SUPPOSED_TOLL

    def refuses(self, stratum: Stratum) -> str | None:
        return None

    def refresh(self, task: Task) -> None:
        """Count, unless a large part of the stratum would die."""
        if task.plain:
            self._count(task)
            return
        own = task.expected_losses()
        cost = own * self.spread if self.spread is not None else max(own, self._supposed(task))
        stored, losses, cost = task.totals(task.stored(), own, cost)
        limit = max(FEWEST_DEAD_TO_GIVE_UP, self.fraction * stored)
        before = task.stored()
        if cost > limit:
            task.recompute("large-change", mostly_new=losses > limit)
            if own and self.spread is not None:  # some is forgotten: else it would be so for ever
                known = self.toll * (before - task.live()) / own
                self.spread = max((1 - FORGETTING) * self.spread, known)
            return
        try:
            task.change(Relation.subtract, MARGIN * limit)
            cost, gone = spent(task.statistics), task.statistics.died - task.statistics.revived
        except GiveUp:
            task.recompute("support-lost", share=self.fraction)
            cost, gone = GIVEN_UP * spent(task.statistics), before - task.live()
        if own and task.redefined is None:
            if gone > 0:
                self.toll += self._weight(gone) * (cost / gone - self.toll)
            self._learn(own, losses, cost)

    def _learn(self, own: float, losses: float, cost: float) -> None:
        """Take in what losses came to, of which so many were our own."""
        known = 1.0 if self.spread is None else self.spread
        self.spread = known + self._weight(losses) * (cost / own - known)

    @staticmethod
    def _weight(seen: float) -> float:
        """How much it counts that something was seen so often."""
        return min(1.0, MEMORY + seen / FEWEST_DEAD_TO_GIVE_UP)

    @staticmethod
    def _supposed(task: Task) -> float:
        """What is spent, supposedly, where no version has shown it yet."""
        lost = task.expected_losses(entering=True)
        if not lost:
            return 0.0
        return COST_OF_SURE_DEATH * task.stored() * lost / (lost + task.expected_derivations())

    def _count(self, task: Task) -> None:
        """Where no row of the stratum depends on another, all is known beforehand: what losses cost, and what would
        be derived again."""
        own = task.expected_losses()
        if own <= FEWEST_LOSSES_TO_RECOMPUTE and task.rules.alone:
            task.in_one_pass()
            return
        losses, left = task.totals(own, task.expected_derivations())
        if losses > max(FEWEST_LOSSES_TO_RECOMPUTE, left):
            task.recompute("large-change", mostly_new=losses > 2 * left)
        else:
            task.change(Relation.subtract)
