"""Propagation, as the strategy of stored views that read views which are not stored: their changes are
written."""

from __future__ import annotations

from headwater.maintain.strategies.strategy import Strategy, Task
from headwater.rules.checked import Stratum


class ByPropagation(Strategy):
    """Rows are written as they come and go, without ranks or counts. The engine knows what to write
    (`unstored`)."""

    name = "propagation"
    ranked = False

    def refuses(self, stratum: Stratum) -> str | None:
        return None

    def derive(self, task: Task) -> None:
        raise AssertionError("written by the engine")

    def refresh(self, task: Task) -> None:
        raise AssertionError("written by the engine")
