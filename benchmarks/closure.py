"""The closure of a random graph: loading it, and one edge deleted and inserted again."""

from __future__ import annotations

import random

from benchmarks.duckdb_rival import Duck
from benchmarks.duel import Duel
from benchmarks.graphs import Edge, random_digraph
from benchmarks.reachability import QUERY, describe, load, load_duck
from benchmarks.report import ReportRow, Target
from benchmarks.stage import DUCKDB, PATHWAY, Stage
from headwater.database import Database

PART = "closure"
CHANGES = ("delete", "insert")
BY_MEANS = Target("at least", 75)
"""What single changes should come to by means, which a few dear ones dominate."""
EVERY = 5
"""DuckDB computes anew after one change in so many: it takes as long after each."""


def measure(stage: Stage) -> list[ReportRow]:
    """Load the closure on both sides, then change one edge at a time."""
    options = stage.options
    nodes, count = (200, 300) if options.quick else (2000, 3000)
    edges = random_digraph(nodes, count, options.seed)
    stage.begin(
        PART, 2 * options.repeat + options.singles + (0 if stage.pathway is None else _smaller(stage)[2])
    )
    load(edges)
    alone = _one_thread_each(stage, edges)
    duck = load_duck(edges)
    duel = Duel(PART, "load", DUCKDB, "longer", Target("at most", 1))
    database: Database | None = None
    for _ in range(options.repeat):
        database = None  # the one before is given back before the clock starts
        database = duel.time_ours(lambda: load(edges))
        duel.theirs.append(duck.recompute(QUERY))
        stage.step("load")
    assert database is not None
    stage.same("loaded", database["reach"], duck.answer(), DUCKDB)
    rows = [duel.row(describe(nodes, edges, database)), alone, *_singles(stage, database, duck, edges)]
    duck.close()
    if stage.pathway is not None:
        rows += _against_pathway(stage)
    return rows


def _one_thread_each(stage: Stage, edges: list[Edge]) -> ReportRow:
    duck = load_duck(edges, threads=1)
    duel = Duel(PART, "load, one thread each", DUCKDB, "longer", Target("at most", 1))
    for _ in range(stage.options.repeat):
        database = duel.time_ours(lambda: load(edges, cores=1))
        duel.theirs.append(duck.recompute(QUERY))
        stage.same("loaded by one thread", database["reach"], duck.answer(), DUCKDB)
        del database
        stage.step("load, one thread each")
    duck.close()
    return duel.row()


def _singles(stage: Stage, database: Database, duck: Duck, edges: list[Edge]) -> list[ReportRow]:
    duels = {
        change: Duel(PART, f"{change} 1 edge", DUCKDB, "faster", Target("at least", 150))
        for change in CHANGES
    }
    for change in CHANGES:  # the first of a process loads machine code: that is what starting costs, once
        database.apply(**{change: {"link": edges[:1]}})
    choose = random.Random(stage.options.seed + 1)
    for number in range(stage.options.singles):
        edge = choose.choice(edges)
        for change, duel in duels.items():
            duel.time_ours(lambda: database.apply(**{change: {"link": [edge]}}))  # noqa: B023
            if number % EVERY == 0:
                getattr(duck, change)("link", [edge])
                duel.theirs.append(duck.recompute(QUERY))
                stage.same(f"after {change} of {edge}", database["reach"], duck.answer(), DUCKDB)
        stage.step("single edges")
    by_means = [duel.row(by="mean", target=BY_MEANS) for duel in duels.values()]
    return [*(duel.row() for duel in duels.values()), *by_means]


def _smaller(stage: Stage) -> tuple[int, int, int]:
    """Nodes, edges and changes for Pathway, whose load at full size alone takes a quarter of a minute."""
    return (100, 150, 2) if stage.options.quick else (1000, 1500, 10)


def _against_pathway(stage: Stage) -> list[ReportRow]:
    assert stage.pathway is not None
    nodes, count, changes = _smaller(stage)
    edges = random_digraph(nodes, count, stage.options.seed)
    database = load(edges)
    about = describe(nodes, edges, database)
    duels = {change: Duel(PART, f"{change} 1 edge, smaller graph", PATHWAY, "faster") for change in CHANGES}
    choose = random.Random(stage.options.seed + 2)
    with stage.pathway.dataflow("closure", {"link": edges}) as dataflow:
        stage.same("smaller graph, loaded", database["reach"], dataflow.answer(), PATHWAY)
        for _ in range(changes):
            edge = choose.choice(edges)
            for change, duel in duels.items():
                duel.time_ours(lambda: database.apply(**{change: {"link": [edge]}}))  # noqa: B023
                duel.theirs.append(dataflow.apply(**{change: {"link": [edge]}}))
                stage.same(
                    f"smaller graph, after {change} of {edge}", database["reach"], dataflow.answer(), PATHWAY
                )
            stage.step("single edges, Pathway")
    return [duel.row(about) for duel in duels.values()]
