"""What a row of the closure takes in memory: its values, its rank and count, and all indexes."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from benchmarks.duel import Duel
from benchmarks.graphs import Edge, random_digraph
from benchmarks.machine import growth_while
from benchmarks.reachability import QUERY, describe, load, load_duck
from benchmarks.report import ReportRow, Target
from benchmarks.stage import DUCKDB, Stage
from headwater.database import Database

PART = "memory"
BARE = "the bare values"
VALUES = 16
"""Bytes of the two 64-bit integers of a row."""
MOST_ALLOCATED, MOST_RESIDENT = 30, 48
"""Bytes that a row may take: of arrays, and of a process."""


def measure(stage: Stage) -> list[ReportRow]:
    """Count the bytes allocated for the closure, and see by how much a process grows that loads it."""
    options = stage.options
    nodes, count = (200, 300) if options.quick else (2000, 3000)
    stage.begin(PART, 2)
    edges = random_digraph(nodes, count, options.seed)
    database, duck = changed(edges), load_duck(edges)
    duck.recompute(QUERY)
    stage.same("loaded", database["reach"], duck.answer(), DUCKDB)
    duck.close()
    about = describe(nodes, edges, database)
    held = len(database["reach"])
    allocated = Duel(
        PART, "allocated for a row", BARE, "longer", Target("at most", MOST_ALLOCATED / VALUES), unit="bytes"
    )
    allocated.ours.append(database.engine.workspace.relations["reach"].nbytes / held)
    allocated.theirs.append(VALUES)
    stage.step("allocated")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
        grown = other.submit(growth, nodes, count, options.seed).result()
    stage.step("resident")
    rows = [allocated.row(f"{about}; at most {MOST_ALLOCATED} bytes")]
    if grown:
        target = Target("at most", MOST_RESIDENT / VALUES)
        resident = Duel(PART, "resident memory for a row", BARE, "longer", target, unit="bytes")
        resident.ours.append(grown / held)
        resident.theirs.append(VALUES)
        rows.append(
            resident.row(
                f"a process grew by {grown / 1e6:,.0f} MB while loading, spare room included;"
                f" at most {MOST_RESIDENT} bytes a row"
            )
        )
    return rows


def changed(edges: list[Edge]) -> Database:
    """The closure of these edges, after a change: it has all indexes that changes need."""
    database = load(edges)
    database.apply(delete={"link": edges[:1]})
    database.apply(insert={"link": edges[:1]})
    return database


def growth(nodes: int, edges: int, seed: int) -> int:
    """By how many bytes this process grows when it loads a closure; 0 where the system does not tell."""
    changed(random_digraph(600, 700, seed))  # what is loaded once, such as machine code, is no part of it
    return growth_while(lambda: changed(random_digraph(nodes, edges, seed))).held
