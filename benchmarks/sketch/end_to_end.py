"""Queries and updates mixed (section 10.4), on Spark over Delta tables: sketches beside Spark's own skipping.

Both sides read the same Delta table, clustered by the attribute of the sketch, with Spark's own statistics. Updates
are made once, for both. A side's time is that of its queries, what maintains sketches included. Every answer is
compared.
"""

from __future__ import annotations

import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.answers import WrongAnswer
from benchmarks.report import Check, Measure, ReportRow, Target
from benchmarks.sketch.crimes import AREAS, BUSY, TOP, CrimesData
from benchmarks.stage import Stage
from headwater.sketch.sketches import Sketches

PLAIN = "plain Spark"
UPDATES = (1, 20, 200, 2000)
MIXES = {"1U1Q": (1, 1), "1U5Q": (1, 5), "5U1Q": (5, 1)}
FILES = 64
"""Of the table, when it is made."""


@dataclass(frozen=True)
class CrimesWorkload:
    """The crimes, and the queries that are repeated over them."""

    data: CrimesData
    queries: dict[str, str]
    files: int
    updates: tuple[int, ...]
    settings: dict[str, str]
    """Of Spark."""


def workload(quick: bool) -> CrimesWorkload:
    """Years of beats and areas with very many crimes, and the ten worst beats."""
    data = CrimesData(30_000 if quick else 7_300_000)
    queries = {
        "busy beats": BUSY.format(least=data.rows // 2400),
        "busy areas": AREAS.format(least=data.rows * 235 // 10_000),
        "top 10 beats": TOP,
    }
    if quick:
        soon = {"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
        return CrimesWorkload(data, {"busy beats": queries["busy beats"]}, 4, (20,), soon)
    settings = {"spark.driver.memory": "4g"}
    return CrimesWorkload(data, queries, FILES, UPDATES, settings)


@contextmanager
def opened(load: CrimesWorkload) -> Iterator[Sketches]:
    """The crimes as a Delta table of sorted files, and sketches of 100 ranges on beat. All parts share one session
    (`spark_stopped`)."""
    import deltalake

    import headwater as hw

    session = hw.spark_session("local[2]", conf=load.settings)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "crimes")
        rows = load.data.table()
        size = -(-rows.num_rows // load.files)
        for number in range(load.files):
            deltalake.write_deltalake(path, rows.slice(number * size, size), mode="append")
        with hw.sketches(session, Path(folder) / "state") as sketches:
            sketches.table("crimes", path, format="delta", partition="beat", ranges=100)
            yield sketches


@contextmanager
def spark_stopped() -> Iterator[None]:
    """A session that was started meanwhile is stopped at the end."""
    before = _session()
    try:
        yield
    finally:
        session = _session()
        if session is not None and session is not before:
            session.stop()


def _session() -> Any:
    """The session that there is; without Spark none was started."""
    from headwater.spark.session import running_session

    return running_session() if "pyspark" in sys.modules else None


def captures(stage: Stage) -> list[ReportRow]:
    """Capture and use."""
    load = workload(stage.options.quick)
    rows: list[ReportRow] = []
    with opened(load) as sketches:
        stage.begin("capture", len(load.queries))
        for name, text in load.queries.items():
            rows += _captured(stage, sketches, name, text)
            stage.step(name)
    return rows


def mixed(mix: str) -> Callable[[Stage], list[ReportRow]]:
    """A mix of updates and queries."""

    def measure(stage: Stage) -> list[ReportRow]:
        load = workload(stage.options.quick)
        rows: list[ReportRow] = []
        with opened(load) as sketches:
            stage.begin(mix, len(load.queries))
            for name, text in load.queries.items():
                for way in ("plain", "capture", "use"):
                    sketches.ask(text, way=way)
                rows += _mixed(stage, sketches, load, name, text, mix)
                stage.step(name)
        return rows

    return measure


def _captured(stage: Stage, sketches: Sketches, name: str, text: str) -> list[ReportRow]:
    """What a capture costs beside the plain query, and what its use saves."""
    times: dict[str, list[float]] = {"plain": [], "capture": [], "use": []}
    answers: dict[str, pa.Table] = {}
    for way in times if not stage.options.quick else ():  # once for each, so that Java has seen all of it
        answers[way] = sketches.ask(text, way=way).rows
    for _ in range(stage.options.repeat):
        for way, seconds in times.items():
            started = time.perf_counter()
            answers[way] = sketches.ask(text, way=way).rows
            seconds.append(time.perf_counter() - started)
    for way in ("capture", "use"):
        _same(stage, f"{name} by {way}", answers[way], answers["plain"])
    plain = Measure(tuple(times["plain"]))
    read = sketches.last.read if sketches.last else 1.0
    said = f"{read:.1%} of the rows are read"
    return [
        ReportRow("capture", name, PLAIN, Measure(tuple(times["capture"])), plain, "longer"),
        ReportRow("use", name, PLAIN, Measure(tuple(times["use"])), plain, "faster", note=said),
    ]


def _mixed(
    stage: Stage, sketches: Sketches, load: CrimesWorkload, name: str, text: str, mix: str
) -> list[ReportRow]:
    """A few rounds of a mix with updates of each size."""
    updates, queries = MIXES[mix]
    found = []
    for size in load.updates:
        sketches.ask(text, way="maintain")
        ours, theirs = [], []
        for number in range(stage.options.repeat):
            for each in range(updates):
                seed = zlib.crc32(f"{name} {mix} {size} {number} {each}".encode())
                sketches.update("crimes", insert=load.data.some(size, seed, 10**9 + seed))
            started = time.perf_counter()
            answers = [
                sketches.ask(text, way="maintain" if query == 0 else "use").rows for query in range(queries)
            ]
            ours.append(time.perf_counter() - started)
            started = time.perf_counter()
            plain = [sketches.ask(text, way="plain").rows for _ in range(queries)]
            theirs.append(time.perf_counter() - started)
            for query, (answer, other) in enumerate(zip(answers, plain, strict=True)):
                _same(stage, f"{name}, {mix}, {size} rows, query {query + 1}", answer, other)
        target = Target("at least", 2) if mix == "1U5Q" and not stage.options.quick else None
        found.append(
            ReportRow(
                mix, f"{name}, {mix}, {size:,} rows an update", PLAIN, Measure(tuple(ours)),
                Measure(tuple(theirs)), "faster", target, series=f"{name} {mix}", size=size,
            )
        )  # fmt: skip
    return found


def _same(stage: Stage, what: str, ours: pa.Table, theirs: pa.Table) -> None:
    if _bag(ours) != _bag(theirs):
        raise WrongAnswer("wrong-answer", f"{what}: {ours.num_rows} rows, plain {theirs.num_rows}")
    stage.checks.append(Check(stage.part, what, PLAIN, ours.num_rows))


def _bag(rows: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True), key=repr)
