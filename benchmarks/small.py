"""What a version costs at the least: one row comes or goes under ten rules, in memory, and little follows from it."""

from __future__ import annotations

import random

import headwater as hw
from benchmarks.duel import Duel
from benchmarks.graphs import Edge
from benchmarks.reachability import PROGRAM, load_duck
from benchmarks.report import ReportRow, Target
from benchmarks.stage import DUCKDB, Stage
from headwater.database import Database

PART = "small"
WANTED = "half a millisecond"
SECONDS = 0.0005
LINKS = 3
"""How long a chain of links is."""
TEN_RULES = (
    PROGRAM
    + """
two(X, Z) :- link(X, Y), link(Y, Z).
back(Y, X) :- link(X, Y).
starts(X) :- link(X, _).
seen(X) :- link(X, _).
seen(Y) :- link(_, Y).
last(X) :- seen(X), !starts(X).
degree(X, count<Y>) :- link(X, Y).
far(X, Y) :- two(X, Z), link(Z, Y).
"""
)


def measure(stage: Stage) -> list[ReportRow]:
    """Links of short chains are deleted and inserted again, one at a time."""
    options = stage.options
    chains = 100 if options.quick else 1000
    stage.begin(PART, options.singles)
    links = [(chain * 10 + i, chain * 10 + i + 1) for chain in range(chains) for i in range(LINKS)]
    database = _loaded(links)
    duels = {
        change: Duel(PART, f"{change} 1 row under ten rules", WANTED, "longer", Target("at most", 1))
        for change in ("delete", "insert")
    }
    choose = random.Random(options.seed)
    for number in range(options.singles + 1):
        link = choose.choice(links)
        for change, duel in duels.items():
            duel.time_ours(lambda: database.apply(**{change: {"link": [link]}}))  # noqa: B023
            if not number:  # the first change after a load may build indexes
                duel.ours.clear()
        stage.step(f"{link}")
    duck = load_duck(links)
    stage.same("after all changes", database["reach"], duck.answer(), DUCKDB)
    duck.close()
    for duel in duels.values():
        duel.theirs.append(SECONDS)
    note = f"{len(links):,} links, {len(database['reach']):,} pairs"
    return [duel.row(note) for duel in duels.values()]


def _loaded(links: list[Edge]) -> Database:
    database = hw.connect()
    database.define(TEN_RULES)
    database.apply(insert={"link": links})
    return database
