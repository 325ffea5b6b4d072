"""The figures drawn: four metrics each, a line for every scheme; bars where a scheme was measured at one place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.provenance.points import FigureReport, Mean, Point, ProvenanceReport, SeedMeasure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555", "#E69F00", "#56B4E9", "#000000")
MARKS = "osD^vPX*"
Metric = Callable[[Point, SeedMeasure], float]
METRICS: tuple[tuple[str, Metric], ...] = (
    ("provenance, bytes a row", lambda point, measure: measure.provenance),
    ("communication, KB a node", lambda point, measure: measure.bytes / point.nodes / 1e3),
    ("state of operators, KB a node", lambda point, measure: measure.state / point.nodes / 1e3),
    ("convergence, seconds in the network", lambda point, measure: measure.converged),
)


def draw(report: ProvenanceReport, folder: Path) -> list[Path]:
    """A picture for each figure."""
    return [_draw(figure, folder / f"provenance-{figure.number}.svg") for figure in report.figures]


def _draw(report: FigureReport, path: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 6.4), facecolor="white", layout="constrained")
    places = figure.subplots(2, 2).flatten()
    apart = all(len(report.of(scheme)) == 1 for scheme in report.schemes)
    for axes, (title, value) in zip(places, METRICS, strict=True):
        axes.set_title(title, fontsize=9, loc="left")
        axes.tick_params(labelsize=7)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        (_bars if apart else _lines)(axes, report, value)
    if not apart:
        handles, labels = places[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.suptitle(
        f"Figure {report.number} of Liu et al. 2008: {report.title}", fontsize=10, x=0.01, ha="left"
    )
    figure.savefig(path, metadata={"Date": None})
    return path


def _mean(point: Point, value: Metric) -> Mean:
    return point.mean(lambda measure: value(point, measure))


def _lines(axes: Any, report: FigureReport, value: Metric) -> None:
    """A line for every scheme, over what was varied."""
    for i, scheme in enumerate(report.schemes):
        points = [point for point in report.of(scheme) if point.given_up is None]
        means = [_mean(point, value) for point in points]
        axes.errorbar(
            [point.x for point in points], [mean.value for mean in means], [mean.margin for mean in means],
            color=COLOURS[i % len(COLOURS)], marker=MARKS[i % len(MARKS)], markersize=4.5, linewidth=1.2,
            elinewidth=0.8, capsize=2, label=scheme,
        )  # fmt: skip
    axes.set_xlabel(report.x_label, fontsize=8)
    axes.set_yscale("symlog", linthresh=_least(report, value))
    axes.set_ylim(bottom=0)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.8)


def _bars(axes: Any, report: FigureReport, value: Metric) -> None:
    """A bar for every scheme, with its number; those that did not converge say so."""
    points = [report.of(scheme)[0] for scheme in report.schemes]
    means = [Mean(0.0, 0.0) if point.given_up is not None else _mean(point, value) for point in points]
    most = max((mean.value for mean in means), default=0.0) or 1.0
    for place, (point, mean) in enumerate(zip(points, means, strict=True)):
        axes.barh(place, mean.value, 0.7, color=COLOURS[place % 4])
        text = _number(mean.value) if point.given_up is None else f"no end after {point.given_up:.0f} s"
        axes.text(mean.value + most * 0.01, place, f" {text}", va="center", fontsize=7)
    axes.set_yticks(
        range(len(points)), [f"{point.scheme} ({point.x:g} {report.x_label})" for point in points], fontsize=7
    )
    axes.invert_yaxis()
    axes.set_xlim(0, most * 1.25)
    axes.grid(True, axis="x", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)


def _number(value: float) -> str:
    """A number with three digits, or all of a large one.

    >>> _number(9.7799), _number(41946.0), _number(0.9024)
    ('9.78', '41,946', '0.902')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _least(report: FigureReport, value: Metric) -> float:
    """Where the logarithmic scale begins: at the least value that is not 0."""
    values = [_mean(point, value).value for point in report.points if point.given_up is None]
    return min((one for one in values if one > 0), default=1.0)
