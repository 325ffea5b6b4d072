"""Recompute: derive the whole stratum anew in every version. The oracle among the strategies."""

from __future__ import annotations

from headwater.maintain.strategies.strategy import Strategy, Task
from headwater.rules.checked import Stratum


class Recompute(Strategy):
    """Start over each time."""

    name = "recompute"

    def refuses(self, stratum: Stratum) -> str | None:
        return None

    def refresh(self, task: Task) -> None:
        """Derive the stratum from scratch."""
        task.recompute("strategy")
