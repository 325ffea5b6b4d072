"""Two sides timed in turns, so that whatever else the machine does hits both."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from benchmarks.report import Kind, Measure, ReportRow, Target

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """How long some work took, in seconds, and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


@dataclass
class Duel:
    """One thing that both sides do, and what each repetition took them."""

    part: str
    what: str
    rival: str
    kind: Kind
    target: Target | None = None
    unit: Literal["s", "bytes", "rows"] = "s"
    series: str = ""
    size: int = 0
    detail: bool = False
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def time_ours(self, work: Callable[[], T]) -> T:
        """Do our side's work under the clock."""
        seconds, result = timed(work)
        self.ours.append(seconds)
        return result

    def row(
        self, note: str = "", *, by: Literal["median", "mean"] = "median", target: Target | None = None
    ) -> ReportRow:
        """The line of the report; by means, the target may be another."""
        return ReportRow(
            self.part,
            self.what if by == "median" else f"{self.what}, means",
            self.rival,
            Measure(tuple(self.ours), self.unit),
            Measure(tuple(self.theirs), self.unit),
            self.kind,
            target or self.target,
            by,
            note,
            self.series,
            self.size,
            self.detail,
        )
