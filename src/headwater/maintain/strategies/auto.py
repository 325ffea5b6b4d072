"""Auto: counting where there is no recursion, ranked support where there is."""

from __future__ import annotations

from headwater.maintain.strategies.counting import Counting
from headwater.maintain.strategies.strategy import Strategy, Task
from headwater.maintain.strategies.support import Support
from headwater.rules.checked import Stratum


class Auto(Strategy):
    """The cheapest sound strategy for each stratum; `explain` and the statistics say which it was."""

    name = "auto"

    def __init__(self) -> None:
        self._counting = Counting()
        self._support = Support()

    def refuses(self, stratum: Stratum) -> str | None:
        return None

    def refresh(self, task: Task) -> None:
        """Choose by the stratum's shape."""
        chosen = self._support if task.rules.stratum.recursive else self._counting
        task.statistics.strategy = chosen.name
        chosen.refresh(task)
