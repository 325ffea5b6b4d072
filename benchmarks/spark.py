"""Recursion on Spark: a loop of DataFrame joins, nodes in a barrier stage, and one process, in the same run.

Three graphs: a closure of two million rows, a network of 100 nodes, and a closure that outgrows a budget and moves
to nodes in the middle of its life. Then what nodes send to each other, with and without the rank filter, for 1, 2
and 4 nodes, in each exchange. Answers on nodes are compared with one process and with the loop.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import headwater as hw
from benchmarks.answers import columns_of
from benchmarks.duel import Duel, timed
from benchmarks.graphs import Edge, random_digraph
from benchmarks.options import BenchmarkOptions
from benchmarks.reachability import PROGRAM, load
from benchmarks.report import BenchmarkReport, Measure, ReportRow, Target
from benchmarks.spark_loop import closure, edges_frame
from benchmarks.stage import Onlooker, Stage, Unwatched
from headwater.database import Database

LOOP = "DataFrame loop"
HERE = "one process"
ALL = "without the rank filter"
NODES = 2
COUNTS = (1, 2, 4)


@dataclass
class ShippedBytes:
    """What was sent while a closure was loaded and then changed, edge by edge: for each number of nodes and with or
    without the rank filter, the bytes of each exchange of the load, and bytes and rows in all."""

    steps: dict[tuple[int, bool], list[int]] = field(default_factory=dict)
    load: dict[tuple[int, bool], tuple[int, int]] = field(default_factory=dict)
    changes: dict[tuple[int, bool], tuple[int, int]] = field(default_factory=dict)


def graph(options: BenchmarkOptions, name: str) -> tuple[int, list[Edge]]:
    """The graphs that are measured."""
    nodes, edges = {
        "closure": (200, 350) if options.quick else (2000, 3500),
        "network": (30, 90) if options.quick else (100, 400),
        "shipped": (100, 170) if options.quick else (800, 1350),
    }[name]
    return nodes, random_digraph(nodes, edges, options.seed)


def measure(stage: Stage, spark: Any) -> tuple[list[ReportRow], ShippedBytes]:
    """All of it."""
    rows: list[ReportRow] = []
    loops: dict[str, list[float]] = {}
    for name in ("closure", "network"):
        edges = graph(stage.options, name)[1]
        stage.begin(f"{name}, loop", 2)
        frame = edges_frame(spark, edges)
        for _ in range(2):
            seconds, (reach, rounds) = timed(lambda: closure(frame))  # noqa: B023
            loops.setdefault(name, []).append(seconds)
            stage.step(f"{rounds} rounds")
        stage.same("the loop", load(edges)["reach"], _columns(reach), LOOP)
        reach.unpersist()
    with hw.start_nodes(NODES, spark=spark) as cluster:
        for name in ("closure", "network"):
            rows += _against(stage, cluster, name, loops[name])
    shipped = ShippedBytes()
    for nodes in COUNTS:
        with hw.start_nodes(nodes, spark=spark) as cluster:
            _ship(stage, cluster, nodes, shipped)
            if nodes == max(COUNTS):
                rows += _outgrown(stage, cluster)
    return rows + _shipped_rows(shipped), shipped


def _columns(frame: Any) -> Any:
    pandas = frame.toPandas()
    return [pandas["a"].to_numpy(), pandas["b"].to_numpy()]


def _on_nodes(cluster: Any, edges: list[Edge], **options: Any) -> Database:
    database = hw.connect(run="spark", nodes=cluster, **options)
    database.define(PROGRAM)
    database.apply(insert={"link": edges})
    return database


def _against(stage: Stage, cluster: Any, name: str, loops: list[float]) -> list[ReportRow]:
    nodes, edges = graph(stage.options, name)
    singles = stage.options.singles
    stage.begin(name, stage.options.repeat + singles)
    large = name == "closure"
    loaded = Duel(name, f"load on {NODES} nodes", LOOP, "faster", Target("at least", 10) if large else None)
    loaded.theirs += loops
    beside = Duel(name, f"load on {NODES} nodes", HERE, "longer")
    for number in range(stage.options.repeat + 1):
        with hw.connect(run="spark", nodes=cluster) as database:
            database.define(PROGRAM)
            seconds, _ = timed(lambda: database.apply(insert={"link": edges}))  # noqa: B023
        here, _ = timed(lambda: load(edges))
        if number:  # the first one loads what is compiled
            loaded.ours.append(seconds)
            beside.ours.append(seconds)
            beside.theirs.append(here)
            stage.step("load")
    one = load(edges)
    about = (
        f"{nodes:,} nodes, {len(edges):,} edges, {len(one['reach']):,} rows; two runs of the loop serve all"
    )
    rows = [loaded.row(about), beside.row()]
    duels = {
        (change, rival): Duel(name, f"{change} 1 edge", rival, kind, target)  # type: ignore[arg-type]
        for change in ("delete", "insert")
        for rival, kind, target in (
            (LOOP, "faster", Target("at least", 100)),
            (HERE, "longer", Target("at most", 10)),
        )
    }
    choose = random.Random(stage.options.seed + 3)
    with _on_nodes(cluster, edges) as database:
        for number in range(singles):
            edge = choose.choice(edges)
            for change in ("delete", "insert"):
                seconds, _ = timed(lambda: database.apply(**{change: {"link": [edge]}}))  # noqa: B023
                here, _ = timed(lambda: one.apply(**{change: {"link": [edge]}}))  # noqa: B023
                duels[change, LOOP].ours.append(seconds)
                duels[change, HERE].ours.append(seconds)
                duels[change, HERE].theirs.append(here)
                if number % 10 == 0:
                    stage.same(f"after {change} of {edge}", database["reach"], columns_of(one["reach"]), HERE)
            stage.step("single edges")
    for (_, rival), duel in duels.items():
        if rival == LOOP:
            duel.theirs += loops
        rows.append(duel.row(about))
    return rows


def _outgrown(stage: Stage, cluster: Any) -> list[ReportRow]:
    """A closure whose budget is half of what it takes: it moves to nodes, and goes on."""
    nodes, edges = graph(stage.options, "closure")
    stage.begin("outgrown", 2)
    one = load(edges)
    budget = one.nbytes // 2
    half = len(edges) // 2
    with hw.connect(run="auto", nodes=cluster, budget=budget) as database:
        database.define(PROGRAM)
        for part in (edges[:half], edges[half : half + half // 2], edges[half + half // 2 :]):
            database.apply(insert={"link": part})
        stage.step("moved")
        words = database.explain("reach").lines[0]
        stage.same("after the move", database["reach"], columns_of(one["reach"]), HERE)
        edge = edges[0]
        database.apply(delete={"link": [edge]})
        one.apply(delete={"link": [edge]})
        stage.same(f"moved, after delete of {edge}", database["reach"], columns_of(one["reach"]), HERE)
        stage.step("compared")
        sizes = [float(size) for size in database.runner.sizes]  # type: ignore[attr-defined]
    note = f"{nodes:,} nodes, {len(edges):,} edges, {one.nbytes:,} bytes in one process: {words}"
    return [
        ReportRow(
            "outgrown", f"bytes on the largest of {max(COUNTS)} nodes", "the budget", Measure((max(sizes),), "bytes"),
            Measure((float(budget),), "bytes"), "longer", Target("at most", 1), "median", note,
        )
    ]  # fmt: skip


def _ship(stage: Stage, cluster: Any, nodes: int, shipped: ShippedBytes) -> None:
    """Load and change a closure whose edges are split, so that derivations have to travel."""
    _, edges = graph(stage.options, "shipped")
    stage.begin(f"{nodes} nodes", 2)
    choose = random.Random(stage.options.seed + 4)
    changed = [choose.choice(edges) for _ in range(10)]
    for rank_filter in (True, False):
        with _on_nodes(cluster, edges, replicate=0, rank_filter=rank_filter) as database:
            key = nodes, rank_filter
            before = _sent(database)
            shipped.steps[key], shipped.load[key] = database.runner.steps, before  # type: ignore[attr-defined]
            for edge in changed:
                database.apply(delete={"link": [edge]})
                database.apply(insert={"link": [edge]})
            after = _sent(database)
            shipped.changes[key] = after[0] - before[0], after[1] - before[1]
            stage.same("split edges", database["reach"], columns_of(load(edges)["reach"]), HERE)
        stage.step("with the rank filter" if rank_filter else ALL)


def _sent(database: Database) -> tuple[int, int]:
    """Bytes, and derivations and questions, sent so far by all nodes."""
    counts = database.runner.shipped  # type: ignore[attr-defined]
    return sum(node.bytes for node in counts), sum(node.rows for node in counts)


def _shipped_rows(shipped: ShippedBytes) -> list[ReportRow]:
    rows = []
    for what, found in (("load", shipped.load), ("20 changes of 1 edge", shipped.changes)):
        for nodes in COUNTS[1:]:
            with_it, without = found[nodes, True], found[nodes, False]
            for unit, ours, theirs in (("bytes", with_it[0], without[0]), ("rows", with_it[1], without[1])):
                rows.append(
                    ReportRow(
                        "shipped",
                        f"{what}, {nodes} nodes, {unit}",
                        ALL,
                        Measure((float(ours),), unit),  # type: ignore[arg-type]
                        Measure((float(theirs),), unit),  # type: ignore[arg-type]
                        "longer",
                        note="edges are split, so that derivations travel (one node sends nothing); rows are"
                        " derivations and questions",
                    )
                )
    assert all(shipped.load[1, rank_filter] == (0, 0) for rank_filter in (True, False))
    return rows


def run(options: BenchmarkOptions, progress: Onlooker | None = None) -> tuple[BenchmarkReport, ShippedBytes]:
    """Measure on an embedded session; raises `WrongAnswer` as soon as two answers differ."""
    spark = hw.spark_session(f"local[{max(COUNTS) + 1}]")
    stage = Stage(options, progress or Unwatched())
    rows, shipped = measure(stage, spark)
    stage.notes.append(
        f"Spark {spark.version} on {spark.sparkContext.master}; nodes are Python workers of a barrier stage"
    )
    report = stage.report(rows)
    return report, shipped
