"""A question about one node of a random graph, answered by goal: the links are stored, their closure is virtual."""

from __future__ import annotations

import random

import numpy as np

import headwater as hw
from benchmarks.duel import Duel
from benchmarks.graphs import Edge, random_digraph
from benchmarks.reachability import PROGRAM, QUERY, load_duck
from benchmarks.report import ReportRow, Target
from benchmarks.stage import DUCKDB, Stage
from headwater.database import Database

PART = "goals"
ASKING = "ask what one node reaches"
FROM_NODE = "DuckDB, started from the node"
NEEDED = "the links of what it reaches"
FROM_NODE_QUERY = """
WITH RECURSIVE reached(b) AS (
  SELECT b FROM link WHERE a = {node} UNION SELECT link.b FROM reached JOIN link ON link.a = reached.b
) SELECT b FROM reached
"""
"""The question as a user of DuckDB would write it by hand: the recursion starts from the node."""


def measure(stage: Stage) -> list[ReportRow]:
    """Ask about random nodes: beside computing the whole closure, and beside a recursion from that node alone."""
    options = stage.options
    nodes, count = (200, 300) if options.quick else (2000, 3000)
    edges = random_digraph(nodes, count, options.seed)
    stage.begin(PART, options.singles)
    database, duck = load(edges), load_duck(edges)
    whole = Duel(PART, ASKING, DUCKDB, "faster", Target("at least", 10))
    alone = Duel(PART, f"{ASKING}, by hand", FROM_NODE, "faster")
    looked = Duel(PART, "links looked at", NEEDED, "longer", Target("at most", 3), unit="rows")
    choose = random.Random(options.seed + 2)
    for number in range(options.singles):
        node = choose.choice(edges)[0]
        answers = whole.time_ours(lambda: database.query(f"reach({node}, X)"))  # noqa: B023
        alone.ours.append(whole.ours[-1])
        if number < options.repeat:
            whole.theirs.append(duck.recompute(QUERY))
        alone.theirs.append(duck.recompute(FROM_NODE_QUERY.format(node=node)))
        reached = np.asarray([row[0] for row in answers.rows()], np.int64)
        stage.same(f"reached from {node}", [reached], duck.answer(), DUCKDB)
        looked.ours.append(float(answers.statistics.looked["link"]))
        there = {node, *reached.tolist()}
        looked.theirs.append(float(sum(a in there for a, _ in edges)))
        stage.step("questions")
    duck.close()
    largest = f"{nodes:,} nodes, {count:,} edges; answers of up to {int(max(looked.theirs)):,} links"
    return [whole.row(largest), alone.row(), looked.row()]


def load(edges: list[Edge]) -> Database:
    """A database of ours that holds the links, and their closure as a virtual view."""
    database = hw.connect()
    database.define(f"{PROGRAM}\n.kind reach virtual\n")
    database.apply(insert={"link": edges})
    database.query(f"reach({edges[0][0]}, X)")  # the index is built by the first question
    return database
