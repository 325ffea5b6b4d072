"""Pictures of what sketches save, beside what the paper says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.pictures import BLUE, GREEN, GREY, ORANGE, save
from benchmarks.report import BenchmarkReport, ReportRow
from benchmarks.sketch.end_to_end import MIXES

SERIES = {
    "groups": "10b and 11b: groups", "aggregates": "10a and 11a: aggregates", "1-n joins": "10c: 1-n joins",
    "m-n joins": "10d: m-n joins", "selectivity": "10e: selectivity", "fragments": "10f: fragments",
}  # fmt: skip
COLOURS = (BLUE, ORANGE, GREEN, GREY, "#CC79A7", "#56B4E9")
MARKS = "os^Dv*"
PAPER_LEAST, PAPER_MOST = 3.9, 2497
PAPER_EVEN = (2.5, 5.5)


def draw(report: BenchmarkReport, folder: Path) -> list[Path]:
    """Draw what was measured; return the files."""
    parts = {row.part for row in report.rows}
    drawn = []
    if "TPC-H" in parts or "TPC-H in PostgreSQL" in parts:
        drawn.append(save(_tpch(report), folder / "sketch-tpch.svg"))
    if parts & set(SERIES):
        drawn.append(save(_series(report), folder / "sketch-series.svg"))
    if parts & {"push-down", "bloom filters"}:
        drawn.append(save(_switches(report), folder / "sketch-switches.svg"))
    if parts & set(MIXES):
        drawn.append(save(_mixes(report), folder / "sketch-mixes.svg"))
    return drawn


def _of(report: BenchmarkReport, part: str) -> list[ReportRow]:
    return [row for row in report.rows if row.part == part]


def _tpch(report: BenchmarkReport) -> Any:
    """How many times faster maintaining is, by query and size; the paper's span is shaded."""
    from matplotlib.figure import Figure

    parts = [part for part in ("TPC-H", "TPC-H in PostgreSQL") if _of(report, part)]
    figure = Figure(figsize=(8.4, 2.9 * len(parts)), layout="constrained")
    for place, part in enumerate(parts):
        axes = figure.add_subplot(len(parts), 1, place + 1)
        rows = [*_of(report, part), *(_of(report, "crimes") if part == "TPC-H" else ())]
        names = list(dict.fromkeys(row.series for row in rows))
        sizes = sorted({row.size for row in rows})
        width = 0.8 / len(sizes)
        for number, size in enumerate(sizes):
            heights = {row.series: row.figure for row in rows if row.size == size}
            at = [x + (number - (len(sizes) - 1) / 2) * width for x in range(len(names))]
            axes.bar(
                at,
                [heights.get(name, 0) for name in names],
                width,
                color=COLOURS[number],
                label=f"{size:,} rows",
            )
        axes.axhspan(PAPER_LEAST, PAPER_MOST, color="#eeeeee", zorder=0, label="the paper's TPC-H")
        axes.axhline(10, color="black", linewidth=0.8, linestyle=":")
        axes.set_xticks(range(len(names)), [name.removeprefix("TPC-H ") for name in names])
        axes.set(
            yscale="log", ylabel="times as fast as capturing", title=part if part != "TPC-H" else "DuckDB"
        )
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.legend(frameon=False, fontsize=8, ncols=4, loc="upper right")
    return figure


def _series(report: BenchmarkReport) -> Any:
    """How many times faster maintaining is, over the share of the table that changes."""
    from matplotlib.figure import Figure

    names = [name for name in SERIES if _of(report, name)]
    across = min(3, len(names))
    down = -(-len(names) // across)
    figure = Figure(figsize=(3.6 * across, 3.1 * down), layout="constrained")
    for place, name in enumerate(names):
        axes = figure.add_subplot(down, across, place + 1)
        rows = _of(report, name)
        for number, query in enumerate(dict.fromkeys(row.series for row in rows)):
            own = sorted((row for row in rows if row.series == query), key=lambda row: row.size)
            axes.plot(
                [_percent(row) for row in own], [row.figure for row in own], marker=MARKS[number % len(MARKS)],
                color=COLOURS[number % len(COLOURS)], label=query, markersize=4, linewidth=1.2,
            )  # fmt: skip
        axes.axhline(1, color="black", linewidth=0.8)
        if name in ("groups", "aggregates"):
            axes.axvspan(*PAPER_EVEN, color="#dddddd", zorder=0)
        axes.set(xscale="log", yscale="log", xlabel="% of the table changed", title=SERIES[name])
        axes.set_ylabel("times as fast as capturing")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.legend(frameon=False, fontsize=7)
    figure.suptitle("grey: where the paper breaks even", fontsize=8, x=0.99, ha="right")
    return figure


def _percent(row: ReportRow) -> float:
    return float(row.what.rsplit("(", 1)[1].rstrip("%)"))


def _switches(report: BenchmarkReport) -> Any:
    """Maintaining with and without what saves work."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 3.1), layout="constrained")
    pushed = sorted(_of(report, "push-down"), key=lambda row: row.size)
    axes = figure.add_subplot(1, 2, 1)
    _pair(axes, pushed, "selections in the fetch", "after it", BLUE, "o")
    axes.set(xlabel="% of the rows pass", ylabel="milliseconds", title="12c: push-down", ylim=(0, None))
    axes.legend(frameon=False, fontsize=8)
    axes = figure.add_subplot(1, 2, 2)
    filtered = _of(report, "bloom filters")
    for number, name in enumerate(dict.fromkeys(row.series for row in filtered)):
        own = sorted((row for row in filtered if row.series == name), key=lambda row: row.size)
        _pair(axes, own, name, None, COLOURS[number], MARKS[number])
    axes.set(
        xscale="log", yscale="log", xlabel="rows changed", ylabel="milliseconds", title="12b, d: filters"
    )
    for formatted in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        formatted(lambda value, _: f"{value:g}")
    if filtered:
        axes.legend(frameon=False, fontsize=8, title="dashed: without", title_fontsize=8)
    return figure


def _pair(axes: Any, rows: Sequence[ReportRow], name: str, other: str | None, colour: str, mark: str) -> None:
    sizes = [row.size for row in rows]
    axes.plot(sizes, [1000 * row.ours.median for row in rows], mark + "-", color=colour, label=name)
    axes.plot(
        sizes, [1000 * row.theirs.median for row in rows], mark + "--", color=colour, label=other, mfc="white"
    )


def _mixes(report: BenchmarkReport) -> Any:
    from matplotlib.figure import Figure

    names = sorted({row.series for mix in MIXES for row in _of(report, mix)})
    across = min(3, len(names))
    down = -(-len(names) // across)
    figure = Figure(figsize=(3.2 * across, 2.6 * down), layout="constrained")
    for place, name in enumerate(names):
        axes = figure.add_subplot(down, across, place + 1)
        rows = sorted((row for row in report.rows if row.series == name), key=lambda row: row.size)
        sizes = [row.size for row in rows]
        axes.plot(sizes, [row.theirs.median for row in rows], "s-", color=GREY, label="plain")
        axes.plot(sizes, [row.ours.median for row in rows], "o-", color=BLUE, label="sketches")
        axes.set(xscale="log", xlabel="rows an update", ylabel="seconds a round", title=name, ylim=(0, None))
    figure.axes[0].legend(frameon=False)
    return figure
