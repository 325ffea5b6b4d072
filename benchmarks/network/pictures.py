"""The figures drawn, in one picture, as the paper has them side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.network.points import Curve, Growth, NetworkReport

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555")


def _to_its_end(points: Curve) -> Curve:
    """A rate holds from its time to the next: the last one, too, and then it is nothing."""
    if not points:
        return ((0.0, 0.0),)
    last = points[-1][0]
    return (*points, (last + (last - points[-2][0] if len(points) > 1 else 1.0), 0.0))


def _draw_growth(growth: tuple[Growth, ...], axes: Any) -> None:
    """CPU seconds and memory over the number of nodes, both logarithmic."""
    nodes = [each.nodes for each in growth]
    lines = {
        "CPU s until quiet": [each.seconds for each in growth],
        "CPU s for a burst": [each.burst_seconds for each in growth],
        "GB held": [each.resident / 1e9 for each in growth],
    }
    for colour, (name, values) in zip(COLOURS, lines.items(), strict=False):
        axes.plot(nodes, values, color=colour, linewidth=1.2, marker="o", markersize=3, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(nodes, [f"{each:,}" for each in nodes], minor=False)
    axes.minorticks_off()
    axes.set_title("How cost grows: paths of at most 3 hops", fontsize=9, loc="left")
    axes.set_xlabel("nodes", fontsize=8)
    axes.tick_params(labelsize=7)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=7)


def draw(report: NetworkReport, path: Path) -> Path:
    """All figures, two in a row."""
    from matplotlib.figure import Figure

    rows = (len(report.figures) + bool(report.growth) + 1) // 2
    figure = Figure(figsize=(9.6, 2.7 * rows), facecolor="white", layout="constrained")
    places = figure.subplots(rows, 2, squeeze=False).flatten()
    for axes, found in zip(places, report.figures, strict=False):
        axes.set_title(f"{found.number}: {found.title}", fontsize=9, loc="left")
        for colour, each in zip(COLOURS, found.lines, strict=False):
            rate = found.y.startswith("kB/s")
            points = _to_its_end(each.points) if rate else each.points
            style = "steps-post" if rate else "default"
            axes.plot(
                *zip(*points, strict=True), color=colour, linewidth=1.2, label=each.name, drawstyle=style
            )
        axes.set_xlabel(found.x, fontsize=8)
        axes.set_ylabel(found.y, fontsize=8)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.tick_params(labelsize=7)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if len(found.lines) > 1:
            axes.legend(frameon=False, fontsize=7)
    if report.growth:
        _draw_growth(report.growth, places[len(report.figures)])
    for axes in places[len(report.figures) + bool(report.growth) :]:
        axes.set_visible(False)
    figure.suptitle(
        f"Figures of Loo et al. 2006, measured on {report.nodes} simulated nodes",
        fontsize=10,
        x=0.01,
        ha="left",
    )
    figure.savefig(path, metadata={"Date": None})
    return path
