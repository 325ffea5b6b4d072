"""What was measured, as data.

Metrics are the four of liu-2008 section 7.1: provenance for each row, communication of a node, state of operators
of a node, time to converge; messages beside bytes. All of them follow from the seed and nothing else: the time is
that of the simulated network, in which messages take their latency and nodes none. CPU seconds are those of the
process that plays all nodes, the work of all of them together; they depend on the machine.

A point is the mean of several seeds, each another network and other deletions, with a 95 % confidence interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from benchmarks.report import Machine

if TYPE_CHECKING:
    from benchmarks.provenance.flaps import Flaps
    from benchmarks.provenance.one_process import OneProcessMeasure

_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""The quantile of Student's t for 1 to 10 degrees of freedom; beyond, the normal distribution's."""
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class SeedMeasure:
    """One scheme at one place of a figure, with one seed."""

    rows: int
    provenance: float
    """Bytes of annotation for each row of the view."""
    messages: int
    bytes: int
    state: int
    """Bytes of rows and annotations in all operators of all nodes."""
    converged: float
    """Seconds of the simulated network until all nodes were at rest, of all steps of the figure so far."""
    seconds: float
    """CPU seconds."""


@dataclass(frozen=True)
class Mean:
    """A mean and half the width of its 95 % confidence interval; 0 where there is one sample only."""

    value: float
    margin: float


def mean(samples: Sequence[float]) -> Mean:
    """The mean of some samples.

    >>> mean([1.0, 2.0, 3.0])
    Mean(value=2.0, margin=2.484)
    """
    if len(samples) < 2:
        return Mean(samples[0], 0.0)
    freedom = len(samples) - 1
    quantile = _T_95[freedom - 1] if freedom <= len(_T_95) else _NORMAL_95
    return Mean(fmean(samples), round(quantile * stdev(samples) / math.sqrt(len(samples)), 3))


@dataclass(frozen=True)
class Point:
    """One scheme at one place of a figure, with all seeds that converged there. `failed`: how many did not before
    patience or room for diagrams ended. `given_up`: the first one did not, after so many CPU seconds, and no other
    was tried."""

    figure: int
    scheme: str
    x: float
    nodes: int
    measures: tuple[SeedMeasure, ...] = ()
    given_up: float | None = None
    failed: int = 0

    def mean(self, metric: Callable[[SeedMeasure], float]) -> Mean:
        """A metric over all seeds."""
        return mean([metric(measure) for measure in self.measures])

    def total(self, metric: Callable[[SeedMeasure], float]) -> float:
        """Its mean alone."""
        return self.mean(metric).value


@dataclass(frozen=True)
class FigureReport:
    """All points of one figure of the paper, and what the paper's text says of it."""

    number: int
    title: str
    x_label: str
    paper: str
    points: tuple[Point, ...]

    def of(self, scheme: str) -> list[Point]:
        """The points of one scheme, in order."""
        return sorted((point for point in self.points if point.scheme == scheme), key=lambda point: point.x)

    @property
    def schemes(self) -> list[str]:
        """The schemes that were measured."""
        return list(dict.fromkeys(point.scheme for point in self.points))


@dataclass(frozen=True)
class Aim:
    """Something wanted, and what was found."""

    what: str
    wanted: str
    found: str
    met: bool


@dataclass(frozen=True)
class ProvenanceReport:
    """All of one run."""

    quick: bool
    seeds: int
    machine: Machine
    versions: dict[str, str]
    started: str
    seconds: float
    figures: tuple[FigureReport, ...]
    aims: tuple[Aim, ...]
    flaps: Flaps | None
    one_process: OneProcessMeasure | None
    compared: int
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON-ready data."""
        return asdict(self)
