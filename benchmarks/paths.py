"""All-pairs cheapest paths: one link's cost goes up and down, one link goes and comes back."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import headwater as hw
from benchmarks.answers import columns_from
from benchmarks.duckdb_rival import Duck
from benchmarks.duel import Duel
from benchmarks.graphs import random_digraph
from benchmarks.report import ReportRow, Target
from benchmarks.stage import DUCKDB, PATHWAY, Stage
from headwater.database import Database

PART = "paths"
PROGRAM = """
materialize(link, infinity, infinity, keys(1, 2)).
sp(X, Y, min<C>) :- link(X, Y, C).
sp(X, Y, min<C>) :- link(X, Z, A), sp(Z, Y, B), C = A + B.
"""
QUERY = """
WITH RECURSIVE sp(a, b, c) USING KEY (a, b, min(c)) AS (
  SELECT a, b, c FROM link UNION SELECT link.a, sp.b, link.c + sp.c FROM link JOIN sp ON link.b = sp.a
) SELECT a, b, c FROM sp
"""
"""The fastest of the forms that DuckDB offers for this: one row a key is kept, the least cost of it."""

Link = tuple[int, int, Any]
EVERY = 5
"""Answers are compared after the changes of one link in so many, and DuckDB computes anew after those."""
CHANGES = ("cost up", "cost down", "delete 1 link", "insert 1 link")


def measure(stage: Stage) -> list[ReportRow]:
    """Integer costs against DuckDB and Pathway, then float costs for information."""
    options = stage.options
    nodes, count = (30, 90) if options.quick else (200, 800)
    choose = random.Random(options.seed + 5)
    links = [(a, b, choose.randint(1, 100)) for a, b in random_digraph(nodes, count, options.seed)]
    floats = [(a, b, choose.uniform(1, 100)) for a, b, _ in links]
    changed = options.singles
    slow = 2 if options.quick else 4 * options.repeat
    stage.begin(PART, 2 * changed + (0 if stage.pathway is None else slow))
    target = Target("at least", 20)
    rows = _against_duckdb(stage, nodes, links, [choose.choice(links) for _ in range(changed)], "", target)
    rows += _against_duckdb(
        stage, nodes, floats, [choose.choice(floats) for _ in range(changed)], ", float costs", None
    )
    if stage.pathway is not None:
        rows += _against_pathway(stage, links, [choose.choice(links) for _ in range(slow)])
    return rows


def load(links: Sequence[Link]) -> Database:
    """A new database of ours with the cheapest paths over these links."""
    database = hw.connect()
    database.define(PROGRAM)
    database.apply(insert={"link": links})
    return database


def steps(link: Link) -> list[tuple[str, list[Link], list[Link]]]:
    """What happens to a link, as rows that go and rows that come: in the end all is as before."""
    dearer = (link[0], link[1], link[2] + 25)
    moves: list[tuple[list[Link], list[Link]]] = [
        ([link], [dearer]),
        ([dearer], [link]),
        ([link], []),
        ([], [link]),
    ]
    return [(what, *move) for what, move in zip(CHANGES, moves, strict=True)]


def apply(database: Database, gone: list[Link], come: list[Link]) -> None:
    """One version of ours. A new cost needs no delete: the key says which row it replaces."""
    if come:
        database.apply(insert={"link": come})
    else:
        database.apply(delete={"link": gone})


def _against_duckdb(
    stage: Stage, nodes: int, links: list[Link], chosen: list[Link], suffix: str, target: Target | None
) -> list[ReportRow]:
    database, duck = load(links), Duck()
    duck.create("link", dict(zip("abc", columns_from(links), strict=True)))
    duck.recompute(QUERY)
    stage.same(f"loaded{suffix}", database["sp"], duck.answer(), DUCKDB)
    for _, gone, come in steps(chosen[0]):
        apply(database, gone, come)
    duels = {change: Duel(PART, f"{change}{suffix}", DUCKDB, "faster", target) for change in CHANGES}
    for number, link in enumerate(chosen):
        for change, gone, come in steps(link):
            duel = duels[change]
            duel.time_ours(lambda: apply(database, gone, come))  # noqa: B023
            if number % EVERY == 0:
                duck.delete("link", gone)
                duck.insert("link", come)
                duel.theirs.append(duck.recompute(QUERY))
                stage.same(f"after {change}{suffix}", database["sp"], duck.answer(), DUCKDB)
        stage.step(f"single links{suffix}")
    duck.close()
    about = f"{nodes:,} nodes, {len(links):,} links, {len(database['sp']):,} pairs"
    return [duel.row(about) for duel in duels.values()]


def _against_pathway(stage: Stage, links: list[Link], chosen: list[Link]) -> list[ReportRow]:
    assert stage.pathway is not None
    database = load(links)
    duels = {change: Duel(PART, f"{change}", PATHWAY, "faster") for change in CHANGES}
    with stage.pathway.dataflow("paths", {"link": links}) as dataflow:
        for number, link in enumerate(chosen):
            for change, gone, come in steps(link):
                duel = duels[change]
                duel.time_ours(lambda: apply(database, gone, come))  # noqa: B023
                duel.theirs.append(dataflow.apply(delete={"link": gone}, insert={"link": come}))
                if number % EVERY == 0:
                    stage.same(f"after {change}", database["sp"], dataflow.answer(), PATHWAY)
            stage.step("single links, Pathway")
    return [duel.row() for duel in duels.values()]
