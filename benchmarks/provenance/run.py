"""All figures into one report, and the report into files."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.machine import load, machine, versions
from benchmarks.provenance.aims import aims
from benchmarks.provenance.figures import TITLES, measure
from benchmarks.provenance.flaps import measure_flaps
from benchmarks.provenance.measuring import FigureStage
from benchmarks.provenance.one_process import measure_one_process
from benchmarks.provenance.page import markdown
from benchmarks.provenance.pictures import draw
from benchmarks.provenance.points import ProvenanceReport
from benchmarks.provenance.runs import KeptRuns

QUICK_SEEDS, SEEDS = 2, 10


def run(
    *,
    quick: bool = False,
    only: Sequence[int] = (),
    seeds: int | None = None,
    kept: KeptRuns | None = None,
    told: Callable[[str], None] = lambda what: None,
) -> ProvenanceReport:
    """Measure, as far as it was not measured before; raises as soon as a view is not what ranked support has in one
    process."""
    stage = FigureStage(quick, seeds or (QUICK_SEEDS if quick else SEEDS), kept or KeptRuns(), told=told)
    started, clock, before = datetime.datetime.now(datetime.timezone.utc), time.process_time(), load()
    figures = measure(stage, only or tuple(TITLES))
    flaps = None if only else measure_flaps(stage)
    one_process = None if only else measure_one_process(stage)
    found = {name: version for name, version in versions().items() if name not in ("duckdb", "pathway")}
    try:
        found["oxidd"] = importlib.metadata.version("oxidd")
    except importlib.metadata.PackageNotFoundError:
        found["oxidd"] = "not installed"
    return ProvenanceReport(
        quick,
        stage.seeds,
        machine(before),
        found,
        started.isoformat(timespec="seconds"),
        stage.seconds or time.process_time() - clock,
        tuple(figures),
        aims(figures, flaps, one_process),
        flaps,
        one_process,
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
