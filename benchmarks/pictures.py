"""Pictures of a report. Colours are told apart by colour-blind readers, and lines by their marks as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.report import BenchmarkReport, ReportRow
from benchmarks.wording import ratio
from headwater.errors import MissingExtra

BLUE, ORANGE, GREY, GREEN = "#0072B2", "#D55E00", "#555555", "#009E73"


def require() -> None:
    """Refuse early where pictures cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        hint = "pip install 'headwater[bench]'"
        raise MissingExtra("missing-extra", "matplotlib is not installed", hint=hint) from error


def draw(report: BenchmarkReport, folder: Path) -> list[Path]:
    """Draw what the report has rows for; return the files."""
    drawn = []
    batches = [row for row in report.rows if row.series]
    if batches:
        drawn.append(save(_batches(batches), folder / "batches.svg"))
    asked = _asked(report)
    if asked:
        drawn.append(save(_ratios(asked), folder / "ratios.svg"))
    return drawn


def _batches(rows: list[ReportRow]) -> Any:
    """Time over the number of edges changed, both on a logarithmic scale."""
    figure, axes = _figure(7.2, 4.6)
    for change, line, filled in (("delete", "-", True), ("insert", "--", False)):
        chosen = sorted((row for row in rows if row.series == change), key=lambda row: row.size)
        sizes = [row.size for row in chosen]
        for name, colour, mark, times in (
            ("Headwater", BLUE, "o", [row.ours.median for row in chosen]),
            (chosen[0].rival if chosen else "", ORANGE, "s", [row.theirs.median for row in chosen]),
        ):
            axes.plot(
                sizes, [1000 * seconds for seconds in times], line, color=colour, marker=mark, markersize=6,
                markerfacecolor=colour if filled else "white", label=f"{name}, {change}",
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(f"edges changed at once (the last: all {max(row.size for row in rows):,})")
    axes.set_ylabel("milliseconds, median")
    axes.set_title(f"One version of the closure: {rows[0].note}", fontsize=10, loc="left")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.8)
    axes.legend(frameon=False, fontsize=9)
    return figure


def _asked(report: BenchmarkReport) -> list[ReportRow]:
    """The rows with a target for time or memory; of the batches only the worst of each kind."""
    rows = [row for row in report.rows if row.target is not None and row.ours.unit != "rows"]
    worst = {
        series: max((row for row in rows if row.series == series), key=lambda row: row.figure)
        for series in {row.series for row in rows if row.series}
    }
    return [row for row in rows if not row.series or worst[row.series] is row]


def _ratios(rows: list[ReportRow]) -> Any:
    """A bar for each target: how many times better than the rival, and where the target is."""
    figure, axes = _figure(8.4, 1.3 + 0.34 * len(rows))
    for place, row in enumerate(reversed(rows)):
        assert row.target is not None
        turned = row.kind == "longer"
        value, goal = (1 / row.figure, 1 / row.target.value) if turned else (row.figure, row.target.value)
        axes.barh(
            place, value - 1, left=1, height=0.62, color=BLUE if row.met else ORANGE,
            hatch=None if row.met else "///", edgecolor="white",
        )  # fmt: skip
        axes.plot([goal, goal], [place - 0.42, place + 0.42], color="black", linewidth=2.2, zorder=3)
        axes.annotate(
            f" {ratio(row)} ",
            (max(value, goal, 1), place),
            va="center",
            fontsize=8,
            color=GREY,
        )
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels(
        [f"{row.part}: {row.what}\nagainst {row.rival}" for row in reversed(rows)], fontsize=7
    )
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.axvline(1, color=GREY, linewidth=0.8)
    axes.margins(x=0.14)
    axes.set_xlabel("how many times better than the rival (black mark: the target; hatched: missed)")
    axes.grid(True, axis="x", which="major", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def save(figure: Any, path: Path) -> Path:
    """Write a picture, the same bytes for the same picture."""
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return path
