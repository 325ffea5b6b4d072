"""`script/bench exchange`: all figures into one report, and that as files."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.exchange.figures import cycles, deletions, joining, updates
from benchmarks.exchange.pictures import draw
from benchmarks.markdown import markdown
from benchmarks.options import BenchmarkOptions
from benchmarks.report import BenchmarkReport
from benchmarks.stage import Onlooker, Stage, Unwatched


def run(options: BenchmarkOptions, progress: Onlooker | None = None) -> BenchmarkReport:
    """Measure; raises `WrongAnswer` as soon as two answers differ."""
    stage = Stage(options, progress or Unwatched())
    rows = [*deletions(stage), *joining(stage), *updates(stage), *cycles(stage)]
    stage.notes += [
        "Figures are numbered as in Green et al. 2007. One process computes the instances of all peers, as peers do.",
        "Seconds are CPU seconds of the process. What edits come to, row by row, is worked out before.",
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
