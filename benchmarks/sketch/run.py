"""`script/bench sketch`: all parts into one report, and that as files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.markdown import markdown
from benchmarks.options import BenchmarkOptions
from benchmarks.report import BenchmarkReport, Check, Measure, ReportRow, Target
from benchmarks.sketch.end_to_end import end_to_end
from benchmarks.sketch.maintenance import (
    MaintenancePoint,
    SyntheticData,
    loaded,
    measured,
    synthetic_queries,
    tpch_queries,
)
from benchmarks.sketch.pictures import draw
from benchmarks.sketch.tpch import TpchData
from benchmarks.sketch.tpch_queries import QUERIES
from benchmarks.stage import Onlooker, Stage, Unwatched

RECAPTURE = "capturing again"
SIZES = (10, 100, 1000)


def maintaining(stage: Stage) -> list[ReportRow]:
    """Maintaining beside capturing again, in DuckDB: the synthetic table, up to where it pays no more, and TPC-H."""
    quick = stage.options.quick
    rows: list[ReportRow] = []
    tpch, synthetic = (
        TpchData(0.002 if quick else 1),
        SyntheticData(20_000 if quick else 10_000_000, 5000, 1000),
    )
    curve = tuple(synthetic.rows * per_mille // 1000 for per_mille in (10, 25, 55, 100))
    texts = {number: text for number, text in QUERIES.items() if not quick or number in (1, 6)}
    for queries, tables, sizes in (
        (synthetic_queries(synthetic), synthetic.tables(), SIZES[:1] if quick else SIZES + curve),
        (tpch_queries(tpch, texts, 20 if quick else 1000), tpch.tables(), SIZES[:1] if quick else SIZES),
    ):
        stage.begin("maintenance", len(queries) * len(sizes))
        with tempfile.TemporaryDirectory() as folder:
            backend = loaded(Path(folder) / "tables.db", tables)
            for point in measured(backend, queries, sizes, 1 if quick else stage.options.repeat):
                rows.append(_row(point, quick))
                what = f"{point.query}, {point.changed:,} rows"
                stage.checks.append(Check(stage.part, what, RECAPTURE, point.compared))
                stage.step(str(point.query))
            backend.engine.dispose()
    return rows


def _row(point: MaintenancePoint, quick: bool) -> ReportRow:
    alone = "join" not in point.query and point.query not in (
        f"TPC-H Q{n}" for n in QUERIES if n not in (1, 6)
    )
    wanted = {1000: 10, 10: 100 if alone else None}.get(point.changed)
    target = None if quick or wanted is None else Target("at least", wanted)
    what = f"{point.query}, {point.changed:,} rows ({point.share:.3%})"
    ours, theirs = Measure((point.maintained,)), Measure((point.captured,))
    note = f"state {point.state_bytes / 1e6:.2f} MB"
    return ReportRow(
        "maintenance",
        what,
        RECAPTURE,
        ours,
        theirs,
        "faster",
        target,
        note=note,
        series=point.query,
        size=point.changed,
    )


SKETCH_PARTS: dict[str, Callable[[Stage], list[ReportRow]]] = {
    "maintenance": maintaining,
    "end-to-end": end_to_end,
}
"""What is measured, by the names that the command has for it."""


def run(
    options: BenchmarkOptions, progress: Onlooker | None = None, only: Sequence[str] = ()
) -> BenchmarkReport:
    """Measure (the parts asked for); raises `WrongAnswer` as soon as two answers differ."""
    stage = Stage(options, progress or Unwatched())
    rows: list[ReportRow] = []
    for name, measure in SKETCH_PARTS.items():
        if not only or name in only:
            rows += measure(stage)
    stage.notes += [
        "Delta tables are read from their files by Spark, without Delta's jar; both sides read the same ones.",
        "The paper (section 10.4) gives no ratios for mixes in its text; its figures are on PostgreSQL.",
    ]
    return stage.report(rows)


def write(report: BenchmarkReport, folder: Path) -> list[Path]:
    """Write sketch.json, sketch.md and the pictures; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    data, page = folder / "sketch.json", folder / "sketch.md"
    data.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    pictures = draw(report, folder)
    shown = "".join(f"\n![{picture.stem}]({picture.name})\n" for picture in pictures)
    page.write_text(markdown(report) + shown, encoding="utf-8")
    return [data, page, *pictures]
