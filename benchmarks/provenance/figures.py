"""The figures: which workload, which schemes, at which places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.provenance.measuring import FigureStage, FigureStep, follow
from benchmarks.provenance.points import FigureReport, Point
from benchmarks.provenance.schemes import (
    ALL,
    absorption_eager,
    absorption_lazy,
    dred,
    ranked_support,
    selecting,
)
from benchmarks.provenance.workloads import Workload, links, priced_links, sensors
from headwater.networks.simulated.aggregate_selection import by_cost, by_cost_and_hops, by_hops
from headwater.networks.simulated.channels import Row

NODES = 12
"""Query processing nodes, unless a figure varies them."""

TITLES = {
    7: ("reachable, links inserted", "share of links inserted"),
    8: ("reachable, links deleted one by one", "share of links deleted"),
    9: ("region, sensors triggered", "share of sensors triggered"),
    10: ("region, sensors let go one by one", "share of triggered sensors let go"),
    11: ("reachable, more links (and nodes), inserted", "links"),
    12: ("reachable, more links (and nodes), a fifth of them deleted", "links"),
    13: ("reachable, more query processing nodes, insertions and deletions", "query processing nodes"),
    14: ("paths with aggregate selection, inserted, then a tenth deleted", "links"),
}


def insertions_and_deletions(stage: FigureStage) -> list[Point]:
    """Figures 7 and 8."""
    workload = links(1 if stage.quick else 4, True, 0.2, stage.seed)
    steps = _in_parts(workload.rows, 7, 4, 1.0) + _in_parts(workload.gone, 8, 4, 0.2, delete=True)
    return [point for make in ALL for point in follow(stage, workload, make, _nodes(stage), steps)]


def regions(stage: FigureStage) -> list[Point]:
    """Figures 9 and 10."""
    workload = sensors(5 if stage.quick else 10, stage.seed, seeds=2 if stage.quick else 5)
    steps = _in_parts(workload.rows, 9, 4, 0.5) + _in_parts(workload.gone, 10, 4, 1.0, delete=True)
    return [point for make in ALL for point in follow(stage, workload, make, _nodes(stage), steps)]


def more_links(stage: FigureStage) -> list[Point]:
    """Figures 11 and 12: eager and lazy, in dense and sparse networks of the same numbers of nodes."""
    points: list[Point] = []
    for make, mode in ((absorption_eager, "eager"), (absorption_lazy, "lazy")):
        for dense, shape in ((True, "dense"), (False, "sparse")):
            for transit in (1,) if stage.quick else (1, 2, 4, 8):
                workload = links(transit, dense, 0.2, stage.seed)
                steps = [
                    FigureStep(workload.rows, (), 11, len(workload.rows)),
                    FigureStep((), workload.gone, 12, len(workload.rows)),
                ]
                found = follow(stage, workload, make, _nodes(stage), steps, f"{mode} {shape}")
                points += found
                if found[-1].given_up:
                    break
    return points


def more_nodes(stage: FigureStage) -> list[Point]:
    """Figure 13: the same links over more nodes, all inserted, then some deleted."""
    workload = links(1 if stage.quick else 4, True, 0.02, stage.seed)
    points: list[Point] = []
    for make in (dred, absorption_lazy, ranked_support):
        for nodes in (1, 3) if stage.quick else (1, 4, 8, 12, 16, 24):
            points += follow(
                stage, workload, make, nodes, [FigureStep(workload.rows, workload.gone, 13, nodes)]
            )
    return points


def aggregate_selections(stage: FigureStage) -> list[Point]:
    """Figure 14. One aggregate selection serves one aggregate: for both, the query runs twice (single), or once
    with both at once (multi). Without any, all paths are enumerated."""
    points: list[Point] = []
    cost = selecting("single: cost", by_cost())
    hops = selecting("single: hops", by_hops())
    multi = selecting("multi: cost and hops", by_cost_and_hops())
    for dense, shape in ((True, "dense"), (False, "sparse")):
        workload = priced_links(1 if stage.quick else 4, dense, 0.1, stage.seed)
        steps = [FigureStep(workload.rows, workload.gone, 14, len(workload.rows))]
        for make, what, column in ((cost, "single: cost", 3), (hops, "single: hops", 4), (multi, "multi", 3)):
            chosen = workload if column == 3 else _by_hops(workload)
            points += follow(
                stage, chosen, make, _nodes(stage), steps, f"{what}, {shape}", partial(_least, column)
            )
        without = selecting("none", None)
        points += follow(stage, workload, without, _nodes(stage), steps, f"none, {shape}")
    return points


RUNS: dict[tuple[int, ...], Callable[[FigureStage], list[Point]]] = {
    (7, 8): insertions_and_deletions,
    (9, 10): regions,
    (11, 12): more_links,
    (13,): more_nodes,
    (14,): aggregate_selections,
}


def measure(stage: FigureStage, only: Sequence[int]) -> list[FigureReport]:
    """The figures asked for; those that are measured together come together."""
    reports: list[FigureReport] = []
    for numbers, run in RUNS.items():
        if set(numbers) & set(only):
            points = run(stage)
            reports += [
                FigureReport(number, *TITLES[number], tuple(p for p in points if p.figure == number))
                for number in numbers
            ]
    return reports


def _nodes(stage: FigureStage) -> int:
    return 3 if stage.quick else NODES


def _in_parts(
    rows: Sequence[Row], figure: int, parts: int, most: float, *, delete: bool = False
) -> list[FigureStep]:
    """The rows in equal parts, a step each; x is the share so far, and `most` in the end."""
    steps = []
    for i in range(parts):
        some = rows[len(rows) * i // parts : len(rows) * (i + 1) // parts]
        steps.append(
            FigureStep(() if delete else some, some if delete else (), figure, most * (i + 1) / parts)
        )
    return steps


def _by_hops(workload: Workload) -> Workload:
    """The same, with rules that count links."""
    program = workload.program.replace("min<C>) :- base(X, Y, C).", "min<C>) :- base(X, Y, _), C = 1.")
    program = program.replace("base(X, Z, A)", "base(X, Z, _)").replace("C = A + B", "C = 1 + B")
    return Workload(workload.query, workload.rows, workload.gone, program, workload.facts)


def _least(column: int, rows: set[Row]) -> set[Row]:
    """For each pair of nodes, the least of a column."""
    found: dict[Row, int] = {}
    for row in rows:
        pair = row[:2]
        found[pair] = min(row[column], found.get(pair, row[column]))
    return {(*pair, value) for pair, value in found.items()}
