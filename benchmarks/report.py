"""What was measured, as data: nothing here measures and nothing here draws.

>>> ours, theirs = Measure((1.0, 2.0, 9.0)), Measure((100.0, 200.0, 300.0))
>>> row = ReportRow("closure", "delete 1", "DuckDB", ours, theirs, "faster", Target("at least", 50))
>>> row.figure, row.by_means, row.met
(100.0, 50.0, True)
"""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchmarks.options import BenchmarkOptions

Kind = Literal["faster", "longer"]
"""How a ratio is read: "faster" is theirs / ours, "longer" is ours / theirs."""
OTHER_SYSTEMS = ("DuckDB", "Nemo", "Pathway")
"""What the names of rivals begin with that are neither another way of ours nor a bound."""


@dataclass(frozen=True)
class Measure:
    """Repeated measurements of one thing, in seconds, bytes or rows."""

    values: tuple[float, ...]
    unit: Literal["s", "bytes", "rows"] = "s"

    @property
    def median(self) -> float:
        """The value in the middle."""
        return statistics.median(self.values)

    @property
    def mean(self) -> float:
        """The average, which a few dear changes dominate."""
        return statistics.fmean(self.values)

    @property
    def p95(self) -> float:
        """The value that 95 of 100 do not exceed (the next one up, where there are few)."""
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, -(-95 * len(ordered) // 100) - 1)]


@dataclass(frozen=True)
class Target:
    """What a ratio should come to."""

    bound: Literal["at least", "at most"]
    value: float

    def met(self, figure: float) -> bool:
        """Whether the figure keeps the bound."""
        return figure >= self.value if self.bound == "at least" else figure <= self.value


@dataclass(frozen=True)
class ReportRow:
    """One line of the report. Rows without a target are for information.

    `series` and `size` place a row in a picture of many sizes; a `detail` is left out on a terminal.
    """

    part: str
    what: str
    rival: str
    ours: Measure
    theirs: Measure
    kind: Kind
    target: Target | None = None
    by: Literal["median", "mean"] = "median"
    note: str = ""
    series: str = ""
    size: int = 0
    detail: bool = False

    @property
    def figure(self) -> float:
        """The ratio of medians (or of means, where the row says so)."""
        return self._ratio(self.by)

    @property
    def by_means(self) -> float:
        """The ratio of means."""
        return self._ratio("mean")

    @property
    def met(self) -> bool | None:
        """Whether the target is met; `None` if there is none."""
        return None if self.target is None else self.target.met(self.figure)

    @property
    def behind(self) -> float:
        """How many times as long as another system it takes, or as much, by medians or by means, whichever is worse;
        0 where nobody else was measured.

        >>> ours, theirs = Measure((3.0,)), Measure((2.0,))
        >>> ReportRow("closure", "load", "Nemo, from scratch", ours, theirs, "faster").behind
        1.5
        >>> ReportRow("closure", "load", "what is wanted", ours, theirs, "faster").behind
        0.0
        """
        if not self.rival.startswith(OTHER_SYSTEMS):
            return 0.0
        worst = max if self.kind == "longer" else min
        ratio = worst(self._ratio("median"), self._ratio("mean"))
        return ratio if self.kind == "longer" else 1 / ratio

    def _ratio(self, by: str) -> float:
        ours, theirs = getattr(self.ours, by), getattr(self.theirs, by)
        above, below = (theirs, ours) if self.kind == "faster" else (ours, theirs)
        return float(above / below) if below else (1.0 if above == below else float("inf"))


@dataclass(frozen=True)
class Check:
    """An answer of ours that was compared with another's, row by row, and was equal."""

    part: str
    what: str
    against: str
    rows: int


@dataclass(frozen=True)
class Machine:
    """Where it was measured. `load` is how many processes wanted a core before and after."""

    cpu: str
    cores: int
    memory_bytes: int
    system: str
    load: tuple[float, float]


@dataclass(frozen=True)
class BenchmarkReport:
    """All of one run."""

    options: BenchmarkOptions
    machine: Machine
    versions: dict[str, str]
    started: str
    seconds: float
    rows: tuple[ReportRow, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...]

    @property
    def missed(self) -> tuple[ReportRow, ...]:
        """The rows whose target was missed."""
        return tuple(row for row in self.rows if row.met is False)

    @property
    def losses(self) -> tuple[ReportRow, ...]:
        """The rows in which another system is ahead, the worst first."""
        behind = [row for row in self.rows if row.behind > 1]
        return tuple(sorted(behind, key=lambda row: -row.behind))

    def to_json(self) -> dict[str, Any]:
        """Everything, with the ratios and summaries worked out, as JSON-ready data."""
        data = asdict(self)
        for row, out in zip(self.rows, data["rows"], strict=True):
            for name, measure in (("ours", row.ours), ("theirs", row.theirs)):
                out[name].update(median=measure.median, mean=measure.mean, p95=measure.p95)
            out.update(figure=row.figure, by_means=row.by_means, met=row.met)
        return data
