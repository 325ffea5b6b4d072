"""Counting (Gupta, Mumick, Subrahmanian): every derivation counts. Sound without recursion only."""

from __future__ import annotations

from headwater.kernel.relation import Relation
from headwater.maintain.strategies.strategy import Strategy, Task
from headwater.rules.checked import Stratum


class Counting(Strategy):
    """Count all derivations of a row; at none it goes."""

    name = "counting"

    def refuses(self, stratum: Stratum) -> str | None:
        """Recursion is refused: a cycle of derivations would keep itself alive."""
        return (
            "it is recursive, and a cycle of derivations would count as its own support"
            if stratum.recursive
            else None
        )

    def refresh(self, task: Task) -> None:
        """Add and take off derivations."""
        task.change(Relation.subtract)
