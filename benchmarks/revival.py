"""Rows that come back early, before their consequences fall, beside rows that come back after going down.

Counted in derivations that are looked at, in a model of one closure (`early_return`), not timed: how many there are
decides what a deletion costs. Both ways end with the nodes that a search finds.
"""

from __future__ import annotations

import random

import numpy as np

from benchmarks.duel import Duel
from benchmarks.early_return import Reaching, levels, neighbours
from benchmarks.graphs import random_digraph
from benchmarks.report import ReportRow
from benchmarks.stage import Stage

PART = "revival"
LATER = "back after going down"
SEARCH = "a search"
CLIMBS = {1: "by rows of its own rank", 1_000: "by any rows"}
"""How far a row may climb that comes back early, and by what it does."""
GRAPHS = {"sparse": (2_000, 3_000), "medium": (1_000, 2_500), "dense": (1_000, 4_000)}
SIZES = (1, 10, 100)
TARGETS = 30


def measure(stage: Stage) -> list[ReportRow]:
    """Delete several edges of closures with few and with many edges a node."""
    stage.begin(PART, len(GRAPHS) * len(SIZES))
    rows = []
    for name, (nodes, edges) in GRAPHS.items():
        scale = 10 if stage.options.quick else 1
        for size in SIZES:
            rows += _deleting(stage, name, nodes // scale, edges // scale, size)
            stage.step(f"{name}: {size}")
    return rows


def _deleting(stage: Stage, name: str, nodes: int, count: int, size: int) -> list[ReportRow]:
    about = f"{name}: {nodes:,} nodes, {count:,} edges; who reaches each of {TARGETS} nodes, derivations looked at"
    what = f"{name}: delete {size}"
    duels = {
        climb: Duel(PART, f"{what}, back early {words}", LATER, "longer", unit="rows")
        for climb, words in CLIMBS.items()
    }
    for number in range(stage.options.repeat):
        seed = stage.options.seed + number
        edges = random_digraph(nodes, count, seed)
        choose = random.Random(seed)
        gone, targets = choose.sample(edges, size), choose.sample(range(nodes), TARGETS)
        looked_at = {climb: _looked_at(stage, edges, gone, targets, climb) for climb in (0, *CLIMBS)}
        for climb, duel in duels.items():
            duel.ours.append(max(1, looked_at[climb]))
            duel.theirs.append(max(1, looked_at[0]))
    return [duel.row(about, by="mean") for duel in duels.values()]


def _looked_at(
    stage: Stage, edges: list[tuple[int, int]], gone: list[tuple[int, int]], targets: list[int], climb: int
) -> int:
    after, before = neighbours(edges)
    left = neighbours(set(edges) - set(gone))[1]
    looked_at = 0
    kept_rows: list[tuple[int, int]] = []
    found_rows: list[tuple[int, int]] = []
    for target in targets:
        kept = Reaching(after, before, target, climb)
        kept.delete(gone)
        looked_at += kept.looked_at
        kept_rows += [(node, target) for node in kept.rank]
        found_rows += [(node, target) for node in levels(left, target)]
    ours, theirs = (list(np.array(rows, np.int64).reshape(-1, 2).T) for rows in (kept_rows, found_rows))
    stage.same(f"{len(gone)} of {len(edges)} edges deleted, climbing {climb}", ours, theirs, SEARCH)
    return looked_at
