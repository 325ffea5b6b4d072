"""Pictures of what sketches save."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.pictures import BLUE, GREY, save
from benchmarks.report import BenchmarkReport


def draw(report: BenchmarkReport, folder: Path) -> list[Path]:
    """Draw mixed workloads, if they were measured; return the files."""
    names = sorted({row.series for row in report.rows if row.part == "end to end"})
    if not names:
        return []
    return [save(_mixes(report, names), folder / "sketch-mixes.svg")]


def _mixes(report: BenchmarkReport, names: list[str]) -> Any:
    from matplotlib.figure import Figure

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
