"""What every part is given: the options, a way to show progress, and a place to put checks and notes."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from benchmarks.answers import Columns, columns_of, compare
from benchmarks.machine import load, machine, versions
from benchmarks.options import BenchmarkOptions
from benchmarks.pathway_rival import Pathway
from benchmarks.report import BenchmarkReport, Check, ReportRow
from headwater.database.relation_view import RelationView

DUCKDB = "DuckDB recompute"
PATHWAY = "Pathway"


class Onlooker(Protocol):
    """Somebody who watches a run."""

    def begin(self, part: str, steps: int) -> None:
        """A part starts, which will take so many steps."""

    def step(self, what: str) -> None:
        """A step of the part is done; `what` says what it was."""


class Unwatched:
    """Nobody watches."""

    def begin(self, part: str, steps: int) -> None:
        """Say nothing."""

    def step(self, what: str) -> None:
        """Say nothing."""


@dataclass
class Stage:
    """One run while it goes on."""

    options: BenchmarkOptions
    progress: Onlooker = field(default_factory=Unwatched)
    pathway: Pathway | None = None
    part: str = ""
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    started: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.timezone.utc))
    _clock: float = field(default_factory=time.perf_counter)
    _load: float = field(default_factory=load)

    def report(self, rows: Iterable[ReportRow]) -> BenchmarkReport:
        """All that was measured since this stage was made, and under which circumstances."""
        return BenchmarkReport(
            self.options,
            machine(self._load),
            versions(),
            self.started.isoformat(timespec="seconds"),
            time.perf_counter() - self._clock,
            tuple(rows),
            tuple(self.checks),
            tuple(self.notes),
        )

    def begin(self, part: str, steps: int) -> None:
        """A part starts."""
        self.part = part
        self.progress.begin(part, steps)

    def step(self, what: str) -> None:
        """A step of the part is done."""
        self.progress.step(what)

    def same(self, what: str, ours: RelationView | Columns, theirs: Columns, against: str) -> None:
        """Record that two answers are equal; raises `WrongAnswer` if they are not."""
        columns = columns_of(ours) if isinstance(ours, RelationView) else ours
        rows = compare(columns, theirs, f"{self.part}, {what}", against)
        self.checks.append(Check(self.part, what, against, rows))
