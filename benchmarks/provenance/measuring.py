"""Taking a scheme through a workload, in stages, with a measurement after each; over several seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.provenance.points import Point, SeedMeasure
from benchmarks.provenance.runs import GivenUp, KeptRuns, MeasuredPlace, SeedRun
from benchmarks.provenance.schemes import CentralView, MeasuredScheme, OnNodes, compare
from benchmarks.provenance.workloads import Fact, Workload


@dataclass
class FigureStage:
    """What figures are given: how large, how many seeds, who is told of progress; and what they leave behind."""

    quick: bool
    seeds: int = 10
    kept: KeptRuns = KeptRuns()
    compared: int = 0
    seconds: float = 0.0
    """CPU seconds of all runs."""
    notes: list[str] = field(default_factory=list)
    told: Callable[[str], None] = lambda what: None

    @property
    def patience(self) -> float:
        """The CPU seconds, of all nodes together, after which a step of a scheme that has not converged is given up;
        the same for all."""
        return 2.0 if self.quick else 150.0

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


def follow(
    stage: FigureStage, prepare: Prepare, scheme: MeasuredScheme, nodes: int, name: str = ""
) -> list[Point]:
    """A scheme through all steps, for each seed, until it is given up with one of them. What a figure counts, it
    counts from its first step on."""
    name = name or scheme.name
    found: dict[tuple[int, float], list[SeedMeasure]] = {}
    given_up: GivenUp | None = None
    for seed in range(stage.seeds):
        run = _kept_run(stage, prepare, scheme, nodes, name, seed)
        if run is None:
            continue
        stage.compared += len(run.places)
        stage.seconds += run.seconds
        for place in run.places:
            found.setdefault((place.figure, place.x), []).append(place.measure)
        given_up = run.given_up
        if given_up is not None:
            stage.notes.append(
                f"figure {given_up.figure}: {name} had not converged at {given_up.x:g} "
                f"after {stage.patience:g} CPU seconds (seed {seed})"
            )
            break
    end = None if given_up is None else (given_up.figure, given_up.x)
    points = [
        Point(figure, name, x, nodes, tuple(measures))
        for (figure, x), measures in found.items()
        if (figure, x) != end
    ]
    if given_up is not None:
        points.append(Point(given_up.figure, name, given_up.x, nodes, given_up=given_up.seconds))
    return points


def _kept_run(
    stage: FigureStage, prepare: Prepare, scheme: MeasuredScheme, nodes: int, name: str, seed: int
) -> SeedRun | None:
    """The run with one seed: found, or made now; `None` if it was not found and none is to be made."""
    workload, steps = prepare(seed)
    size = "quick " if stage.quick else ""
    key = f"{size}{steps[0].figure} {name} {steps[-1].x:g} {nodes} nodes, seed {seed}"
    run = stage.kept.find(key)
    if run is None and stage.kept.to_be_made(name):
        stage.told(f"figure {steps[0].figure}: {name}, seed {seed}")
        run = _run(stage, workload, steps, scheme, nodes, name)
        stage.kept.keep(key, run)
    return run


def _run(
    stage: FigureStage,
    workload: Workload,
    steps: Sequence[FigureStep],
    scheme: MeasuredScheme,
    nodes: int,
    name: str,
) -> SeedRun:
    begun = time.process_time()
    view, reference = OnNodes(workload, scheme, nodes), CentralView(workload)
    view.change(workload.fixed, (), stage.patience)
    reference.change(workload.fixed, ())
    before: dict[int, tuple[int, int, float, float]] = {}
    places: list[MeasuredPlace] = []
    seconds = 0.0
    for step in steps:
        traffic = view.network.traffic
        before.setdefault(step.figure, (traffic.messages, traffic.bytes, view.converging, seconds))
        started = time.process_time()
        converged = view.change(step.insert, step.delete, stage.patience)
        seconds += time.process_time() - started
        messages, volume, converging, spent = before[step.figure]
        if not converged:
            given_up = GivenUp(step.figure, step.x, seconds - spent)
            return SeedRun(tuple(places), given_up, time.process_time() - begun)
        reference.change(step.insert, step.delete)
        compare(name, f"figure {step.figure} at {step.x:g}", view.answer(), reference.answer())
        measure = SeedMeasure(
            rows=len(view.answer()),
            provenance=view.provenance(),
            messages=traffic.messages - messages,
            bytes=traffic.bytes - volume,
            state=view.state(),
            converged=view.converging - converging,
            seconds=seconds - spent,
        )
        places.append(MeasuredPlace(step.figure, step.x, measure))
    return SeedRun(tuple(places), None, time.process_time() - begun)
