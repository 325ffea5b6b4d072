"""All figures into one report, and the report into files."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.machine import load, machine, versions
from benchmarks.provenance.figures import TITLES, measure
from benchmarks.provenance.measuring import FigureStage
from benchmarks.provenance.page import markdown
from benchmarks.provenance.pictures import draw
from benchmarks.provenance.points import ProvenanceReport


def run(
    *, quick: bool = False, only: Sequence[int] = (), told: Callable[[str], None] = lambda what: None
) -> ProvenanceReport:
    """Measure; raises as soon as a view is not what ranked support has."""
    stage = FigureStage(quick, told=told)
    started, clock, before = datetime.datetime.now(datetime.timezone.utc), time.perf_counter(), load()
    figures = measure(stage, only or tuple(TITLES))
    found = {name: version for name, version in versions().items() if name not in ("duckdb", "pathway")}
    try:
        found["oxidd"] = importlib.metadata.version("oxidd")
    except importlib.metadata.PackageNotFoundError:
        found["oxidd"] = "not installed"
    return ProvenanceReport(
        quick,
        machine(before),
        found,
        started.isoformat(timespec="seconds"),
        time.perf_counter() - clock,
        tuple(figures),
        stage.compared,
        tuple(stage.notes),
    )


def write(report: ProvenanceReport, folder: Path) -> list[Path]:
    """Write provenance.json, provenance.md and a picture for each figure; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    data, page = folder / "provenance.json", folder / "provenance.md"
    data.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    pictures = draw(report, folder)
    shown = "".join(f"\n![{picture.stem}]({picture.name})\n" for picture in pictures)
    page.write_text(markdown(report) + shown, encoding="utf-8")
    return [data, page, *pictures]
