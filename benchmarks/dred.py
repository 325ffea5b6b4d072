"""Ranked support against delete-and-rederive, the textbook way, over the very same kernel.

Inside a strongly connected component every row rests on every edge in some way. Delete-and-rederive takes all
of it down for any edge, and brings nearly all of it back.

Delete-and-rederive is also what deriving a part of a view anew comes to: all that may rest on what was lost is taken
down at once, uncounted, and derived again from the rest. That is measured where it has most to gain, on several edges
of one of ten graphs that have nothing to do with each other, beside counting off and beside deriving all of it anew.
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
A_PART, ALL = "the part derived anew", "all derived anew"
COPIES = 10
SIZES = (10, 30, 100, 400)


def measure(stage: Stage) -> list[ReportRow]:
    """Both strategies, and recomputing, in turns."""
    return [*_single_edges(stage), *_one_of_ten_graphs(stage)]


def _single_edges(stage: Stage) -> list[ReportRow]:
    """Delete single edges of the giant component."""
    options = stage.options
    nodes, count = (200, 350) if options.quick else (2000, 3500)
    changes = 3 if options.quick else 4 * options.repeat
    edges = random_digraph(nodes, count, options.seed)
    giant = giant_component(edges)
    inside = [edge for edge in edges if edge[0] in giant and edge[1] in giant]
    chosen = random.Random(options.seed + 4).sample(inside, changes + 1)
    stage.begin(PART, changes + 1 + len(SIZES))
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


def _one_of_ten_graphs(stage: Stage) -> list[ReportRow]:
    """Delete several edges of one graph, a different one each time."""
    options = stage.options
    nodes, count = (100, 160) if options.quick else (1000, 1500)
    graphs = [
        [(a + copy * nodes, b + copy * nodes) for a, b in random_digraph(nodes, count, options.seed + copy)]
        for copy in range(COPIES)
    ]
    edges = [edge for graph in graphs for edge in graph]
    support, dred, anew = load(edges), load(edges, strategy="dred"), load(edges, strategy="recompute")
    about = f"{COPIES} graphs: {describe(COPIES * nodes, edges, support)}"
    choose = random.Random(options.seed + 5)
    rows: list[ReportRow] = []
    for size in SIZES:
        what = f"delete {size} edges of one of {COPIES} graphs"
        part, whole = Duel(PART, what, A_PART, "faster"), Duel(PART, what, ALL, "faster")
        for number in range(options.repeat + 1):
            some = choose.sample(graphs[number % COPIES], min(size, count))
            found = [timed(lambda: each.apply(delete={"link": some}))[0] for each in (support, dred, anew)]  # noqa: B023
            if number:  # the first one warms all of them up
                for duel, theirs in ((part, found[1]), (whole, found[2])):
                    duel.ours.append(found[0])
                    duel.theirs.append(theirs)
            if number == options.repeat:
                for rival, other in ((A_PART, dred), (ALL, anew)):
                    stage.same(f"{what}, {rival}", support["reach"], columns_of(other["reach"]), rival)
            for each in (support, dred, anew):
                each.apply(insert={"link": some})
        rows += [part.row(about), whole.row(about)]
        stage.step(what)
    return rows
