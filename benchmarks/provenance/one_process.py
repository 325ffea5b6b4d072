"""Absorption as a strategy of a database in one process: what a row takes, and how long a deletion takes."""

from __future__ import annotations

import gc
import time
import tracemalloc
from dataclasses import asdict, dataclass
from statistics import median

from benchmarks.provenance.measuring import FigureStage
from benchmarks.provenance.workloads import links
from headwater.database import Database

DELETED = 0.05
NAME = "one process"


@dataclass(frozen=True)
class OneProcessMeasure:
    """Bytes for each row of the view, rows, indexes, dictionaries and provenance included; and the median of the CPU
    milliseconds of deleting one link after another."""

    rows: int
    bytes_a_row: float
    deletion: float


def measure_one_process(stage: FigureStage) -> OneProcessMeasure | None:
    """The network of figures 7 and 8; as kept, if it was measured before."""
    name = f"{'quick ' if stage.quick else ''}{NAME}"
    kept = stage.kept.read(name)
    if kept is not None:
        return OneProcessMeasure(**kept)
    if stage.kept.found_only:
        return None
    stage.told("absorption in one process")
    found = OneProcessMeasure(*_held(stage), _deletion(stage))
    stage.kept.write(name, asdict(found))
    return found


def _loaded(stage: FigureStage) -> Database:
    workload = links(1 if stage.quick else 4, True, 0.0, 0)
    database = Database(strategy="absorption")
    database.define(workload.program)
    database.apply(insert={"link": [row for _, row in workload.facts]})
    return database


def _held(stage: FigureStage) -> tuple[int, float]:
    """A first database has loaded all code, and another is measured."""
    _loaded(stage).close()
    gc.collect()
    tracemalloc.start()
    try:
        database = _loaded(stage)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    rows = len(database["reachable"])
    database.close()
    return rows, held / rows


def _deletion(stage: FigureStage) -> float:
    workload = links(1 if stage.quick else 4, True, DELETED, 0)
    times = []
    with _loaded(stage) as database:
        for relation, row in workload.gone:
            started = time.process_time()
            database.apply(delete={relation: [row]})
            times.append(1000 * (time.process_time() - started))
    return median(times)
