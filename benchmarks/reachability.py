"""The closure of a graph, as both sides are told to compute it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import headwater as hw
from benchmarks.duckdb_rival import THREADS, Duck
from benchmarks.graphs import Edge
from headwater.database import Database

PROGRAM = """
reach(X, Y) :- link(X, Y).
reach(X, Y) :- link(X, Z), reach(Z, Y).
"""
QUERY = """
WITH RECURSIVE reach(a, b) AS (
  SELECT a, b FROM link UNION SELECT link.a, reach.b FROM link JOIN reach ON link.b = reach.a
) SELECT a, b FROM reach
"""


def load(edges: Sequence[Edge], strategy: str = "support", cores: int | None = None) -> Database:
    """A new database of ours that holds the closure of these edges."""
    database = hw.connect(strategy=strategy, cores=cores)
    database.define(PROGRAM)
    database.apply(insert={"link": edges})
    return database


def load_duck(edges: Sequence[Edge], threads: int = THREADS) -> Duck:
    """A new DuckDB with the edges and their closure."""
    duck = Duck(threads)
    matrix = np.asarray(edges, np.int64)
    duck.create("link", {"a": matrix[:, 0].copy(), "b": matrix[:, 1].copy()})
    duck.recompute(QUERY)
    return duck


def describe(nodes: int, edges: Sequence[Edge], database: Database) -> str:
    """How large it all is."""
    return f"{nodes:,} nodes, {len(edges):,} edges, {len(database['reach']):,} rows"
