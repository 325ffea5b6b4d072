"""`script/bench sketch`: all parts into one report, and that as files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.markdown import markdown
from benchmarks.options import BenchmarkOptions
from benchmarks.report import BenchmarkReport, Check, Measure, ReportRow, Target
from benchmarks.sketch.crimes import CrimesData
from benchmarks.sketch.end_to_end import MIXES, captures, mixed, spark_stopped
from benchmarks.sketch.in_postgres import INDEXES, loaded_in_postgres
from benchmarks.sketch.maintenance import (
    MaintainedQuery,
    MaintenancePoint,
    crimes_queries,
    loaded,
    measured,
    tpch_queries,
)
from benchmarks.sketch.pictures import draw
from benchmarks.sketch.switches import bloom_filters, buffers, push_down
from benchmarks.sketch.synthetic import Series, synthetic_series
from benchmarks.sketch.tpch import TpchData
from benchmarks.sketch.tpch_queries import QUERIES
from benchmarks.stage import Onlooker, Stage, Unwatched
from headwater.sketch.tables.sql_backend import SqlBackend

RECAPTURE = "capturing again"
SIZES = (10, 100, 1000)
CURVE = (0.005, 0.01, 0.025, 0.055, 0.1)
"""Shares of the table that changes come to, to find where maintaining pays no more."""


def tpch(stage: Stage) -> list[ReportRow]:
    """TPC-H in DuckDB: new orders with their lines."""
    data, texts = _tpch(stage.options.quick)
    with tempfile.TemporaryDirectory() as folder:
        backend = loaded(Path(folder) / "tables.db", data.tables())
        return _maintained(stage, "TPC-H", backend, tpch_queries(data, texts, _fragments(stage)), SIZES)


def tpch_in_postgres(stage: Stage, address: str, scale: float) -> list[ReportRow]:
    """The same in PostgreSQL, which the paper measured with."""
    data, texts = _tpch(stage.options.quick)
    if not stage.options.quick:
        data = TpchData(scale)
        stage.notes.append(f"TPC-H in PostgreSQL has scale {scale:g}.")
    backend = loaded_in_postgres(address, data.tables, INDEXES)
    queries = tpch_queries(data, texts, _fragments(stage))
    return _maintained(stage, "TPC-H in PostgreSQL", backend, queries, (10, 1000))


def _tpch(quick: bool) -> tuple[TpchData, dict[int, str]]:
    texts = {number: text for number, text in QUERIES.items() if not quick or number in (1, 6)}
    return TpchData(0.002 if quick else 1), texts


def _fragments(stage: Stage) -> int:
    return 20 if stage.options.quick else 1000


def crimes(stage: Stage) -> list[ReportRow]:
    """The crimes in DuckDB: CQ1 and CQ2."""
    data = CrimesData(20_000 if stage.options.quick else 7_300_000)
    with tempfile.TemporaryDirectory() as folder:
        backend = loaded(Path(folder) / "tables.db", {"crimes": data.table()})
        return _maintained(stage, "crimes", backend, crimes_queries(data), SIZES)


def series_named(name: str) -> Callable[[Stage], list[ReportRow]]:
    """A series over synthetic tables in DuckDB, up to the shares of `CURVE`."""

    def measure(stage: Stage) -> list[ReportRow]:
        scale = 0.002 if stage.options.quick else 1
        series = next(each for each in synthetic_series(scale) if each.name == name)
        rows = series.queries[0].rows
        sizes = (*SIZES, *(int(share * rows) for share in CURVE if _is_measured(series, share)))
        with tempfile.TemporaryDirectory() as folder:
            tables = {each.name: each.whole() for each in series.tables}
            backend = loaded(Path(folder) / "tables.db", tables)
            return _maintained(stage, name, backend, series.queries, sizes, series)

    return measure


def _is_measured(series: Series, share: float) -> bool:
    """The paper goes to 10 % without joins, to 1.5 % with them."""
    return series.break_even is not None or share <= 0.025


def _maintained(
    stage: Stage,
    part: str,
    backend: SqlBackend,
    queries: Sequence[MaintainedQuery],
    sizes: Sequence[int],
    series: Series | None = None,
) -> list[ReportRow]:
    """Maintaining beside capturing again."""
    quick = stage.options.quick
    sizes = sizes[:1] if quick else sizes
    stage.begin(part, len(queries) * len(sizes))
    rows = []
    for point in measured(backend, queries, sizes, stage.options.repeat):
        rows.append(_row(part, point, series, quick))
        what = f"{point.query.name}, {point.changed:,} rows"
        stage.checks.append(Check(part, what, RECAPTURE, point.compared))
        stage.step(what)
    backend.close()
    return rows


def _row(part: str, point: MaintenancePoint, series: Series | None, quick: bool) -> ReportRow:
    even = series.break_even if series is not None else None
    wanted: float | None = {1000: 10, 10: 100 if point.single else None}.get(point.changed)
    if wanted is None and even is not None and point.changed > max(SIZES) and point.share <= even:
        wanted = 1
    return ReportRow(
        part,
        f"{point.query.name}, {point.changed:,} rows ({point.share:.3%})",
        RECAPTURE,
        Measure(point.maintained),
        Measure(point.captured),
        "faster",
        None if quick or wanted is None else Target("at least", wanted),
        note=f"state of {point.query.name}: {point.state_bytes / 1e6:.2f} MB" if point.changed == 10 else "",
        series=point.query.name,
        size=point.changed,
    )


SERIES = ("groups", "aggregates", "1-n joins", "m-n joins", "selectivity", "fragments")
SKETCH_PARTS: dict[str, Callable[[Stage], list[ReportRow]]] = {
    "tpch": tpch,
    "crimes": crimes,
    **{name.replace(" ", "-"): series_named(name) for name in SERIES},
    "push-down": push_down,
    "bloom-filters": bloom_filters,
    "buffers": buffers,
    "capture": captures,
    **{mix: mixed(mix) for mix in MIXES},
}
"""What is measured, by the names that the command has for it."""


def run(
    options: BenchmarkOptions,
    progress: Onlooker | None = None,
    only: Sequence[str] = (),
    postgres: str | None = None,
    postgres_scale: float = 1,
    kept: Callable[[BenchmarkReport], None] = lambda report: None,
) -> BenchmarkReport:
    """Measure (the parts asked for); raises `WrongAnswer` as soon as two answers differ.

    `kept` is given what there is after each part: a run takes long, and may be ended.
    """
    stage = Stage(options, progress or Unwatched())
    rows: list[ReportRow] = []
    parts = [measure for name, measure in SKETCH_PARTS.items() if not only or name in only]
    if postgres is not None:
        parts.append(partial(tpch_in_postgres, address=postgres, scale=postgres_scale))
    stage.notes += [
        "The paper maintains 3.9 to 2497 times as fast as it captures on TPC-H, two to three orders of magnitude"
        " up to 1,000 rows elsewhere, and breaks even at 2.5 to 5.5 % of the table; its backend is PostgreSQL.",
        "Delta tables are read from their files by Spark, without Delta's jar; both sides read the same ones.",
        "The paper (section 10.4) gives no ratios for mixes in its text.",
    ]
    with spark_stopped():
        for measure in parts:
            rows += measure(stage)
            kept(stage.report(rows))
    return stage.report(rows)


def write(report: BenchmarkReport, folder: Path) -> list[Path]:
    """Write sketch.json, sketch.md and the pictures; return the files.

    Parts that an earlier report in the folder has, and this one lacks, stay as they were measured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data, page = folder / "sketch.json", folder / "sketch.md"
    if data.exists():
        report = with_parts_of(report, json.loads(data.read_text(encoding="utf-8")))
    data.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    pictures = draw(report, folder)
    shown = "".join(f"\n![{picture.stem}]({picture.name})\n" for picture in pictures)
    page.write_text(markdown(report) + shown, encoding="utf-8")
    return [data, page, *pictures]


def with_parts_of(report: BenchmarkReport, earlier: dict[str, Any]) -> BenchmarkReport:
    """A report with the parts of an earlier one that it lacks, unless one of both is quick."""
    if earlier["options"]["quick"] != report.options.quick:
        return report
    there = {row.part for row in report.rows}
    rows = [_row_from(each) for each in earlier["rows"] if each["part"] not in there]
    checks = [
        Check(**each) for each in earlier["checks"] if each["part"] not in {c.part for c in report.checks}
    ]
    order = {name: place for place, name in enumerate(ORDER)}
    merged = sorted([*rows, *report.rows], key=lambda row: order.get(row.part, len(order)))
    notes = [*report.notes, *(note for note in earlier["notes"] if note not in report.notes)]
    seconds = report.seconds + (earlier["seconds"] if earlier["started"] != report.started else 0)
    return replace(
        report, rows=tuple(merged), checks=(*checks, *report.checks), notes=tuple(notes), seconds=seconds
    )


ORDER = (
    "TPC-H", "TPC-H in PostgreSQL", "crimes", *SERIES, "push-down", "bloom filters", "buffers", "capture", "use",
    *MIXES,
)  # fmt: skip
"""Of parts in a report."""


def _row_from(said: dict[str, Any]) -> ReportRow:
    known = {name: value for name, value in said.items() if name in ReportRow.__dataclass_fields__}
    measures = {name: Measure(tuple(said[name]["values"]), said[name]["unit"]) for name in ("ours", "theirs")}
    target = None if said["target"] is None else Target(**said["target"])
    return ReportRow(**{**known, **measures, "target": target})
