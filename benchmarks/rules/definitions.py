"""A rule that a recursive view gains and loses, beside redefining the view from scratch, and beside DuckDB.

Some people have a deputy, who is under the same bosses: a rule that changes less than one row in a hundred.
Redefining is what one would do without edits, from the same beginning to the same end: drop the view, and define it
with the rule, which is parsed, checked, planned and derived. Defining it where there was none, in a database that
holds the base rows, is measured by itself. All sides are timed from the call to its return, in turns of some calls at
once after another, of which the first does not count: what it finds in the processor's caches is what others left.
With the rule, the view's rows are compared with those of the view defined anew, and their number with DuckDB's.
"""

from __future__ import annotations

import random

import headwater as hw
from benchmarks.answers import WrongAnswer
from benchmarks.duckdb_rival import Duck
from benchmarks.duel import Duel, timed
from benchmarks.report import Check, ReportRow, Target
from benchmarks.rules.company import PROGRAM, Company, Report
from benchmarks.stage import DUCKDB, Stage
from headwater.database import Database

PART = "definitions"
REDEFINED = "the view redefined from scratch"
DEFINED = "the view defined where there was none"
SIZES = (10_000, 100_000, 1_000_000)
TURN = 5
"""Calls at once after another, for each side in turn."""
SHARE = 2_000
"""One row of the view for each deputy, at the least; a deputy brings about ten."""
RULE = "under(X, Z) :- deputy(X, Y), boss(Y, Z)."
VIEW = "".join(line + "\n" for line in PROGRAM.splitlines() if line.startswith("under"))
QUERY = """
WITH RECURSIVE under(a, b) AS (
  SELECT person, manager FROM boss
  UNION SELECT deputy.person, boss.manager FROM deputy JOIN boss ON deputy.stands_for = boss.person
  UNION SELECT boss.person, under.b FROM boss JOIN under ON boss.manager = under.a
) SELECT a, b FROM under
"""


def measure(stage: Stage) -> list[ReportRow]:
    """The rule comes and goes, over views of several sizes."""
    sizes = SIZES[:1] if stage.options.quick else SIZES
    stage.begin(PART, len(sizes))
    rows: list[ReportRow] = []
    for size in sizes:
        company = Company.make(size, stage.options.seed)
        rows += _one_size(stage, company, _deputies(company, stage.options.seed))
        stage.step(f"{company.rows:,} rows")
    return rows


def _deputies(company: Company, seed: int) -> list[Report]:
    """People of the lowest level, each the deputy of another one there."""
    choose = random.Random(seed + 5)
    people = list(company.levels[-1])
    count = max(1, company.rows // SHARE)
    return [(choose.choice(people), choose.choice(people)) for _ in range(count)]


def _one_size(stage: Stage, company: Company, deputies: list[Report]) -> list[ReportRow]:
    database, duck = _load(company, deputies), Duck()
    reports = company.reports()
    duck.create("boss", {"person": reports[:, 0].copy(), "manager": reports[:, 1].copy()})
    duck.create("deputy", {"person": reports[:0, 0].copy(), "stands_for": reports[:0, 1].copy()})
    duck.insert("deputy", deputies)
    size = f"a view of {company.rows:,} rows"
    target = Target("at least", 10)
    duels = {
        (what, rival): Duel(
            PART, f"a rule {what}, {size}", rival, "faster", target, series=what, size=company.rows
        )
        for what in ("added", "dropped")
        for rival in (REDEFINED, DEFINED, DUCKDB)
    }
    for number in range(-1, max(2, stage.options.singles // 8)):
        scratch = [_load(company, deputies, "") for _ in range(TURN)]
        anew = [timed(lambda one=one: one.define(VIEW + RULE))[0] for one in scratch]  # type: ignore[misc]
        again = [timed(lambda one=one: _redefine(one))[0] for one in scratch]  # type: ignore[misc]
        added, dropped = _edited(database)
        found = [duck.recompute(QUERY) for _ in range(TURN)]
        came = database.add_rule(RULE)["under"].counts[0]
        _check(stage, database, scratch[-1], duck, deputies, came, company)
        database.drop_rule(database.rules[-1])
        if number < 0:  # the first change builds indexes and plans
            continue
        for what, seconds in (("added", added), ("dropped", dropped)):
            for rival, theirs in ((REDEFINED, again), (DEFINED, anew), (DUCKDB, found)):
                duels[what, rival].ours += seconds[1:]
                duels[what, rival].theirs += theirs[1:]
    duck.close()
    return [duel.row() for duel in duels.values()]


def _redefine(database: Database) -> None:
    database.drop("under")
    database.define(VIEW + RULE)


def _edited(database: Database) -> tuple[list[float], list[float]]:
    """Seconds for adding the rule, and for dropping it, some times at once after another."""
    added, dropped = [], []
    for _ in range(TURN):
        added.append(timed(lambda: database.add_rule(RULE))[0])
        id = database.rules[-1]
        dropped.append(timed(lambda id=id: database.drop_rule(id))[0])  # type: ignore[misc]
    return added, dropped


def _load(company: Company, deputies: list[Report], view: str = VIEW) -> Database:
    """A database with these rows, whose last version defines the view, if there is one."""
    database = hw.connect()
    database.define("boss(person: int, manager: int). deputy(person: int, stands_for: int).")
    database.apply(insert={"boss": company.reports(), "deputy": deputies})
    if view:
        database.define(view)
    return database


def _check(
    stage: Stage,
    ours: Database,
    scratch: Database,
    duck: Duck,
    deputies: list[Report],
    came: int,
    company: Company,
) -> None:
    rows, expected = set(ours["under"].rows()), set(scratch["under"].rows())
    found = len(duck.answer()[0])
    if rows != expected or len(rows) != found or not 0 < came <= company.rows / 100:
        raise WrongAnswer(
            "wrong-answer",
            f"{len(deputies):,} deputies: {len(rows):,} rows ({came:,} came), from scratch {len(expected):,},"
            f" DuckDB has {found:,}",
            hint="this is a bug: please report it",
        )
    stage.checks.append(Check(PART, "a rule added", REDEFINED, len(rows)))
    stage.checks.append(Check(PART, "a rule added", DUCKDB, found))
