"""A program of its own: the shared cases and random streams on nodes of a real Spark. Called by the tests.

    python nodes_on_spark.py local[5] 1 2 4
    python nodes_on_spark.py local-cluster[2,2,1024] 4 2 4

The numbers are: of the cases each which one, and how many nodes, once and then again. The folders `oracle` and
`cases` must be on the path. Says what it has compared, and fails where a row differs from one process, from clingo
or from what is expected.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import networkx as nx
import pytest
from cases_loader import FUNCTIONS, load_cases
from hypothesis import HealthCheck, given, settings
from oracle_clingo import solve
from oracle_lockstep import Lockstep, assert_exact, state_of
from oracle_strategies import programs, streams
from quick_java import quick
from test_cases import apply_whole, rows_of

import headwater as hw
from headwater.nodes.where import start_nodes
from headwater.spark.session import spark_session

EXAMPLES = 4
REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
CHEAPEST = """
    cost(X, Y, min<C>) :- road(X, Y, C).
    cost(X, Y, min<C>) :- road(X, Z, C1), cost(Z, Y, C2), C = C1 + C2.
"""


@contextmanager
def database(nodes: Any, **options: Any) -> Iterator[Any]:
    with hw.connect(run="spark", nodes=nodes, **options) as db:
        yield db


def run_cases(nodes: Any, every: int = 1, **options: Any) -> int:
    """The shared cases (or each n-th of them), with their expected rows after every version."""
    cases = list(load_cases())[::every]
    for case in cases:
        with database(nodes, functions=FUNCTIONS, **options) as db:
            db.define(case.text)
            for version, expected in zip(case.versions, case.expected, strict=True):
                apply_whole(db, version)
                assert rows_of(db, case) == expected, (case.name, options)
    return len(cases)


def run_streams(nodes: Any, examples: int) -> int:
    """Random programs and streams, on nodes and in one process, against clingo."""
    versions = 0

    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs(), streams())
    def follow(program: Any, stream: Any) -> None:
        nonlocal versions
        runs = {"nodes": {"run": "spark", "nodes": nodes, "replicate": 0}}
        with closing(Lockstep(program.text(), ["support"], runs)) as lockstep:
            for version in stream:
                delete, insert = version.resolved(lockstep.state)
                lockstep.apply(
                    delete, insert, lambda state: solve(program, {n: state[n] for n in program.base})
                )
                versions += 1

    follow()
    return versions


def run_graphs(nodes: Any, steps: int) -> int:
    """Reachability and cheapest paths of a graph that comes and goes, against networkx; changes included."""
    rng = random.Random(7)
    with database(nodes, replicate=0) as db:
        db.define(REACH + CHEAPEST)
        roads: dict[tuple[int, int], int] = {}
        before = state_of(db)
        for _ in range(steps):
            gone = rng.sample(sorted(roads), min(len(roads), rng.randrange(3)))
            new = {
                (rng.randrange(14), rng.randrange(14)): rng.randrange(1, 9) for _ in range(rng.randrange(5))
            }
            new = {pair: cost for pair, cost in new.items() if pair not in roads and pair[0] != pair[1]}
            changes = db.apply(
                delete={"link": gone, "road": [(*pair, roads[pair]) for pair in gone]},
                insert={"link": list(new), "road": [(*pair, cost) for pair, cost in new.items()]},
            )
            for pair in gone:
                del roads[pair]
            roads |= new
            after = state_of(db)
            graph = nx.DiGraph()
            graph.add_weighted_edges_from((*pair, cost) for pair, cost in roads.items())
            reach = {
                (x, y) for x in graph for z in graph.successors(x) for y in {z} | nx.descendants(graph, z)
            }
            assert after["reach"] == reach
            costs = dict(nx.all_pairs_dijkstra_path_length(graph))
            assert {row for row in after["cost"] if row[0] != row[1]} == {
                (x, y, c) for x, found in costs.items() for y, c in found.items() if x != y
            }
            assert_exact(changes, before, after)
            before = after
    return steps


def main() -> None:
    master, every, *numbers = sys.argv[1:]
    spark = spark_session(master, conf=quick())
    with pytest.raises(hw.HeadwaterError, match="no-nodes"):
        start_nodes(99, spark=spark)
    for number in map(int, numbers):
        with start_nodes(number, spark=spark, functions=FUNCTIONS) as nodes:
            cases = run_cases(nodes, int(every), replicate=0)
            if number == 2:
                cases += run_cases(nodes, int(every))
            versions = run_streams(nodes, EXAMPLES)
            steps = run_graphs(nodes, 25)
            frame_rows = run_frames(nodes)
        print(
            f"{number} nodes: {cases} cases, {versions} versions, {steps} graphs, {frame_rows} rows",
            flush=True,
        )
    spark.stop()


def run_frames(nodes: Any) -> int:
    """A view as a Spark DataFrame: written by the nodes, read by Spark."""
    with database(nodes) as db:
        db.define(REACH)
        db.apply(insert={"link": [("a", "b"), ("b", "c"), ("c", "d")]})
        if nodes.hosting.spare(nodes.size) <= 0:
            with pytest.raises(hw.HeadwaterError, match="no-free-core"):
                db["reach"].spark()
            return 6
        rows = {tuple(row) for row in db["reach"].spark().collect()}
        assert rows == set(db["reach"].rows()) and len(rows) == 6
        assert db["link"].spark().count() == 3
    return len(rows)


if __name__ == "__main__":
    main()
