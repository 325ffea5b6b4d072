"""`script/bench rules`: all of its parts, into one report; and that as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.markdown import markdown
from benchmarks.options import BenchmarkOptions
from benchmarks.pictures import BLUE, GREY, ORANGE, save
from benchmarks.report import BenchmarkReport, ReportRow
from benchmarks.rules import definitions, watching
from benchmarks.stage import DUCKDB, Onlooker, Stage, Unwatched


def run(options: BenchmarkOptions, progress: Onlooker | None = None) -> BenchmarkReport:
    """Measure; raises `WrongAnswer` as soon as two answers differ."""
    stage = Stage(options, progress or Unwatched())
    return stage.report([*watching.measure(stage), *definitions.measure(stage)])


def write(report: BenchmarkReport, folder: Path) -> list[Path]:
    """Write rules.json, rules.md and rules.svg; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    data, page, picture = folder / "rules.json", folder / "rules.md", folder / "rules.svg"
    data.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    save(draw(report), picture)
    page.write_text(f"{markdown(report)}\n![rules]({picture.name})\n", encoding="utf-8")
    return [data, page, picture]


def draw(report: BenchmarkReport) -> Any:
    """Time over the size of the view for one move, and over the size of the change for the largest view."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.4), facecolor="white", layout="constrained")
    by_view, by_change = figure.subplots(1, 2)
    rows = [row for row in report.rows if row.part == watching.PART and row.series]
    least, largest = min(row.size for row in rows), max(row.size for row in rows)
    first = str(watching.MOVES[0])
    _lines(by_view, [row for row in rows if row.series == first], lambda row: row.size)
    by_view.set_xlabel("rows of the view")
    by_view.set_title("One person moves", fontsize=10, loc="left")
    _lines(by_change, [row for row in rows if row.size == largest], lambda row: int(row.series))
    by_change.set_xlabel("people who move at once")
    by_change.set_title(f"A view of {largest:,} rows", fontsize=10, loc="left")
    if least == largest:
        by_view.set_xlim(least / 10, largest * 10)
    return figure


def _lines(axes: Any, rows: list[ReportRow], place: Any) -> None:
    """Watched, stored and recomputed, on logarithmic scales."""
    stored = sorted((row for row in rows if row.rival == watching.STORED), key=place)
    duck = sorted((row for row in rows if row.rival == DUCKDB), key=place)
    lines = (
        ("watched, never stored", BLUE, "o", [(place(row), row.ours.median) for row in stored]),
        ("stored", ORANGE, "s", [(place(row), row.theirs.median) for row in stored]),
        (DUCKDB, GREY, "^", [(place(row), row.theirs.median) for row in duck]),
    )
    for label, colour, mark, points in lines:
        axes.plot(
            [x for x, _ in points], [1e3 * y for _, y in points], color=colour, marker=mark, label=label
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylabel("milliseconds a version, median")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
