"""Taking a scheme through a workload, in stages, with a measurement after each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.provenance.points import Point
from benchmarks.provenance.schemes import Make, RankedSupport, Scheme, compare
from benchmarks.provenance.workloads import Workload
from headwater.networks.simulated.channels import Row
from headwater.networks.simulated.cluster import Measures


@dataclass
class FigureStage:
    """What figures are given: how large, how patient, who is told of progress; and what they leave behind."""

    quick: bool
    seed: int = 7
    compared: int = 0
    notes: list[str] = field(default_factory=list)
    told: Callable[[str], None] = lambda what: None

    @property
    def patience(self) -> float:
        """The CPU seconds after which a step of a scheme that has not converged is given up; the same for all."""
        return 2.0 if self.quick else 60.0


Read = Callable[[set[Row]], set[Row]]
"""What of a view is compared."""


def whole(rows: set[Row]) -> set[Row]:
    """All of it."""
    return rows


@dataclass(frozen=True)
class FigureStep:
    """Changes, and the place in a figure that is measured after them."""

    insert: Sequence[Row]
    delete: Sequence[Row]
    figure: int
    x: float


def follow(
    stage: FigureStage,
    workload: Workload,
    make: Make,
    nodes: int,
    steps: Sequence[FigureStep],
    name: str = "",
    read: Read = whole,
) -> list[Point]:
    """A scheme through all steps. Communication and time of a figure count from its first step on."""
    scheme: Scheme = make(workload, nodes)
    nodes = scheme.nodes
    patience = stage.patience
    reference = RankedSupport(workload)
    points: list[Point] = []
    before: dict[int, Measures] = {}
    seconds: dict[int, float] = {}
    last = scheme.measures()
    for step in steps:
        before.setdefault(step.figure, last)
        started = time.process_time()
        converged = scheme.change(step.insert, step.delete, patience)
        seconds[step.figure] = seconds.get(step.figure, 0.0) + time.process_time() - started
        shown = name or scheme.name
        stage.told(f"figure {step.figure}: {shown}")
        if not converged:
            points.append(
                Point(step.figure, shown, step.x, nodes, seconds=seconds[step.figure], given_up=True)
            )
            stage.notes.append(
                f"figure {step.figure}: {shown} had not converged after {patience:g} CPU seconds at {step.x:g}"
            )
            return points
        last = scheme.measures()
        reference.change(step.insert, step.delete, patience)
        compare(shown, f"figure {step.figure} at {step.x:g}", read(scheme.answer()), reference.answer())
        stage.compared += 1
        start = before[step.figure]
        points.append(
            Point(
                step.figure,
                shown,
                step.x,
                nodes,
                last.rows,
                last.provenance,
                last.messages - start.messages,
                last.bytes - start.bytes,
                last.state,
                seconds[step.figure],
            )
        )
    return points
