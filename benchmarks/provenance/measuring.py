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
        the same for all. The paper gave up after five minutes, of twelve machines."""
        return 2.0 if self.quick else 300.0

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
    """A scheme through all steps, for each seed, unless it is given up with the first. What a figure counts, it
    counts from its first step on."""
    name = name or scheme.name
    found: dict[tuple[int, float], list[SeedMeasure]] = {}
    failed: list[GivenUp] = []
    for seed in range(stage.seeds):
        run = _kept_run(stage, prepare, scheme, nodes, name, seed)
        if run is None:
            continue
        stage.compared += len(run.places)
        stage.seconds += run.seconds
        for place in run.places:
            found.setdefault((place.figure, place.x), []).append(place.measure)
        if run.given_up is not None:
            end = run.given_up
            failed.append(end)
            stage.notes.append(
                f"figure {end.figure}: {name} had not converged at {end.x:g} when it was given up "
                f"after {end.seconds:,.0f} CPU seconds (seed {seed})"
            )
            if (end.figure, end.x) not in found:
                break
    points = [
        Point(
            figure,
            name,
            x,
            nodes,
            tuple(measures),
            failed=sum((one.figure, one.x) == (figure, x) for one in failed),
        )
        for (figure, x), measures in found.items()
    ]
    nowhere = [one for one in failed if (one.figure, one.x) not in found]
    return points + [Point(one.figure, name, one.x, nodes, given_up=one.seconds) for one in nowhere[:1]]


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
