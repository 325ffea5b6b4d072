"""The figures drawn: four metrics each, a line for every scheme."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.provenance.points import FigureReport, Point, ProvenanceReport

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555", "#E69F00", "#56B4E9", "#000000")
MARKS = "osD^vPX*"
METRICS: tuple[tuple[str, Callable[[Point], float]], ...] = (
    ("provenance, bytes a row", lambda point: point.provenance),
    ("messages between nodes", lambda point: point.messages),
    ("state of operators, MB a node", lambda point: point.state / point.nodes / 1e6),
    ("CPU seconds (all nodes' work)", lambda point: point.seconds),
)


def draw(report: ProvenanceReport, folder: Path) -> list[Path]:
    """A picture for each figure."""
    return [_draw(figure, folder / f"provenance-{figure.number}.svg") for figure in report.figures]


def _draw(report: FigureReport, path: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 6.4), facecolor="white", layout="constrained")
    places = figure.subplots(2, 2).flatten()
    for axes, (title, value) in zip(places, METRICS, strict=True):
        for i, scheme in enumerate(report.schemes):
            points = [point for point in report.of(scheme) if not point.given_up]
            _line(axes, points, [value(point) for point in points], scheme, i)
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel(report.x_label, fontsize=8)
        axes.set_yscale("symlog", linthresh=_least(report, value))
        axes.tick_params(labelsize=7)
        axes.grid(True, which="major", color="#dddddd", linewidth=0.8)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    handles, labels = places[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.suptitle(f"Figure {report.number} of liu-2008: {report.title}", fontsize=10, x=0.01, ha="left")
    figure.savefig(path, metadata={"Date": None})
    return path


def _line(axes: Any, points: list[Point], values: list[float], scheme: str, i: int) -> None:
    axes.plot(
        [point.x for point in points], values, color=COLOURS[i % len(COLOURS)], marker=MARKS[i % len(MARKS)],
        markersize=5, linewidth=1.2, label=scheme,
    )  # fmt: skip


def _least(report: FigureReport, value: Any) -> float:
    """Where the logarithmic scale begins: at the least value that is not 0."""
    values = [value(point) for point in report.points if not point.given_up and value(point) > 0]
    return min(values, default=1.0)
