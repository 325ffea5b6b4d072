"""Taking a scheme through a workload, in stages, with a measurement after each; over several seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.provenance.points import Point, SeedMeasure
from benchmarks.provenance.schemes import CentralView, MeasuredScheme, OnNodes, compare
from benchmarks.provenance.workloads import Fact, Workload


@dataclass
class FigureStage:
    """What figures are given: how large, how many seeds, who is told of progress; and what they leave behind."""

    quick: bool
    seeds: int = 10
    compared: int = 0
    notes: list[str] = field(default_factory=list)
    told: Callable[[str], None] = lambda what: None

    @property
    def patience(self) -> float:
        """The CPU seconds after which a step of a scheme that has not converged is given up; the same for all."""
        return 2.0 if self.quick else 20.0

    @property
    def nodes(self) -> int:
        """Query processing nodes, unless a figure varies them."""
        return 3 if self.quick else 12


@dataclass(frozen=True)
class FigureStep:
    """Changes, and the place in a figure that is measured after them."""

    insert: Sequence[Fact]
    delete: Sequence[Fact]
    figure: int
    x: float


Prepare = Callable[[int], tuple[Workload, Sequence[FigureStep]]]
"""A workload and its steps, for a seed."""


@dataclass
class _Places:
    """The points of one scheme while they are measured."""

    scheme: str
    nodes: int
    found: dict[tuple[int, float], list[SeedMeasure]] = field(default_factory=dict)
    given_up: dict[tuple[int, float], float] = field(default_factory=dict)

    def points(self) -> list[Point]:
        done = [
            Point(figure, self.scheme, x, self.nodes, tuple(measures))
            for (figure, x), measures in self.found.items()
            if (figure, x) not in self.given_up
        ]
        return done + [
            Point(figure, self.scheme, x, self.nodes, given_up=seconds)
            for (figure, x), seconds in self.given_up.items()
        ]


def follow(
    stage: FigureStage, prepare: Prepare, scheme: MeasuredScheme, nodes: int, name: str = ""
) -> list[Point]:
    """A scheme through all steps, for each seed. What a figure counts, it counts from its first step on."""
    places = _Places(name or scheme.name, nodes)
    for seed in range(stage.seeds):
        workload, steps = prepare(seed)
        _run(stage, places, workload, steps, scheme, nodes)
        if places.given_up:
            break
    return places.points()


def _run(
    stage: FigureStage,
    places: _Places,
    workload: Workload,
    steps: Sequence[FigureStep],
    scheme: MeasuredScheme,
    nodes: int,
) -> None:
    view, reference = OnNodes(workload, scheme, nodes), CentralView(workload)
    view.change(workload.fixed, (), stage.patience)
    reference.change(workload.fixed, ())
    before: dict[int, tuple[int, int, float, float]] = {}
    seconds = 0.0
    for step in steps:
        traffic = view.network.traffic
        before.setdefault(step.figure, (traffic.messages, traffic.bytes, view.converging, seconds))
        stage.told(f"figure {step.figure}: {places.scheme} at {step.x:g}")
        started = time.process_time()
        converged = view.change(step.insert, step.delete, stage.patience)
        seconds += time.process_time() - started
        messages, volume, converging, spent = before[step.figure]
        if not converged:
            places.given_up[step.figure, step.x] = seconds - spent
            stage.notes.append(
                f"figure {step.figure}: {places.scheme} had not converged at {step.x:g} "
                f"after {stage.patience:g} CPU seconds"
            )
            return
        reference.change(step.insert, step.delete)
        compare(places.scheme, f"figure {step.figure} at {step.x:g}", view.answer(), reference.answer())
        stage.compared += 1
        places.found.setdefault((step.figure, step.x), []).append(
            SeedMeasure(
                rows=len(view.answer()),
                provenance=view.provenance(),
                messages=traffic.messages - messages,
                bytes=traffic.bytes - volume,
                state=view.state(),
                converged=view.converging - converging,
                seconds=seconds - spent,
            )
        )
