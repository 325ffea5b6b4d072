"""Explanations of a large closure, beside the time of deleting one edge of it.

Nothing is stored for explanations, so they must not cost what the view does. Every proof is checked: its edges are
there, they lead from one node to the other, and there are as many as on a shortest path (networkx).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from benchmarks.answers import WrongAnswer
from benchmarks.duel import Duel, timed
from benchmarks.graphs import Edge, random_digraph
from benchmarks.options import BenchmarkOptions
from benchmarks.reachability import describe, load
from benchmarks.report import BenchmarkReport, Check, ReportRow, Target
from benchmarks.stage import Onlooker, Stage, Unwatched
from headwater.database import Database

PART = "why"
RIVAL = "deleting 1 edge"
PATHS = "shortest paths of networkx"


def measure(stage: Stage) -> list[ReportRow]:
    """Ask about random rows, and delete random edges (and insert them again), in turns."""
    options = stage.options
    nodes, count = (200, 300) if options.quick else (2000, 3000)
    edges = random_digraph(nodes, count, options.seed)
    stage.begin(PART, options.singles + 1)
    database = load(edges)
    choose = random.Random(options.seed + 5)
    rows = choose.choices(database["reach"].rows(), k=options.singles + 1)
    duels = {
        "why": Duel(PART, "why: all derivations, shortest proof", RIVAL, "longer", Target("at most", 10)),
        "terms": Duel(PART, "the same as text, with 5 minimal explanations", RIVAL, "longer"),
        "not": Duel(PART, "why not: what each rule lacks, 3 repairs", RIVAL, "longer"),
        "if": Duel(PART, "what if 1 edge were deleted", RIVAL, "longer"),
    }
    derivations: list[int] = []
    for number, row in enumerate(rows):
        missing, edge = _missing(choose, nodes, database), choose.choice(edges)
        questions: dict[str, Callable[[], Any]] = {
            "why": lambda: database.why("reach", row),  # noqa: B023
            "terms": lambda: str(database.why("reach", row)),  # noqa: B023
            "not": lambda: database.why_not("reach", missing),  # noqa: B023
            "if": lambda: database.what_if(delete={"link": [edge]}),  # noqa: B023
        }
        deleted, _ = timed(lambda: database.apply(delete={"link": [edge]}))  # noqa: B023
        database.apply(insert={"link": [edge]})
        for name, ask in questions.items():
            seconds, answer = timed(ask)
            if number:  # the first question loads what is compiled, and may build an index
                duels[name].ours.append(seconds)
                duels[name].theirs.append(deleted)
            if name == "why":
                derivations.append(len(answer.graph.derivations))
                _check(stage, database, edges, row, answer)
        stage.step("questions")
    about = f"{describe(nodes, edges, database)}; {sum(derivations) // len(derivations):,} derivations a row"
    return [duel.row(about) for duel in duels.values()]


def _missing(choose: random.Random, nodes: int, database: Database) -> Edge:
    """A row that is not there."""
    while True:
        row = (choose.randrange(nodes), choose.randrange(nodes))
        if row not in database["reach"]:
            return row


def _check(stage: Stage, database: Database, edges: list[Edge], row: Edge, why: Any) -> None:
    """The proof is a shortest path."""
    import networkx as nx

    graph = nx.DiGraph(edges)
    source, target = row
    lengths = [
        1 + nx.shortest_path_length(graph, following, target)
        for following in graph.successors(source)
        if nx.has_path(graph, following, target)
    ]
    walked = nx.DiGraph([fact.row for fact in why.proof().base])
    leads = target in walked and any(nx.has_path(walked, z, target) for z in walked.successors(source))
    if why.proof().size != min(lengths) or not leads or not set(walked.edges) <= set(graph.edges):
        raise WrongAnswer("wrong-answer", f"{PART}: the proof of reach{row} is no shortest path")
    stage.checks.append(Check(PART, f"proof of reach{row}", PATHS, why.proof().size))


def run(options: BenchmarkOptions, progress: Onlooker | None = None) -> BenchmarkReport:
    """Measure; raises `WrongAnswer` at a proof that is none, or not the shortest."""
    stage = Stage(options, progress or Unwatched())
    rows = measure(stage)
    return stage.report(rows)
