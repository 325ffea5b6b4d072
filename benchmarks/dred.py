"""Ranked support against delete-and-rederive, the textbook way, over the very same kernel.

Inside a strongly connected component every row rests on every edge in some way. Delete-and-rederive takes all
of it down for any edge, and brings nearly all of it back.
"""

from __future__ import annotations

import random

from benchmarks.answers import columns_of
from benchmarks.duel import Duel, timed
from benchmarks.graphs import giant_component, random_digraph
from benchmarks.reachability import QUERY, describe, load, load_duck
from benchmarks.report import ReportRow, Target
from benchmarks.stage import DUCKDB, Stage

PART = "dred"
RIVAL = "delete and rederive"


def measure(stage: Stage) -> list[ReportRow]:
    """Delete single edges of the giant component with both strategies, in turns."""
    options = stage.options
    nodes, count = (200, 350) if options.quick else (2000, 3500)
    changes = 3 if options.quick else 4 * options.repeat
    edges = random_digraph(nodes, count, options.seed)
    giant = giant_component(edges)
    inside = [edge for edge in edges if edge[0] in giant and edge[1] in giant]
    chosen = random.Random(options.seed + 4).sample(inside, changes + 1)
    stage.begin(PART, changes + 1)
    support, dred, duck = load(edges), load(edges, strategy="dred"), load_duck(edges)
    about = f"{describe(nodes, edges, support)}; {len(giant):,} nodes reach each other"
    deletes = Duel(PART, "delete 1 edge", RIVAL, "faster", Target("at least", 50))
    inserts = Duel(PART, "insert 1 edge", RIVAL, "faster")
    for number, edge in enumerate(chosen):
        for change, duel in (("delete", deletes), ("insert", inserts)):
            for database, times in ((support, duel.ours), (dred, duel.theirs)):
                seconds, _ = timed(lambda: database.apply(**{change: {"link": [edge]}}))  # noqa: B023
                if number:  # the first edge warms both up
                    times.append(seconds)
            stage.same(f"after {change} of {edge}", support["reach"], columns_of(dred["reach"]), RIVAL)
            if number == changes:
                getattr(duck, change)("link", [edge])
                duck.recompute(QUERY)
                stage.same(f"after {change} of {edge}", support["reach"], duck.answer(), DUCKDB)
        stage.step("single edges")
    duck.close()
    return [deletes.row(about), deletes.row(about, by="mean"), inserts.row(about)]
