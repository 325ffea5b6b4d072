"""Workloads with the shape of real ones: loading them, one base row deleted and inserted again, and memory.

The rival is Nemo where several relations recurse together, else DuckDB; both derive everything anew.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

import headwater as hw
from benchmarks.duckdb_rival import THREADS, Duck
from benchmarks.duel import Duel
from benchmarks.machine import MemoryGrowth, growth_while
from benchmarks.report import ReportRow, Target
from benchmarks.stage import DUCKDB, Stage
from benchmarks.workloads.nemo_rival import NemoRival
from benchmarks.workloads.ontology import ontology
from benchmarks.workloads.points_to import points_to
from benchmarks.workloads.shared_text import shared_text
from benchmarks.workloads.tables import long_strings, same_generation, skewed_keys, wide_rows
from benchmarks.workloads.workload import RecursiveWorkload, Row
from headwater.database import Database

PART = "workloads"
NEMO = "Nemo, from scratch"
WIDTHS = (2, 10, 40)
LOADS = {"same generation": Target("at most", 1)}
"""What loading should come to."""
ROWS_OF_RIVAL = 2
"""How many of the changed rows the rival is told of, and derives everything anew after."""
LARGE_CLASSES, SMALL_CLASSES = 23_000, 300
CLASSES_BEFORE = 1_500
"""How many classes have been loaded before memory is looked at: as many as it takes that all machine code is loaded
which larger ones need, and not so many that it would be a large load itself."""


class Rival(Protocol):
    """Somebody who derives everything anew."""

    def delete(self, relation: str, row: Row) -> None:
        """Take a base row away."""

    def insert(self, relation: str, row: Row) -> None:
        """Bring a base row back."""

    def recompute(self) -> float:
        """Derive everything; the seconds that took."""

    def answer(self, relation: str) -> list[npt.NDArray[Any]]:
        """The columns of what was derived."""

    def close(self) -> None:
        """Free what is held."""


class DuckRival:
    """DuckDB, for workloads whose answer is one query."""

    def __init__(self, workload: RecursiveWorkload, threads: int = THREADS):
        self._duck = Duck(threads)
        self._query = workload.rival_text
        for table, rows in workload.base.items():
            columns = [np.asarray(column) for column in zip(*rows, strict=True)]
            names = ["a", "b", *(f"c{number}" for number in range(len(columns) - 2))]
            self._duck.create(table, dict(zip(names, columns, strict=True)))

    def delete(self, relation: str, row: Row) -> None:
        self._duck.delete(relation, [row])

    def insert(self, relation: str, row: Row) -> None:
        self._duck.insert(relation, [row])

    def recompute(self) -> float:
        return self._duck.recompute(self._query)

    def answer(self, relation: str) -> list[npt.NDArray[Any]]:
        return self._duck.answer()

    def close(self) -> None:
        self._duck.close()


def workloads(*, quick: bool, seed: int) -> list[Callable[[], RecursiveWorkload]]:
    """All of them, each made when it is its turn."""
    scale = 1 if quick else 40
    return [
        lambda: ontology(SMALL_CLASSES if quick else LARGE_CLASSES, seed),
        lambda: points_to(200 * scale, seed),
        lambda: shared_text(600 if quick else 60_000, seed),
        lambda: same_generation(150 * (1 if quick else 20), seed),
        lambda: long_strings(60 * (1 if quick else 20), seed),
        lambda: skewed_keys(80 * (1 if quick else 20), seed),
        *((lambda columns=columns: wide_rows(500 * scale, columns, seed)) for columns in WIDTHS),
    ]


def measure(stage: Stage) -> list[ReportRow]:
    """Each workload beside its rival, every answer compared."""
    options = stage.options
    made = workloads(quick=options.quick, seed=options.seed)
    stage.begin(PART, len(made) + 1)
    rows: list[ReportRow] = []
    for make in made:
        workload = make()
        rows += _contest(stage, workload)
        stage.step(workload.name)
    rows += _memory(stage)
    stage.step("memory")
    return rows


def _contest(stage: Stage, workload: RecursiveWorkload) -> list[ReportRow]:
    rival: Rival = (
        NemoRival(workload.rival_text, workload.base) if workload.rival == "Nemo" else DuckRival(workload)
    )
    against = NEMO if workload.rival == "Nemo" else DUCKDB
    load = Duel(PART, f"{workload.name}: load", against, "longer", LOADS.get(workload.name))
    database: Database | None = None
    for _ in range(stage.options.repeat):
        database = None  # the one before is given back before the clock starts
        database = load.time_ours(lambda: loaded(workload))
        load.theirs.append(rival.recompute())
    assert database is not None
    derived = sum(len(database[name]) for name in workload.answers)
    _compare(stage, workload, database, rival, "loaded", against)
    changes = {
        each: Duel(PART, f"{workload.name}: {each} 1", against, "faster") for each in ("delete", "insert")
    }
    for number, row in enumerate(workload.changed):
        for change, duel in changes.items():
            duel.time_ours(lambda: database.apply(**{change: {workload.relation: [row]}}))  # noqa: B023
            if number < ROWS_OF_RIVAL:  # what is deleted and inserted again need not be told
                getattr(rival, change)(workload.relation, row)
            if number < 1 + (change == "delete"):
                duel.theirs.append(rival.recompute())
                _compare(stage, workload, database, rival, f"after {change} of {row[:3]}", against)
    rival.close()
    note = f"{workload.name}: {workload.size:,} base rows, {derived:,} derived"
    rows = [load.row(note), *(duel.row() for duel in changes.values()), _worst(workload, changes["delete"])]
    return [*rows, _one_thread_each(stage, workload)] if workload.name in LOADS else rows


def _one_thread_each(stage: Stage, workload: RecursiveWorkload) -> ReportRow:
    rival = DuckRival(workload, threads=1)
    duel = Duel(PART, f"{workload.name}: load, one thread each", DUCKDB, "longer", LOADS.get(workload.name))
    for _ in range(stage.options.repeat):
        database = duel.time_ours(lambda: loaded(workload, cores=1))
        duel.theirs.append(rival.recompute())
        _compare(stage, workload, database, rival, "loaded by one thread", DUCKDB)
        del database
    rival.close()
    return duel.row()


def _worst(workload: RecursiveWorkload, deletes: Duel) -> ReportRow:
    """The dearest of all single deletes."""
    worst = Duel(PART, f"{workload.name}: delete 1, the worst", deletes.rival, "faster")
    worst.ours, worst.theirs = [max(deletes.ours)], deletes.theirs
    return worst.row(f"{workload.name}: the worst of {len(deletes.ours)} single deletes")


def loaded(workload: RecursiveWorkload, cores: int | None = None) -> Database:
    """A new database of ours with all rows."""
    database = hw.connect(cores=cores)
    database.define(workload.rules)
    database.apply(insert=dict(workload.base))
    return database


def _compare(
    stage: Stage, workload: RecursiveWorkload, database: Database, rival: Rival, when: str, against: str
) -> None:
    for name in workload.answers:
        ours = [column.to_numpy(zero_copy_only=False) for column in database[name].arrow().columns]
        stage.same(f"{workload.name}, {name}, {when}", _numbers(ours), _numbers(rival.answer(name)), against)


def _numbers(columns: list[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Strings as numbers: the first eight bytes of a digest."""
    return [column if column.dtype.kind in "iu" else _digests(column) for column in columns]


def _digests(column: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    import hashlib

    values, places = np.unique(column.astype(str), return_inverse=True)
    digests = [hashlib.blake2b(value.encode(), digest_size=8).digest() for value in values.tolist()]
    return np.frombuffer(b"".join(digests), np.int64)[places]


def _memory(stage: Stage) -> list[ReportRow]:
    """By how much a process grows that loads the ontology, ours and Nemo's: what stays, and the most on the way.

    Both have the base rows as Python's tuples before. Ours takes these, Nemo reads them from files; ours has loaded a
    smaller ontology before, since compiled code is no part of it, and Nemo's is compiled in any case.
    """
    held = Duel(PART, "ontology: resident memory", NEMO, "longer", Target("at most", 1), unit="bytes")
    most = Duel(PART, "ontology: most memory while loading", NEMO, "longer", unit="bytes")
    classes = SMALL_CLASSES if stage.options.quick else LARGE_CLASSES
    for growth, ours in ((_our_growth, True), (_nemo_growth, False)):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
            grown = other.submit(growth, classes, stage.options.seed).result()
        for duel, bytes_more in ((held, grown.held), (most, grown.most)):
            (duel.ours if ours else duel.theirs).append(max(1, bytes_more))
    return [
        held.row("a process grew by so much while it loaded the ontology, spare room included"),
        most.row("and by so much at most, before what was needed on the way was given back"),
    ]


def _our_growth(classes: int, seed: int) -> MemoryGrowth:
    loaded(ontology(CLASSES_BEFORE, seed))
    workload = ontology(classes, seed)
    return growth_while(lambda: loaded(workload))


def _nemo_growth(classes: int, seed: int) -> MemoryGrowth:
    workload = ontology(classes, seed)
    rival = NemoRival(workload.rival_text, workload.base)
    grown = growth_while(rival.recompute)
    rival.close()
    return grown
