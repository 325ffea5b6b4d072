"""Delete and rederive (Gupta, Mumick, Subrahmanian; described in liu-2008 section 3.2).

Every row that loses any derivation is deleted, with all its consequences; then those that can still be derived
come back. Needs no counts, and deletes far more than it must on well-connected data: the yardstick.
"""

from __future__ import annotations

from headwater.kernel.relation import Fallen, Relation
from headwater.maintain.strategies.strategy import Strategy, Task
from headwater.plan.steps import Ints
from headwater.rules.checked import Stratum


def overdelete(relation: Relation, tuples: Ints) -> Fallen:
    """Kill each derived row, however many derivations it has left."""
    return relation.kill(relation.find(tuples[:, : relation.arity]))


class DRed(Strategy):
    """Overdelete, then rederive."""

    name = "dred"

    def refuses(self, stratum: Stratum) -> str | None:
        return None

    def refresh(self, task: Task) -> None:
        """Delete too much, then bring back what still stands."""
        task.change(overdelete)
