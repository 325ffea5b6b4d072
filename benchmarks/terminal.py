"""The report on a terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from benchmarks.report import BenchmarkReport
from benchmarks.wording import circumstances, measured, ratio, target, verdict


def table(report: BenchmarkReport, width: int = 120, title: str = "script/bench engine") -> RenderableType:
    """A table of all rows but details, and below it the circumstances and how many targets were met.

    The ratio of means, which a few dear changes dominate, is shown where there is room for it.
    """
    wide = width >= 118
    shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    shown.add_column("what", min_width=18)
    shown.add_column("against", min_width=8)
    for name in ("ours", "theirs", "ratio", *(["by means"] if wide else [])):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("target", no_wrap=True, justify="right")
    shown.add_column("", no_wrap=True)
    previous = ""
    for row in (row for row in report.rows if not row.detail):
        if row.part != previous:
            shown.add_section()
            shown.add_row(Text(row.part, style="bold"))
        previous = row.part
        colour = {True: "green", False: "bold red", None: ""}[row.met]
        shown.add_row(
            row.what,
            row.rival,
            measured(row.ours, row.by),
            measured(row.theirs, row.by),
            Text(ratio(row), style=colour),
            *([ratio(row, "mean")] if wide else []),
            target(row),
            Text(verdict(row), style=colour),
        )
    asked = sum(row.target is not None for row in report.rows)
    end = [Text(circumstances(report), style="dim"), *(Text(note, style="yellow") for note in report.notes)]
    end.append(Text(f"{asked - len(report.missed)} of {asked} targets met", style="bold"))
    return Group(shown, *end)
