"""The paper's synthetic tables (section 10.5) and the queries of its appendix over them.

`a` is uniform over as many values as there are to be groups; b, c and so on are near multiples of it. Tables that are
joined with have each value of `a`, or some of them, once or several times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.sketch.maintenance import MaintainedQuery
from headwater.sketch.sketch import Slot

ROWS = 10_000_000
FRAGMENTS = 1000
NOISE = 10
"""How far b, c and so on are from multiples of a, at most."""


@dataclass(frozen=True)
class SyntheticTable:
    """A table with so many rows and groups, and columns up to the letter `last`."""

    name: str
    rows: int
    groups: int
    last: str = "c"

    def table(self, rows: int, seed: int, first: int = 0) -> pa.Table:
        """Rows of it, with ids from `first` on."""
        random = np.random.default_rng(seed)
        a = random.integers(0, self.groups, rows)
        columns = {"id": np.arange(first, first + rows), "a": a}
        for place, name in enumerate("bcdefghij"[: ord(self.last) - ord("a")]):
            columns[name] = (place + 2) * a + random.integers(-NOISE, NOISE + 1, rows)
        return pa.table(columns)

    def whole(self) -> pa.Table:
        """All rows."""
        return self.table(self.rows, 1)

    def changes(self, size: int, seed: int) -> dict[str, pa.Table]:
        """New rows."""
        return {self.name: self.table(size, 1000 + seed, first=self.rows + seed * 1_000_000)}


@dataclass(frozen=True)
class JoinedTable:
    """A table to join with: values from 0 on in steps, each so many times."""

    name: str
    values: int
    copies: int = 1
    step: int = 1

    def whole(self) -> pa.Table:
        keys = np.repeat(np.arange(0, self.values, self.step), self.copies)
        return pa.table({"ttid": keys, "w": np.arange(len(keys))})


@dataclass(frozen=True)
class Series:
    """Queries that differ in one thing, and the tables that they read."""

    name: str
    figure: str
    """In the paper."""
    tables: tuple[SyntheticTable | JoinedTable, ...]
    queries: tuple[MaintainedQuery, ...]
    break_even: float | None = None
    """Up to which share of the table the paper's maintenance pays, at least."""


def synthetic_series(scale: float = 1) -> Iterator[Series]:
    """All series; `scale` shrinks the tables."""
    rows = int(ROWS * scale)
    tables = {groups: SyntheticTable(f"r{groups}", rows, groups) for groups in (50, 1000, 5000, 500_000)}
    wide = SyntheticTable("wide", rows, 5000, "j")
    helper = JoinedTable("helper", 5000)
    by_groups = [
        (tables[50], "SELECT a, avg(b) AS ab FROM r50 GROUP BY a HAVING avg(c) < 3"),
        (tables[1000], "SELECT a, avg(b) AS ab FROM r1000 GROUP BY a HAVING avg(c) < 320"),
        (tables[5000], "SELECT a, avg(b) AS ab FROM r5000 GROUP BY a HAVING avg(c) < 1600"),
        (tables[500_000], "SELECT a, avg(b) AS ab FROM r500000 GROUP BY a HAVING avg(c) < 1600"),
    ]
    yield Series(
        "groups", "10b", tuple(tables.values()),
        tuple(_query(f"{table.groups:,} groups", text, table) for table, text in by_groups), 0.025,
    )  # fmt: skip
    yield Series("aggregates", "10a", (wide,), tuple(_aggregates(wide)), 0.025)
    one_to_n = [
        (tables[50], JoinedTable("helper50", 50), 10, 10),
        (tables[5000], helper, 1000, 1000),
        (tables[500_000], JoinedTable("helper500000", 500_000), 100_000, 100_000),
    ]
    yield Series(
        "1-n joins", "10c", tuple(each for pair in one_to_n for each in pair[:2]),
        tuple(
            _query(f"1-{rows // table.groups:,} join", _join(table, other, most, below), table)
            for table, other, most, below in one_to_n
        ),
    )  # fmt: skip
    many = [JoinedTable(f"helper_by_{copies}", 5000, copies) for copies in (20, 50)]
    yield Series(
        "m-n joins", "10d", (tables[5000], *many),
        tuple(
            _query(f"{other.copies}-{rows // 5000:,} join", _join(tables[5000], other, 1000, 1000), tables[5000])
            for other in many
        ),
    )  # fmt: skip
    part = {percent: JoinedTable(f"helper_{percent}", 5000, 1, 100 // percent) for percent in (1, 5, 10)}
    yield Series(
        "selectivity", "10e", (tables[5000], *part.values()),
        tuple(
            _query(f"join of {percent} %", _selective(tables[5000], other), tables[5000])
            for percent, other in part.items()
        ),
    )  # fmt: skip
    yield Series(
        "fragments", "10f", (tables[5000], helper),
        tuple(
            _query(f"{fragments:,} fragments", _join(tables[5000], helper, 1000, 1000), tables[5000], fragments)
            for fragments in (10, 100, 1000, 5000)
        ),
    )  # fmt: skip


def _aggregates(table: SyntheticTable) -> Iterator[MaintainedQuery]:
    """Q_having with one to ten aggregates, an extreme among others, and the best groups."""
    more = " AND ".join(f"avg({name}) > 0" for name in "efghij")
    having = {
        2: "avg(c) < 1000",
        3: "avg(c) < 1000 AND avg(d) < 1200",
        10: f"avg(c) < 1000 AND avg(d) < 1200 AND {more}",
    }
    yield _query("1 aggregate", "SELECT a, avg(b) AS ab FROM wide GROUP BY a", table)
    for count, condition in having.items():
        text = f"SELECT a, avg(b) AS ab FROM wide GROUP BY a HAVING {condition}"
        yield _query(f"{count} aggregates", text, table)
    yield _query("max", "SELECT a FROM wide GROUP BY a HAVING max(c) < 1000", table)
    text = "SELECT a, sum(c) AS n FROM wide GROUP BY a ORDER BY n DESC, a LIMIT 10"
    yield _query("top 10 groups", text, table)


def _join(table: SyntheticTable, other: JoinedTable, most: int, below: int) -> str:
    return (
        f"SELECT a, avg(b) AS ab FROM (SELECT a, b, c FROM {table.name} WHERE b < {most}) AS tt"
        f" JOIN {other.name} ON a = ttid GROUP BY a HAVING avg(c) < {below}"
    )


def _selective(table: SyntheticTable, other: JoinedTable) -> str:
    return (
        f"SELECT a, avg(b) AS ab FROM {table.name} JOIN {other.name} ON a = ttid WHERE b < 1000"
        " GROUP BY a HAVING avg(c) < 1000"
    )


def selections(table: SyntheticTable, shares: Sequence[float]) -> list[tuple[float, MaintainedQuery]]:
    """Q_selpd with conditions that such shares of the rows pass."""
    found = []
    for share in shares:
        most = int(2 * table.groups * share) + NOISE
        text = f"SELECT a, avg(b) AS ab FROM {table.name} WHERE b < {most} GROUP BY a HAVING avg(c) < 300"
        found.append((share, _query(f"{share:.0%} pass", text, table)))
    return found


def _query(name: str, text: str, table: SyntheticTable, fragments: int = FRAGMENTS) -> MaintainedQuery:
    changes = partial(SyntheticTable.changes, table)
    return MaintainedQuery(name, text, Slot(table.name, "a"), fragments, changes, table.rows, table.name)
