"""What was measured, as data; and what the paper has in its place."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.report import Machine

Curve = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class NetworkLine:
    """One line of a figure: what it is, its points, and what it came to."""

    name: str
    points: Curve
    messages: int = 0
    bytes: int = 0
    seconds: float = 0.0
    """Until the network was quiet, in virtual time."""


@dataclass(frozen=True)
class NetworkFigure:
    """A figure of the paper, measured again."""

    number: str
    title: str
    x: str
    y: str
    lines: tuple[NetworkLine, ...]


@dataclass(frozen=True)
class PaperComparison:
    """Something that the paper tells as a number, and what it is here; `why` they differ."""

    what: str
    paper: str
    here: str
    why: str = ""


@dataclass(frozen=True)
class Growth:
    """A network of some nodes that converges, and follows a burst of updates."""

    nodes: int
    links: int
    rows: int
    messages: int
    seconds: float
    """CPU seconds until it is quiet."""
    burst_messages: int
    burst_seconds: float
    resident: int
    """Bytes that the process held in the end."""
    wall: float = 0.0
    """Seconds that both took by the clock on the wall."""


@dataclass(frozen=True)
class NetworkReport:
    """All of it."""

    quick: bool
    nodes: int
    seed: int
    machine: Machine
    versions: dict[str, str]
    started: str
    seconds: float
    figures: tuple[NetworkFigure, ...]
    comparisons: tuple[PaperComparison, ...]
    growth: tuple[Growth, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)
