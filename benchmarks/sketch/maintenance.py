"""Maintaining a sketch beside capturing it again (sections 10.2, 10.5 and 10.6): for which changes it pays, and how
much.

Both sides do all of it: fetching what changed from the backend and following it, or running the capture query there.
Sides take turns. Rows come in one round and go in the next, but for large shares of a table, which only come.
Capturing takes long, and as long after any change of a size, so that it is done in every third round of small ones:
once after rows came, once after they went. Sketches of both are compared then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.answers import WrongAnswer
from benchmarks.sketch.crimes import CQ1, CQ2, CrimesData
from benchmarks.sketch.tpch import TpchData
from headwater.language.sql.algebra import Operator, scans
from headwater.language.sql.parser import parse
from headwater.sketch.captured import captured
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.maintain.switches import Switches
from headwater.sketch.ranges import equi_depth
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.sql_backend import SqlBackend

WARMING = 2
"""Rounds before those that count: filters, plans and machine code are made in them."""
MOST_DELETED = 10_000
"""Of changes of more rows only insertions are measured, after smaller ones have warmed everything."""
ROUNDS_OF_MANY = 2
"""So often."""
ROUNDS_A_CAPTURE = 3
"""In every such round of small changes the sketch is captured again: an odd number, so that rows have come one time
and gone the next."""
Changes = Callable[[int, int], dict[str, pa.Table]]
"""Rows to insert into tables, given how many and a seed."""


@dataclass(frozen=True)
class MaintainedQuery:
    """A query over tables of a backend, partitioned by one attribute, and what changes its tables."""

    name: str
    text: str
    slot: Slot
    fragments: int
    changes: Changes
    rows: int
    data: str
    """What `changes` is about: queries over the same data change it once."""


@dataclass(frozen=True)
class MaintenancePoint:
    """What one query and size of change took: both sides in seconds."""

    query: MaintainedQuery
    changed: int
    share: float
    maintained: tuple[float, ...]
    captured: tuple[float, ...]
    state_bytes: int
    single: bool
    """Whether the query reads one table once."""
    compared: int
    """How many fragments a fresh sketch had, all of which the maintained one had."""


def loaded(path: Path, tables: dict[str, pa.Table]) -> SqlBackend:
    """DuckDB with these tables."""
    backend = SqlBackend(f"duckdb:///{path}")
    with backend.engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        for name, table in tables.items():
            raw.register("rows", table)
            raw.execute(f"CREATE TABLE {name} AS FROM rows")
            raw.unregister("rows")
        connection.commit()
    for name in tables:
        backend.table(name)
    return backend


def measured(
    backend: SqlBackend,
    queries: Sequence[MaintainedQuery],
    sizes: Sequence[int],
    repeats: int,
    switches: Switches | None = None,
) -> Iterator[MaintenancePoint]:
    """All queries, kept at once, through changes of each size."""
    kept = {query.name: kept_query(backend, query, switches) for query in queries}
    seed = 0
    for size in sizes:
        times: dict[str, tuple[list[float], list[float]]] = {query.name: ([], []) for query in queries}
        fragments: dict[str, int] = {}
        rounds = (repeats + 1) // 2 * 2 if size <= MOST_DELETED else ROUNDS_OF_MANY
        for repeat in range(-WARMING if size <= MOST_DELETED else 0, rounds):
            deleting = size <= MOST_DELETED and repeat % 2 == 1
            seed += not deleting
            for query in _one_of_each_data(queries):
                for table, rows in query.changes(size, seed).items():
                    backend.update(table, None if deleting else rows, rows if deleting else None)
            for query in queries:
                seconds = _maintained(kept[query.name])
                if repeat < 0:
                    continue
                times[query.name][0].append(seconds)
                if size > MOST_DELETED or repeat % ROUNDS_A_CAPTURE == 0:
                    seconds, fragments[query.name] = _recaptured(backend, query, kept[query.name])
                    times[query.name][1].append(seconds)
        for query in queries:
            maintained, whole = map(tuple, times[query.name])
            state, single = kept[query.name].nbytes, len(scans(kept[query.name].plan)) == 1
            share, compared = size / query.rows, fragments[query.name]
            yield MaintenancePoint(query, size, share, maintained, whole, state, single, compared)


def _one_of_each_data(queries: Sequence[MaintainedQuery]) -> list[MaintainedQuery]:
    """Queries over the same tables change them once."""
    found: dict[str, MaintainedQuery] = {}
    for query in queries:
        found.setdefault(query.data, query)
    return list(found.values())


def kept_query(backend: SqlBackend, query: MaintainedQuery, switches: Switches | None = None) -> Maintainer:
    """What maintains the sketch of a query, with its state."""
    plan = parse(query.text, backend.schemas()).plan
    column = backend.sample(query.slot.table, query.slot.attribute, 200_000)
    ranges = equi_depth(query.slot.attribute, column, query.fragments)
    maintainer = Maintainer(
        plan, FragmentNumbers((SlotRanges(query.slot, ranges),)), backend, switches=switches
    )
    maintainer.capture()
    return maintainer


def _maintained(maintainer: Maintainer) -> float:
    started = time.perf_counter()
    maintainer.maintain()
    return time.perf_counter() - started


def _recaptured(backend: SqlBackend, query: MaintainedQuery, maintainer: Maintainer) -> tuple[float, int]:
    """The seconds of a capture, and the fragments of the fresh sketch."""
    started = time.perf_counter()
    fresh = _captured(backend, maintainer.plan, query.slot, maintainer)
    seconds = time.perf_counter() - started
    if not maintainer.sketch.parts[0].fragments >= fresh:
        raise WrongAnswer("wrong-answer", f"the maintained sketch of {query.name} lacks fragments")
    return seconds, len(fresh)


def _captured(backend: SqlBackend, plan: Operator, slot: Slot, maintainer: Maintainer) -> frozenset[int]:
    ranges = (maintainer.numbers.ranges[slot],)
    accesses = {scan.access: ranges for scan in scans(plan) if scan.table == slot.table}
    return captured(backend, plan, accesses).sketch.parts[0].fragments


# ------------------------------------------------------------------ the data


def tpch_queries(data: TpchData, texts: dict[int, str], fragments: int) -> list[MaintainedQuery]:
    """TPC-H's queries, by fragments of `l_orderkey`, under new orders with their lines."""

    def changes(size: int, seed: int) -> dict[str, pa.Table]:
        orders = max(1, size // 5)
        keys = np.arange(10**8 + seed * 10**5, 10**8 + seed * 10**5 + orders)
        added, lines = data.new_orders(keys, 1000 + seed)
        return {"orders": added, "lineitem": lines}

    slot = Slot("lineitem", "l_orderkey")
    rows = 4 * data.orders
    return [
        MaintainedQuery(f"TPC-H Q{number}", text, slot, fragments, changes, rows, "orders")
        for number, text in texts.items()
    ]


def crimes_queries(data: CrimesData) -> list[MaintainedQuery]:
    """CQ1 and CQ2 of the paper, by 100 fragments of `beat`."""

    def changes(size: int, seed: int) -> dict[str, pa.Table]:
        return {"crimes": data.some(size, 1000 + seed, data.rows + seed * 10**6)}

    slot = Slot("crimes", "beat")
    return [
        MaintainedQuery(name, text, slot, 100, changes, data.rows, "crimes")
        for name, text in (("CQ1", CQ1), ("CQ2", CQ2))
    ]
