"""What was measured on Spark, as files: the data, a page, and a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.markdown import markdown
from benchmarks.pictures import BLUE, GREY, ORANGE, save
from benchmarks.report import BenchmarkReport
from benchmarks.spark import ALL, COUNTS, ShippedBytes


def write(report: BenchmarkReport, shipped: ShippedBytes, folder: Path) -> list[Path]:
    """Write spark.json, spark.md and spark.svg; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    data, page, picture = folder / "spark.json", folder / "spark.md", folder / "spark.svg"
    steps = [
        {"nodes": nodes, "rank_filter": rank_filter, "bytes": found}
        for (nodes, rank_filter), found in shipped.steps.items()
    ]
    data.write_text(json.dumps({**report.to_json(), "exchanges": steps}, indent=1) + "\n", encoding="utf-8")
    save(draw(report, shipped), picture)
    page.write_text(f"{markdown(report)}\n![spark]({picture.name})\n", encoding="utf-8")
    return [data, page, picture]


def draw(report: BenchmarkReport, shipped: ShippedBytes) -> Any:
    """Times of the three ways, bytes by the number of nodes, and bytes by exchange."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.4), facecolor="white", layout="constrained")
    times, totals, rounds = figure.subplots(1, 3)
    for axes in (times, totals, rounds):
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.grid(True, axis="y", color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
    _times(times, report)
    several = [nodes for nodes in COUNTS if nodes > 1]
    for offset, rank_filter, colour, label in ((-0.2, True, BLUE, "rank filter"), (0.2, False, ORANGE, ALL)):
        found = [shipped.load[nodes, rank_filter][0] / 1e6 for nodes in several]
        bars = totals.bar(
            [place + offset for place in range(len(several))], found, 0.38, color=colour, label=label
        )
        totals.bar_label(bars, fmt="%.2f", fontsize=8)
    totals.set_xticks(range(len(several)), [str(nodes) for nodes in several])
    totals.set_xlabel("nodes (one node sends nothing)")
    totals.set_ylabel("megabytes sent while loading")
    totals.set_title("Bytes shipped", fontsize=10, loc="left")
    _legend(totals)
    most = max(COUNTS)
    for rank_filter, colour, mark, label in ((True, BLUE, "o", "rank filter"), (False, ORANGE, "s", ALL)):
        found = [step / 1e3 for step in shipped.steps[most, rank_filter]]
        rounds.plot(range(1, len(found) + 1), found, color=colour, marker=mark, markersize=3, label=label)
    rounds.set_yscale("log")
    rounds.set_xlabel(f"exchange, {most} nodes")
    rounds.set_ylabel("kilobytes sent")
    rounds.set_title("Bytes by exchange", fontsize=10, loc="left")
    _legend(rounds)
    return figure


def _times(axes: Any, report: BenchmarkReport) -> None:
    """Load and single changes of the large closure: the loop, nodes, one process."""
    rows = {(row.what, row.rival): row for row in report.rows if row.part == "closure"}
    load = next(what for what, _ in rows if what.startswith("load"))
    for place, what in enumerate((load, "delete 1 edge", "insert 1 edge")):
        loop, here = rows[what, "DataFrame loop"], rows[what, "one process"]
        bars = ((-0.27, loop.theirs, GREY), (0, loop.ours, BLUE), (0.27, here.theirs, ORANGE))
        for (offset, measure, colour), label in zip(
            bars, ("DataFrame loop", "nodes", "one process"), strict=True
        ):
            found = 1e3 * measure.median
            bar = axes.bar(place + offset, found, 0.25, color=colour, label=label if place == 0 else None)
            axes.bar_label(bar, [f"{found:,.0f}" if found >= 10 else f"{found:.2g}"], fontsize=8)
    axes.set_yscale("log")
    axes.set_xticks(range(3), ["load", "delete 1", "insert 1"])
    axes.set_ylabel("milliseconds, median")
    axes.set_title("Closure of two million rows", fontsize=10, loc="left")
    _legend(axes)


def _legend(axes: Any) -> None:
    """Below the panel, where it hides nothing."""
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
