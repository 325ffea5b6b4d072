"""`script/bench exchange`: all figures into one report, and that as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.exchange.deletions import deletions
from benchmarks.exchange.figures import cycles, joining, updates
from benchmarks.exchange.pictures import draw
from benchmarks.markdown import markdown
from benchmarks.options import BenchmarkOptions
from benchmarks.report import BenchmarkReport, ReportRow
from benchmarks.stage import Onlooker, Stage, Unwatched

FIGURES: dict[tuple[int, ...], Callable[[Stage], list[ReportRow]]] = {
    (4,): deletions,
    (5, 6): joining,
    (7, 8, 9): updates,
    (10,): cycles,
}
"""What is measured together, by the numbers of the figures."""


def run(
    options: BenchmarkOptions, progress: Onlooker | None = None, only: Sequence[int] = ()
) -> BenchmarkReport:
    """Measure (the figures asked for); raises `WrongAnswer` as soon as two answers differ."""
    stage = Stage(options, progress or Unwatched())
    rows: list[ReportRow] = []
    for numbers, measure in FIGURES.items():
        if not only or set(only) & set(numbers):
            rows += measure(stage)
    stage.notes += [
        "Figures are numbered as in Green et al. 2007. One process computes the instances of all peers, as peers do.",
        "Seconds are CPU seconds of the process. What edits come to, row by row, is worked out before;"
        " contributions to insert and to delete come as tables.",
        "All ways of deleting begin with the whole instance in memory and end with the right one. `from base data`"
        " drops all views, deletes contributions and derives the views, with the same plans; `recompute` derives"
        " them in their places. `from the logs` begins with the lines of published logs: we read and take on those"
        " that delete, the rival, a new peer, all of them.",
        "Where most goes, we do what `from base data` does, as soon as that is foreseen, and less of it: room is made"
        " once, and rows that had one derivation are not looked for. Most of both sides' time is then taking in the"
        " rows to delete: the ratio comes near to 1.",
        "From scratch, both sides do it once before it counts: a process that first reads so much takes memory"
        " for it from the system, which makes that up to three times as long for us.",
    ]
    return stage.report(sorted(rows, key=lambda row: int(row.part.split()[1])))


def write(report: BenchmarkReport, folder: Path) -> list[Path]:
    """Write exchange.json, exchange.md and the pictures; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    data, page = folder / "exchange.json", folder / "exchange.md"
    data.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    pictures = draw(report, folder)
    shown = "".join(f"\n![{picture.stem}]({picture.name})\n" for picture in pictures)
    page.write_text(markdown(report) + shown, encoding="utf-8")
    return [data, page, *pictures]
