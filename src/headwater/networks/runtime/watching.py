"""What `watch(relation)` shows: events as they happen, and rows that tables gain and lose, with time and node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headwater.networks.runtime.row_table import Row

EVENT_SIGN = "!"
"""Beside `+` and `-` of rows that come and go: an event."""


@dataclass(frozen=True)
class WatchedRow:
    """At a time, at a node (by number), a row came (`+`), went (`-`), or happened (`!`)."""

    time: float
    node: int
    relation: str
    sign: str
    row: Row

    def __str__(self) -> str:
        values = ", ".join(map(str, self.row))
        return f"{self.time:.3f} s  {self.sign} {self.relation}({values})"


class TracedTable:
    """Has the rows that a table gains and loses taken down, each with its sign."""

    def __init__(self, take_down: Callable[[str, Row], None]):
        self._take_down = take_down

    def appeared(self, row: Row) -> None:
        self._take_down("+", row)

    def vanished(self, row: Row) -> None:
        self._take_down("-", row)
