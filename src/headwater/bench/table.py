"""The report on a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headwater.bench.report import Report
from headwater.bench.wording import circumstances, measured, ratio, target, verdict


def table(report: Report) -> RenderableType:
    """A table of all rows, with what was measured above and what was missed below."""
    shown = Table(title="headwater bench engine", title_justify="left", header_style="bold", pad_edge=False)
    for name in ("part", "what", "rival"):
        shown.add_column(name)
    for name in ("ours", "rival's", "ratio", "by means"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("target", no_wrap=True)
    shown.add_column("", no_wrap=True)
    previous = ""
    for row in report.rows:
        if previous and row.part != previous:
            shown.add_section()
        colour = {True: "green", False: "bold red", None: ""}[row.met]
        shown.add_row(
            row.part if row.part != previous else "",
            row.what,
            row.rival,
            measured(row.ours, row.by),
            measured(row.theirs, row.by),
            Text(ratio(row.figure, row.kind), style=colour),
            ratio(row.by_means, row.kind),
            target(row),
            Text(verdict(row), style=colour),
        )
        previous = row.part
    asked = sum(row.target is not None for row in report.rows)
    end = [Text(circumstances(report), style="dim"), *(Text(note, style="yellow") for note in report.notes)]
    end.append(Text(f"{asked - len(report.missed)} of {asked} targets met", style="bold"))
    return Group(shown, *end)
