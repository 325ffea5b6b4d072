"""Pictures of figures 4 to 10, two or three to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.exchange.deletions import ANEW, DRED, PROPAGATE, RECOMPUTE
from benchmarks.pictures import BLUE, GREY, ORANGE, save
from benchmarks.report import BenchmarkReport, ReportRow

GREEN, PURPLE = "#009E73", "#CC79A7"
Line = tuple[str, str, str, str, Sequence[tuple[float, float]]]
"""Label, colour, mark, style, points."""


def draw(report: BenchmarkReport, folder: Path) -> list[Path]:
    """Draw what the report has rows for; return the files."""
    drawn = []
    for name, make in (
        ("exchange-deletions.svg", _deletions),
        ("exchange-joining.svg", _joining),
        ("exchange-updates.svg", _updates),
        ("exchange-cycles.svg", _cycles),
    ):
        figure = make(report)
        if figure is not None:
            drawn.append(save(figure, folder / name))
    return drawn


def _of(report: BenchmarkReport, part: str, **wanted: object) -> list[ReportRow]:
    rows = [row for row in report.rows if row.part == part]
    rows = [row for row in rows if all(getattr(row, name) == each for name, each in wanted.items())]
    return sorted(rows, key=lambda row: row.size)


def _ours(rows: Sequence[ReportRow]) -> list[tuple[float, float]]:
    return [(row.size, row.ours.median) for row in rows]


def _theirs(rows: Sequence[ReportRow]) -> list[tuple[float, float]]:
    return [(row.size, row.theirs.median) for row in rows]


def _deletions(report: BenchmarkReport) -> Any:
    if not _of(report, "figure 4"):
        return None
    figure, places = _figure(2)
    for axes, cycles, title in (
        (places[0], 0, "Figure 4: 5 peers in a chain"),
        (places[1], 1, "the same, in a ring"),
    ):
        lines: list[Line] = []
        for rival, colour, mark in (
            (ANEW, PURPLE, "v"),
            (RECOMPUTE, GREY, "^"),
            (DRED, ORANGE, "s"),
            (PROPAGATE, GREEN, "D"),
        ):
            rows = _of(report, "figure 4", series=f"{rival}{cycles}")
            lines.append((rival, colour, mark, "-", _theirs(rows)))
            if rival == ANEW:
                lines.insert(0, ("ranked support", BLUE, "o", "-", _ours(rows)))
        _plot(axes, lines, title, "percent of all entries deleted at once", "seconds", logarithmic=True)
    return figure


def _joining(report: BenchmarkReport) -> Any:
    if not _of(report, "figure 5"):
        return None
    figure, places = _figure(2)
    lines: list[Line] = []
    sizes: list[Line] = []
    for dataset, style in (("string", "-"), ("integer", "--")):
        rows = _of(report, "figure 5", series=dataset)
        lines.append((f"Headwater, {dataset}s", BLUE, "o", style, _ours(rows)))
        lines.append((f"Nemo, {dataset}s", ORANGE, "s", style, _theirs(rows)))
    held = _of(report, "figure 6", series="integer", rival="contributions")  # as many as of strings
    sizes.append(("all rows", BLUE, "o", "-", _ours(held)))
    sizes.append(("contributions", GREY, "^", "-", _theirs(held)))
    _plot(places[0], lines, "Figure 5: time to join, from files", "peers", "seconds")
    _plot(places[1], sizes, "Figure 6: rows of the instance", "peers", "rows")
    places[1].yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}")
    return figure


def _updates(report: BenchmarkReport) -> Any:
    if not _of(report, "figure 7"):
        return None
    figure, places = _figure(3)
    for axes, part, title, datasets in (
        (places[0], "figure 7", "Figure 7: insertions, strings", ("string",)),
        (places[1], "figure 8", "Figure 8: insertions, integers", ("integer",)),
        (places[2], "figure 9", "Figure 9: deletions", ("string", "integer")),
    ):
        lines: list[Line] = []
        for dataset in datasets:
            style = "-" if dataset == "string" or len(datasets) == 1 else "--"
            for share, colour, mark in ((1, BLUE, "o"), (10, GREEN, "D")):
                rows = _of(report, part, series=f"{dataset} {share} %")
                name = f"{share} %" if len(datasets) == 1 else f"{share} %, {dataset}s"
                lines.append((name, colour, mark, style, _ours(rows)))
            lines.append(
                (f"recompute{'' if len(datasets) == 1 else f', {dataset}s'}", GREY, "^", style, _theirs(rows))
            )
        _plot(axes, lines, title, "peers", "seconds", logarithmic=True)
    return figure


def _cycles(report: BenchmarkReport) -> Any:
    rows = _of(report, "figure 10", rival="Nemo")
    if not rows:
        return None
    figure, places = _figure(2)
    lines: list[Line] = [
        ("Headwater", BLUE, "o", "-", _ours(rows)),
        ("Nemo", ORANGE, "s", "-", _theirs(rows)),
    ]
    _plot(places[0], lines, "Figure 10: time from scratch, 5 peers", "cycles", "seconds")
    held = _of(report, "figure 10", rival="contributions")
    sizes: list[Line] = [
        ("all rows", BLUE, "o", "-", _ours(held)),
        ("contributions", GREY, "^", "-", _theirs(held)),
    ]
    _plot(places[1], sizes, "rows of the instance", "cycles", "rows")
    places[1].yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}")
    return figure


def _figure(parts: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * parts, 4.0), facecolor="white", layout="constrained")
    return figure, figure.subplots(1, parts)


def _plot(axes: Any, lines: Sequence[Line], title: str, x: str, y: str, *, logarithmic: bool = False) -> None:
    """Lines with marks; the scale begins at zero, unless it is logarithmic."""
    for label, colour, mark, style, points in lines:
        axes.plot(
            [place for place, _ in points], [one for _, one in points], style, color=colour, marker=mark,
            markersize=5, linewidth=1.3, markerfacecolor=colour if style == "-" else "white", label=label,
        )  # fmt: skip
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel(x)
    axes.set_ylabel("CPU seconds, median" if y == "seconds" else y)
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    else:
        axes.set_ylim(bottom=0)
    if x != "percent of all entries deleted at once":
        axes.set_xticks(sorted({place for *_, points in lines for place, _ in points}))
    axes.grid(True, which="major", color="#dddddd", linewidth=0.8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
