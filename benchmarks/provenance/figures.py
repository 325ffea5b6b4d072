"""The figures: which workload, which schemes, at which places; and what the paper's text says of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.provenance.measuring import FigureStage, FigureStep, follow
from benchmarks.provenance.points import FigureReport, Point
from benchmarks.provenance.schemes import (
    ABSORPTION_LAZY,
    ALL,
    DRED,
    EAGER_BY_SUBNETWORK,
    RANKED,
    SPREAD,
    MeasuredScheme,
)
from benchmarks.provenance.workloads import Fact, Workload, links, priced_links, sensors
from headwater.networks import queries

DELETED = 0.02
"""The share of links that is deleted, one by one, in figures 8 and 14; half of it in figure 13."""
DELETED_OF_MORE = 0.2
"""The same in figure 12: the paper's share. (With dred it would be some 90 s of CPU for each seed of figure 8.)"""

TITLES = {
    7: ("reachable, links inserted", "share of links inserted"),
    8: ("reachable, links deleted one by one", "share of links deleted"),
    9: ("region, sensors triggered", "share of sensors triggered"),
    10: ("region, sensors let go one by one", "share of triggered sensors let go"),
    11: ("reachable, more links (and nodes), inserted", "links"),
    12: ("reachable, more links (and nodes), some deleted", "links"),
    13: ("reachable, more query processing nodes, insertions and deletions", "query processing nodes"),
    14: ("paths with aggregate selection, inserted, then some deleted", "links"),
}
PAPER = {
    7: "relative eager did not converge within 5 minutes from 0.75 on; dred is cheapest, and of those that keep "
    "provenance absorption lazy",
    8: "dred takes an order of magnitude more communication and time than absorption; relative is between them",
    9: "as figure 7, with less overhead",
    10: "as figure 8",
    11: "eager did not complete in 5 minutes on the dense network of 800 links; lazy took less than 5 seconds",
    12: "as figure 11",
    13: "provenance a row increases, then levels off; communication and state of a node decrease; dred is above "
    "absorption everywhere",
    14: "selecting by both at once costs half as much as selecting by cost alone; without selection nothing "
    "completes in 5 minutes on dense networks",
}
"""What the text of the paper says. It gives no numbers beside these; its pictures are not in the text."""


def insertions_and_deletions(stage: FigureStage) -> list[Point]:
    """Figures 7 and 8."""

    def prepare(seed: int) -> tuple[Workload, list[FigureStep]]:
        workload = links(1 if stage.quick else 4, True, 0.04 if stage.quick else DELETED, seed)
        deleted = _in_parts(
            workload.gone, 8, 2 if stage.quick else 4, len(workload.gone) / len(workload.facts), delete=True
        )
        return workload, _in_parts(workload.facts, 7, 4, 1.0) + deleted

    return [point for scheme in ALL for point in follow(stage, prepare, scheme, stage.nodes)]


def regions(stage: FigureStage) -> list[Point]:
    """Figures 9 and 10."""

    def prepare(seed: int) -> tuple[Workload, list[FigureStep]]:
        workload = sensors(5 if stage.quick else 10, seed, regions=2 if stage.quick else 5)
        steps = _in_parts(workload.facts, 9, 4, 0.5)
        return workload, steps + _in_parts(workload.gone, 10, 4, 1.0, delete=True)

    return [point for scheme in SPREAD for point in follow(stage, prepare, scheme, stage.nodes)]


def more_links(stage: FigureStage) -> list[Point]:
    """Figures 11 and 12: eager and lazy, in dense and sparse networks of the same numbers of nodes. Eagerly, query
    processing nodes look after sub-networks: spread by a hash it does not converge where lazy is interesting."""
    points: list[Point] = []
    for scheme, mode in ((ABSORPTION_LAZY, "lazy"), (EAGER_BY_SUBNETWORK, "eager")):
        for dense, shape in ((True, "dense"), (False, "sparse")):
            for transit in (1,) if stage.quick else (1, 2, 4, 8):

                def prepare(seed: int, transit: int = transit, dense: bool = dense) -> _Prepared:
                    workload = links(transit, dense, 0.04 if stage.quick else DELETED_OF_MORE, seed)
                    number = len(workload.facts)
                    return workload, [
                        FigureStep(workload.facts, (), 11, number),
                        FigureStep((), workload.gone, 12, number),
                    ]

                found = follow(stage, prepare, scheme, stage.nodes, f"{mode} {shape}")
                points += found
                if any(point.given_up is not None for point in found):
                    break
    return points


_Prepared = tuple[Workload, list[FigureStep]]


def more_nodes(stage: FigureStage) -> list[Point]:
    """Figure 13: the same links over more nodes, all inserted, then some deleted."""
    points: list[Point] = []
    for scheme in (DRED, ABSORPTION_LAZY, RANKED):
        for nodes in (1, 3) if stage.quick else (4, 8, 12, 16, 24):

            def prepare(seed: int, nodes: int = nodes) -> _Prepared:
                workload = links(1 if stage.quick else 4, True, DELETED / 2, seed)
                return workload, [FigureStep(workload.facts, workload.gone, 13, nodes)]

            points += follow(stage, prepare, scheme, nodes)
    return points


def aggregate_selections(stage: FigureStage) -> list[Point]:
    """Figure 14. One aggregate selection serves one aggregate: for both, the query runs twice (single), or once
    with both at once (multi). Without any there are infinitely many paths, so that is not run."""
    points: list[Point] = []
    texts = (
        ("single: cost", queries.CHEAPEST_PATHS, "minCost"),
        ("single: hops", queries.FEWEST_HOPS, "minHops"),
        ("multi", queries.SHORTEST_PATHS, "shortestCheapestPath"),
    )
    for dense, shape in ((True, "dense"), (False, "sparse")):
        for what, text, answer in texts:

            def prepare(seed: int, dense: bool = dense, text: str = text, answer: str = answer) -> _Prepared:
                workload = priced_links(1 if stage.quick else 4, dense, DELETED, seed, text, answer)
                number = len(workload.facts)
                return workload, [FigureStep(workload.facts, workload.gone, 14, number)]

            scheme = MeasuredScheme(what, ABSORPTION_LAZY.maker)
            points += follow(stage, prepare, scheme, stage.nodes, f"{what}, {shape}")
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
                FigureReport(
                    number, *TITLES[number], PAPER[number], tuple(p for p in points if p.figure == number)
                )
                for number in numbers
            ]
    return reports


def _in_parts(
    facts: Sequence[Fact], figure: int, parts: int, most: float, *, delete: bool = False
) -> list[FigureStep]:
    """The rows in equal parts, a step each; x is the share so far, and `most` in the end."""
    steps = []
    for i in range(parts):
        some = facts[len(facts) * i // parts : len(facts) * (i + 1) // parts]
        steps.append(
            FigureStep(() if delete else some, some if delete else (), figure, most * (i + 1) / parts)
        )
    return steps
