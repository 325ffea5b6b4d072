"""All figures into one report, and the report into files."""

from __future__ import annotations

import datetime
import json
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.machine import load, machine, versions
from benchmarks.network.figures import NetworkStage, aggregate_selections, magic_sets, sharing, updates
from benchmarks.network.growth import grow
from benchmarks.network.notes import notes_of
from benchmarks.network.page import markdown
from benchmarks.network.pictures import draw
from benchmarks.network.points import NetworkReport

PARTS = ("selections", "magic", "sharing", "updates", "growth")
NODES, QUICK_NODES = 100, 16
QUERIES, QUICK_QUERIES = (20, 40, 80, 120, 160, 200, 240, 280), (2, 4)
SIZES, QUICK_SIZES = (100, 300, 1000, 3000), (25, 50)


def run(
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    nodes: int | None = None,
    seed: int = 0,
    told: Callable[[str], None] = lambda what: None,
) -> NetworkReport:
    """Measure; raises as soon as a path is not what Dijkstra has."""
    stage = NetworkStage(
        nodes or (QUICK_NODES if quick else NODES), seed, QUICK_QUERIES if quick else QUERIES, told
    )
    started, clock, before = datetime.datetime.now(datetime.timezone.utc), time.perf_counter(), load()
    wanted = only or PARTS
    if "selections" in wanted:
        aggregate_selections(stage)
    if "magic" in wanted:
        magic_sets(stage)
    if "sharing" in wanted:
        sharing(stage)
    if "updates" in wanted:
        updates(stage, "13", (10.0,), 10.0 if quick else 40.0)
        updates(stage, "14", (2.0, 8.0), 10.0 if quick else 40.0)
    growth = []
    for size in (QUICK_SIZES if quick else SIZES) if "growth" in wanted else ():
        told(f"{size:,} nodes")
        # a process of its own: what it holds is what the network holds
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
            growth.append(other.submit(grow, size, seed).result())
    found = {name: version for name, version in versions().items() if name in ("headwater", "python")}
    return NetworkReport(
        quick,
        stage.nodes,
        seed,
        machine(before),
        found,
        started.isoformat(timespec="seconds"),
        time.perf_counter() - clock,
        tuple(stage.figures),
        tuple(stage.comparisons),
        tuple(growth),
        notes_of(part for part in PARTS if part in wanted),
    )


def write(report: NetworkReport, folder: Path) -> list[Path]:
    """Write network.json, network.md and network.svg; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    data, page, picture = folder / "network.json", folder / "network.md", folder / "network.svg"
    data.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    shown = ""
    if report.figures:
        draw(report, picture)
        shown = "\n![Figures 7 to 14](network.svg)\n"
    page.write_text(markdown(report) + shown, encoding="utf-8")
    return [data, page, *([picture] if report.figures else [])]
