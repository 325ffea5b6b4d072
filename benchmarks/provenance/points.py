"""What was measured, as data.

Metrics are the four of liu-2008 section 7.1: provenance for each row, communication, state of operators, time to
converge. Messages are counted beside bytes. All are of one process that plays all nodes: its seconds are CPU
seconds, the work of all nodes together, not the time they would take side by side.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.report import Machine


@dataclass(frozen=True)
class Point:
    """One scheme at one place of a figure. `given_up`: it had not converged when patience ended."""

    figure: int
    scheme: str
    x: float
    nodes: int
    rows: int = 0
    provenance: float = 0.0
    messages: int = 0
    bytes: int = 0
    state: int = 0
    seconds: float = 0.0
    given_up: bool = False


@dataclass(frozen=True)
class FigureReport:
    """All points of one figure of the paper."""

    number: int
    title: str
    x_label: str
    points: tuple[Point, ...]

    def of(self, scheme: str) -> list[Point]:
        """The points of one scheme, in order."""
        return sorted((point for point in self.points if point.scheme == scheme), key=lambda point: point.x)

    @property
    def schemes(self) -> list[str]:
        """The schemes that were measured."""
        return list(dict.fromkeys(point.scheme for point in self.points))


@dataclass(frozen=True)
class ProvenanceReport:
    """All of one run."""

    quick: bool
    machine: Machine
    versions: dict[str, str]
    started: str
    seconds: float
    figures: tuple[FigureReport, ...]
    compared: int
    notes: tuple[str, ...]

    @property
    def saved(self) -> float | None:
        """How many times fewer messages lazy absorption ships than dred in figure 8; `None` if not measured."""
        for figure in self.figures:
            if figure.number == 8:
                ends = {scheme: figure.of(scheme)[-1].messages for scheme in figure.schemes}
                if ends.get("absorption lazy") and ends.get("dred"):
                    return ends["dred"] / ends["absorption lazy"]
        return None

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON-ready data."""
        return {**asdict(self), "saved": self.saved}
