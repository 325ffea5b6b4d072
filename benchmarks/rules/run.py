"""`script/bench rules`: all of its parts, into one report; and that as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.markdown import markdown
from benchmarks.options import BenchmarkOptions
from benchmarks.pictures import BLUE, GREEN, GREY, ORANGE, save
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
    """Time over the size of the view for one move, over the size of the change for the largest view, and over the
    size of the view for a rule that comes and goes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.2), facecolor="white", layout="constrained")
    by_view, by_change, by_rule = figure.subplots(1, 3)
    rows = [row for row in report.rows if row.part == watching.PART and row.series]
    largest = max(row.size for row in rows)
    first = str(watching.MOVES[0])
    _lines(by_view, _watched([row for row in rows if row.series == first], lambda row: row.size))
    by_view.set_xlabel("rows of the view")
    by_view.set_title("One person moves", fontsize=10, loc="left")
    _lines(by_change, _watched([row for row in rows if row.size == largest], lambda row: int(row.series)))
    by_change.set_xlabel("people who move at once")
    by_change.set_title(f"A view of {largest:,} rows", fontsize=10, loc="left")
    _lines(by_rule, _rules([row for row in report.rows if row.part == definitions.PART]))
    by_rule.set_xlabel("rows of the view")
    by_rule.set_title("A rule that changes less than 1 % of the view", fontsize=10, loc="left")
    for axes, sizes in ((by_view, watching.SIZES), (by_rule, definitions.SIZES)):
        axes.set_xlim(sizes[0] / 2, sizes[-1] * 2)
    return figure


@dataclass(frozen=True)
class Line:
    """A line of a picture, through points of a place and seconds."""

    label: str
    colour: str
    mark: str
    points: list[tuple[int, float]]


def _watched(rows: list[ReportRow], place: Callable[[ReportRow], int]) -> list[Line]:
    """Watched, stored and recomputed."""
    stored = [row for row in rows if row.rival == watching.STORED]
    duck = [row for row in rows if row.rival == DUCKDB]
    return [
        Line("watched, never stored", BLUE, "o", [(place(row), row.ours.median) for row in stored]),
        Line("stored", ORANGE, "s", [(place(row), row.theirs.median) for row in stored]),
        Line(DUCKDB, GREY, "^", [(place(row), row.theirs.median) for row in duck]),
    ]


def _rules(rows: list[ReportRow]) -> list[Line]:
    """A rule added and dropped, beside everything from scratch."""
    scratch = [row for row in rows if row.rival == definitions.REDEFINED]
    added = [row for row in scratch if row.series == "added"]
    dropped = [row for row in scratch if row.series == "dropped"]
    duck = [row for row in rows if row.rival == DUCKDB and row.series == "added"]
    return [
        Line("the rule added", BLUE, "o", [(row.size, row.ours.median) for row in added]),
        Line("the rule dropped", GREEN, "v", [(row.size, row.ours.median) for row in dropped]),
        Line(definitions.REDEFINED, ORANGE, "s", [(row.size, row.theirs.median) for row in added]),
        Line(DUCKDB, GREY, "^", [(row.size, row.theirs.median) for row in duck]),
    ]


def _lines(axes: Any, lines: list[Line]) -> None:
    """Lines on logarithmic scales."""
    for line in lines:
        points = sorted(line.points)
        axes.plot(
            [x for x, _ in points],
            [1e3 * y for _, y in points],
            color=line.colour,
            marker=line.mark,
            label=line.label,
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
