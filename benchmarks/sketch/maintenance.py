"""Maintaining a sketch beside capturing it again (sections 10.2, 10.5 and 10.6): for which changes it pays, and how
much.

Both sides do all of it: fetching what changed from the backend and following it, or running the capture query there.
Sides take turns, and the figure is the median of their ratios. Sketches of both are compared after each change.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.answers import WrongAnswer
from benchmarks.sketch.tpch import TpchData
from headwater.language.sql.algebra import Operator, scans
from headwater.language.sql.parser import parse
from headwater.sketch.captured import captured
from headwater.sketch.maintain.block_delta import Switches
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.ranges import equi_depth
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.sql_backend import SqlBackend

Changes = Callable[[int, int], dict[str, pa.Table]]
"""Rows to insert into tables, given how many and a seed."""


@dataclass(frozen=True)
class MaintenancePoint:
    """What one query and size of change took: both sides in seconds, medians."""

    query: str
    changed: int
    share: float
    maintained: float
    captured: float
    state_bytes: int
    compared: int
    """How many fragments a fresh sketch had, all of which the maintained one had."""

    @property
    def ratio(self) -> float:
        """How many times faster maintaining was."""
        return self.captured / self.maintained

    def __str__(self) -> str:
        took = f"maintained {1000 * self.maintained:9.2f} ms  captured {1000 * self.captured:9.2f} ms"
        return (
            f"{self.query:<24} {self.changed:>8,} rows ({self.share:7.3%})  {took}  {self.ratio:8.1f} times"
            f"  state {self.state_bytes / 1e6:.2f} MB"
        )


@dataclass(frozen=True)
class MaintainedQuery:
    """A query over tables of a backend, partitioned by one attribute, and what changes its tables."""

    name: str
    text: str
    slot: Slot
    fragments: int
    changes: Changes
    rows: int


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
    kept = {query.name: _kept(backend, query, switches) for query in queries}
    seed = 0
    for size in sizes:
        times: dict[str, list[tuple[float, float]]] = {query.name: [] for query in queries}
        fragments: dict[str, int] = {}
        for repeat in range(repeats + 1):
            seed += 1
            for query in _one_of_each_data(queries):
                for table, rows in query.changes(size, seed).items():
                    backend.update(table, rows, None)
            for query in queries:
                *both, fragments[query.name] = _duel(backend, query, kept[query.name])
                if repeat:  # the first warms filters, plans and machine code
                    times[query.name].append((both[0], both[1]))
        for query in queries:
            maintained = statistics.median(one for one, _ in times[query.name])
            whole = statistics.median(other for _, other in times[query.name])
            size_of = kept[query.name].nbytes
            share, compared = size / query.rows, fragments[query.name]
            yield MaintenancePoint(query.name, size, share, maintained, whole, size_of, compared)


def _one_of_each_data(queries: Sequence[MaintainedQuery]) -> list[MaintainedQuery]:
    """Queries over the same tables change them once."""
    found: dict[int, MaintainedQuery] = {}
    for query in queries:
        found.setdefault(id(query.changes), query)
    return list(found.values())


def _kept(backend: SqlBackend, query: MaintainedQuery, switches: Switches | None) -> Maintainer:
    plan = parse(query.text, backend.schemas()).plan
    column = backend.sample(query.slot.table, query.slot.attribute, 200_000)
    ranges = equi_depth(query.slot.attribute, column, query.fragments)
    maintainer = Maintainer(
        plan, FragmentNumbers((SlotRanges(query.slot, ranges),)), backend, switches=switches
    )
    maintainer.capture()
    return maintainer


def _duel(backend: SqlBackend, query: MaintainedQuery, maintainer: Maintainer) -> tuple[float, float, int]:
    """Seconds of both sides, and the fragments of the fresh sketch."""
    started = time.perf_counter()
    maintainer.maintain()
    between = time.perf_counter()
    fresh = _captured(backend, maintainer.plan, query.slot, maintainer)
    ended = time.perf_counter()
    if not maintainer.sketch.parts[0].fragments >= fresh:
        raise WrongAnswer("wrong-answer", f"the maintained sketch of {query.name} lacks fragments")
    return between - started, ended - between, len(fresh)


def _captured(backend: SqlBackend, plan: Operator, slot: Slot, maintainer: Maintainer) -> frozenset[int]:
    ranges = (maintainer.numbers.ranges[slot],)
    accesses = {scan.access: ranges for scan in scans(plan) if scan.table == slot.table}
    return captured(backend, plan, accesses).sketch.parts[0].fragments


# ------------------------------------------------------------------ the data


@dataclass(frozen=True)
class SyntheticData:
    """The paper's synthetic table: a uniform, b to j near multiples of it; and a table to join with."""

    rows: int
    groups: int
    joined: int = 0

    def table(self, rows: int, seed: int, first: int = 0) -> pa.Table:
        """Rows of it, with ids from `first` on."""
        random = np.random.default_rng(seed)
        a = random.integers(0, self.groups, rows)
        columns = {"id": np.arange(first, first + rows), "a": a}
        for place, name in enumerate("bcdefghij"):
            columns[name] = (place + 2) * a + random.integers(0, 100, rows)
        return pa.table(columns)

    def tables(self) -> dict[str, pa.Table]:
        """The table, and the one to join with if there is any."""
        found = {"r": self.table(self.rows, 1)}
        if self.joined:
            found["helper"] = pa.table({"ttid": np.arange(self.joined), "w": np.arange(self.joined)})
        return found

    def changes(self, size: int, seed: int) -> dict[str, pa.Table]:
        """New rows."""
        return {"r": self.table(size, 1000 + seed, first=self.rows + seed * 1_000_000)}


def synthetic_queries(data: SyntheticData) -> list[MaintainedQuery]:
    """Q_having with 2 and 10 aggregates, Q_selpd, min and top-k by groups, and Q_joinsel where there is a table to
    join."""
    more = " AND ".join(f"avg({name}) > 0" for name in "defghij")
    texts = {
        "having, 2 aggregates": "SELECT a, avg(b) AS ab FROM r GROUP BY a HAVING avg(c) < 1000",
        "having, 10 aggregates": f"SELECT a, avg(b) AS ab FROM r GROUP BY a HAVING avg(c) < 1000 AND {more}",
        "having with a selection": "SELECT a, avg(b) AS ab FROM r WHERE b < 1000 GROUP BY a HAVING avg(c) < 300",
        "having max": "SELECT a FROM r GROUP BY a HAVING max(c) < 1000",
        "top 10 groups": "SELECT a, sum(c) AS n FROM r GROUP BY a ORDER BY n DESC, a LIMIT 10",
    }
    if data.joined:
        texts["join and having"] = (
            "SELECT a, avg(b) AS ab FROM r JOIN helper ON a = ttid WHERE b < 1000 GROUP BY a HAVING avg(c) < 1000"
        )
    slot = Slot("r", "a")
    changes = data.changes
    return [MaintainedQuery(name, text, slot, 1000, changes, data.rows) for name, text in texts.items()]


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
        MaintainedQuery(f"TPC-H Q{number}", text, slot, fragments, changes, rows)
        for number, text in texts.items()
    ]
