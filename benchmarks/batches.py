"""Batches of every size: many edges deleted from the closure at once, and inserted again.

A small batch should cost what it changes; a large one must not cost more than starting over.
"""

from __future__ import annotations

import random

from benchmarks.duel import Duel, timed
from benchmarks.graphs import random_digraph
from benchmarks.reachability import QUERY, describe, load, load_duck
from benchmarks.report import ReportRow, Target
from benchmarks.stage import DUCKDB, Stage
from headwater.version.changes import Changes

PART = "batches"
APPLY = "the apply alone"


def measure(stage: Stage) -> list[ReportRow]:
    """For each size, delete and insert, compute anew in DuckDB in the same state, and compare."""
    options = stage.options
    nodes, count = (200, 300) if options.quick else (2000, 3000)
    sizes = (1, 30, count) if options.quick else (1, 3, 10, 30, 100, 300, 1000, count)
    rounds = {size: options.repeat * (3 if size <= 10 and not options.quick else 1) for size in sizes}
    edges = random_digraph(nodes, count, options.seed)
    choose = random.Random(options.seed + 3)
    stage.begin(PART, sum(rounds.values()))
    database, duck = load(edges), load_duck(edges)
    about = describe(nodes, edges, database)
    rows: list[ReportRow] = []
    reading: list[ReportRow] = []
    for size in sizes:
        named = f"all {count:,} edges" if size == count else f"{size:,} edge{'s' if size > 1 else ''}"
        # not timed: plans are made anew when sizes change much
        database.apply(delete={"link": choose.sample(edges, size)})
        database.apply(insert={"link": edges})
        duels = {
            change: Duel(
                PART, f"{change} {named}", DUCKDB, "longer", Target("at most", 1.1), series=change, size=size
            )
            for change in ("delete", "insert")
        }
        counting = {
            change: Duel(PART, f"{change} {named}, read counts", APPLY, "longer", detail=True)
            for change in duels
        }
        for _ in range(rounds[size]):
            batch = choose.sample(edges, size)
            for change, duel in duels.items():
                changes: Changes = duel.time_ours(lambda: database.apply(**{change: {"link": batch}}))  # noqa: B023
                seconds, _ = timed(lambda: changes["reach"].counts)  # noqa: B023
                counting[change].theirs.append(duel.ours[-1])
                counting[change].ours.append(seconds)
                getattr(duck, change)("link", batch)
                duel.theirs.append(duck.recompute(QUERY))
                stage.same(f"after {change} of {named}", database["reach"], duck.answer(), DUCKDB)
            stage.step(named)
        rows += [duel.row(about) for duel in duels.values()]
        reading += [duel.row("the time to ask how many rows changed") for duel in counting.values()]
    duck.close()
    return rows + reading
