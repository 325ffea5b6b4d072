"""A view that is watched and never stored, beside the same view stored, and beside DuckDB computing it anew.

What a version is told of the view is compared row by row: watched against stored after each change, and stored
against DuckDB where it computes anew.
"""

from __future__ import annotations

import random

import headwater as hw
from benchmarks.answers import WrongAnswer
from benchmarks.duckdb_rival import Duck
from benchmarks.duel import Duel, timed
from benchmarks.report import Check, ReportRow, Target
from benchmarks.rules.company import PROGRAM, QUERY, Company, Report
from benchmarks.stage import DUCKDB, Stage
from headwater.database import Database
from headwater.version.changes import Changes

PART = "watching"
STORED = "the view stored"
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
MOVES = (1, 10, 100)
RECOMPUTED = 2
"""How often DuckDB computes anew for each size of change."""


def measure(stage: Stage) -> list[ReportRow]:
    """People move, for companies of several sizes."""
    options = stage.options
    sizes = SIZES[:1] if options.quick else SIZES
    stage.begin(PART, len(sizes) * len(MOVES))
    rows: list[ReportRow] = []
    for size in sizes:
        rows += _one_size(stage, size)
    return rows


def _one_size(stage: Stage, size: int) -> list[ReportRow]:
    company = Company.make(size, stage.options.seed)
    stored, watched, duck = _load(company, "stored"), _load(company, "watched"), Duck()
    reports = company.reports()
    duck.create("boss", {"person": reports[:, 0].copy(), "manager": reports[:, 1].copy()})
    choose = random.Random(stage.options.seed + 3)
    rows = []
    for count in MOVES:
        rows += _moves(stage, company, stored, watched, duck, count, choose)
        stage.step(f"{company.rows:,} rows, {count:,} moves")
    memory = Duel(PART, f"memory, {_size(company)}", STORED, "longer", unit="bytes")
    memory.ours, memory.theirs = [float(watched.nbytes)], [float(stored.nbytes)]
    duck.close()
    return [*rows, memory.row()]


def _load(company: Company, kind: str) -> Database:
    database = hw.connect()
    database.define(f"{PROGRAM}\n.kind under {kind}\n", insert={"boss": company.reports()})
    return database


def _moves(
    stage: Stage,
    company: Company,
    stored: Database,
    watched: Database,
    duck: Duck,
    count: int,
    choose: random.Random,
) -> list[ReportRow]:
    what = f"{count:,} moved, {_size(company)}"
    series, detail = str(count), count != 1
    target = Target("at least", 10) if count == 1 else None
    against_stored = Duel(PART, what, STORED, "longer", series=series, size=company.rows, detail=detail)
    against_duck = Duel(PART, what, DUCKDB, "faster", target, series=series, size=company.rows, detail=detail)
    times = stage.options.singles if count < 100 else max(2, stage.options.singles // 10)
    for number in range(-1, times):
        gone, come = company.moves(count, choose)
        for away, here in ((gone, come), (come, gone)):
            _apply(stage, against_stored, stored, watched, away, here)
        duck.delete("boss", gone)
        duck.insert("boss", come)
        if 0 <= number < RECOMPUTED:
            against_duck.theirs.append(duck.recompute(QUERY))
            there = stored.what_if(delete={"boss": gone}, insert={"boss": come})
            _same_size(stage, stored, there, duck, what)
        duck.delete("boss", come)
        duck.insert("boss", gone)
        if number < 0:  # the first changes build indexes and plans
            against_stored.ours.clear()
            against_stored.theirs.clear()
    against_duck.ours = list(against_stored.ours)
    return [against_duck.row(), against_stored.row()]


def _apply(
    stage: Stage, duel: Duel, stored: Database, watched: Database, gone: list[Report], come: list[Report]
) -> None:
    """One version on either side; both must tell the same."""
    told = duel.time_ours(lambda: watched.apply({"boss": come}, {"boss": gone}))
    seconds, expected = timed(lambda: stored.apply({"boss": come}, {"boss": gone}))
    duel.theirs.append(seconds)
    for side in ("inserted", "deleted"):
        ours = set(getattr(told["under"], side))
        theirs = set(getattr(expected["under"], side))
        if ours != theirs:
            message = f"{duel.what}: {len(ours):,} rows {side} when watched, {len(theirs):,} when stored"
            raise WrongAnswer("wrong-answer", message, hint="this is a bug: please report it")
    stage.checks.append(
        Check(PART, duel.what, STORED, len(told["under"].inserted) + len(told["under"].deleted))
    )


def _same_size(stage: Stage, stored: Database, there: Changes, duck: Duck, what: str) -> None:
    """The stored view, after the change, has as many rows as DuckDB computed."""
    rows = len(stored["under"]) + len(there["under"].inserted) - len(there["under"].deleted)
    found = len(duck.answer()[0])
    if rows != found:
        raise WrongAnswer(
            "wrong-answer", f"{what}: {rows:,} rows, DuckDB has {found:,}", hint="this is a bug"
        )
    stage.checks.append(Check(PART, what, DUCKDB, rows))


def _size(company: Company) -> str:
    return f"a view of {company.rows:,} rows"
