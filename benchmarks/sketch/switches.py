"""What maintenance does to do less, on and off (section 10.6): the sketch is the same, and is compared."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.answers import WrongAnswer
from benchmarks.report import Check, Measure, ReportRow
from benchmarks.sketch.maintenance import MaintainedQuery, kept_query, loaded, tpch_queries
from benchmarks.sketch.synthetic import SyntheticTable, selections, synthetic_series
from benchmarks.sketch.tpch import TpchData
from benchmarks.sketch.tpch_queries import QUERIES
from benchmarks.stage import Stage
from headwater.sketch.maintain.switches import Switches
from headwater.sketch.tables.sql_backend import SqlBackend

WITHOUT = "without it"
PASSING = (0.02, 0.25, 0.5, 0.75, 1.0)
BUFFERS = (1000, 5000, 10_000, 20_000)


def push_down(stage: Stage) -> list[ReportRow]:
    """Q_selpd under a change of 2.5 % of the table: selections in the fetch of the delta, or after it."""
    quick = stage.options.quick
    table = SyntheticTable("r1000", 20_000 if quick else 10_000_000, 1000)
    queries = selections(table, PASSING[1:2] if quick else PASSING)
    stage.begin("push-down", len(queries))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        backend = loaded(Path(folder) / "tables.db", {table.name: table.whole()})
        pair = (Switches(), Switches(push_selections=False))
        for (share, query), times in _duels(stage, backend, queries, table.rows // 40, pair):
            rows.append(
                ReportRow(
                    "push-down", f"{share:.0%} of the rows pass", WITHOUT, *times, "faster",
                    series="push-down", size=round(100 * share),
                )
            )  # fmt: skip
            stage.step(query.name)
        backend.close()
    return rows


def bloom_filters(stage: Stage) -> list[ReportRow]:
    """Q_joinsel with and without filters, for small changes and for 0.5 and 1.5 % of the table."""
    quick = stage.options.quick
    (series,) = (each for each in synthetic_series(0.002 if quick else 1) if each.name == "selectivity")
    shares = (0.005, 0.015)
    sizes = (10,) if quick else (10, 1000, *(int(share * series.queries[0].rows) for share in shares))
    stage.begin("bloom filters", len(series.queries) * len(sizes))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        backend = loaded(Path(folder) / "tables.db", {each.name: each.whole() for each in series.tables})
        pair = (Switches(), Switches(bloom_filters=False))
        for size in sizes:
            queries = [(float(size), query) for query in series.queries]
            for (_, query), times in _duels(stage, backend, queries, size, pair):
                what = f"{query.name}, {size:,} rows"
                rows.append(
                    ReportRow(
                        "bloom filters",
                        what,
                        WITHOUT,
                        *times,
                        "faster",
                        series=f"filter, {query.name}",
                        size=size,
                    )
                )
                stage.step(what)
        backend.close()
    return rows


def _duels(
    stage: Stage,
    backend: SqlBackend,
    queries: list[tuple[float, MaintainedQuery]],
    size: int,
    pair: tuple[Switches, Switches],
) -> Iterator[tuple[tuple[float, MaintainedQuery], tuple[Measure, Measure]]]:
    """Two ways of maintaining each query, in turns, through changes of a size."""
    kept = {query.name: [kept_query(backend, query, each) for each in pair] for _, query in queries}
    times: dict[str, tuple[list[float], list[float]]] = {query.name: ([], []) for _, query in queries}
    for repeat in range(stage.options.repeat + 1):
        for table, rows in queries[0][1].changes(size, 31 * repeat + size).items():
            backend.update(table, rows, None)
        for _, query in queries:
            for place in ((0, 1), (1, 0))[repeat % 2]:
                started = time.perf_counter()
                kept[query.name][place].maintain()
                if repeat:
                    times[query.name][place].append(time.perf_counter() - started)
            if kept[query.name][0].sketch != kept[query.name][1].sketch:
                raise WrongAnswer("wrong-answer", f"{query.name}: the sketch differs without {stage.part}")
    for each in queries:
        fragments = len(kept[each[1].name][0].sketch.parts[0].fragments)
        stage.checks.append(Check(stage.part, f"{each[1].name}, {size:,} rows", WITHOUT, fragments))
        ours, theirs = times[each[1].name]
        yield each, (Measure(tuple(ours)), Measure(tuple(theirs)))


def buffers(stage: Stage) -> list[ReportRow]:
    """What the state of TPC-H Q10 takes with bounded buffers, beside holding all rows."""
    quick = stage.options.quick
    data = TpchData(0.002 if quick else 1)
    (query,) = tpch_queries(data, {10: QUERIES[10]}, 20 if quick else 1000)
    sizes = BUFFERS[:1] if quick else BUFFERS
    stage.begin("buffers", len(sizes))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        backend = loaded(Path(folder) / "tables.db", data.tables())
        whole = kept_query(backend, query, Switches(buffer=None))
        for size in sizes:
            bounded = kept_query(backend, query, Switches(buffer=size))
            if bounded.sketch != whole.sketch:
                raise WrongAnswer("wrong-answer", f"TPC-H Q10 with a buffer of {size} has another sketch")
            stage.checks.append(
                Check("buffers", f"{size:,} rows", "all rows", len(whole.sketch.parts[0].fragments))
            )
            ours, theirs = Measure((bounded.nbytes,), "bytes"), Measure((whole.nbytes,), "bytes")
            rows.append(
                ReportRow(
                    "buffers", f"TPC-H Q10, {size:,} rows kept", "all rows", ours, theirs, "longer",
                    series="buffers", size=size,
                )
            )  # fmt: skip
            stage.step(f"{size:,}")
        backend.close()
    return rows
