"""A query over many measurements that is asked again: its sketch is captured, used, and follows a change."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import headwater as hw
from headwater.sketch.sketch import SketchPart

if TYPE_CHECKING:
    import pyarrow as pa

MEASUREMENTS = 200_000
LINKS = 400
LINK = 123
"""The link that becomes slow."""
SLOW = """\
SELECT link, count(*) AS slow FROM measured WHERE ms > 95
GROUP BY link HAVING count(*) > 30
"""


@dataclass(frozen=True)
class SketchedQuery:
    """What the query found before and after the change, what it read of how many rows, and the plain answers."""

    before: frozenset[tuple[int, int]]
    after: frozenset[tuple[int, int]]
    plain_before: frozenset[tuple[int, int]]
    plain_after: frozenset[tuple[int, int]]
    rows: int
    read_before: int
    read_after: int
    changed: int
    maintaining: float
    sketch: str

    @property
    def right(self) -> bool:
        """Whether both answers over the sketch are the plain ones."""
        return self.before == self.plain_before and self.after == self.plain_after


def sketch_measurements(seed: int) -> SketchedQuery:
    """Measure links in DuckDB, ask which are often slow, and ask again after one of them has become so."""
    import duckdb
    import pyarrow as pa

    random = np.random.default_rng(seed)
    links = np.sort(random.integers(0, LINKS, MEASUREMENTS))
    rows = pa.table({"link": links, "ms": random.integers(0, 100, MEASUREMENTS)})
    more = pa.table({"link": np.full(50, LINK), "ms": np.full(50, 99)})
    with tempfile.TemporaryDirectory() as folder:
        with duckdb.connect(f"{folder}/measured.db") as connection:
            connection.register("given", rows)
            connection.execute("CREATE TABLE measured AS FROM given")
        with hw.sketches(f"duckdb:///{folder}/measured.db", Path(folder) / "state") as sketches:
            sketches.table("measured", partition="link", ranges=100)
            plain_before = _answer(sketches.ask(SLOW, way="plain").rows)
            sketches.ask(SLOW, way="capture")
            before = _answer(sketches.ask(SLOW, way="use").rows)
            read_before = _read(rows, sketches.list()[0].sketches[-1].parts)
            sketches.maintain()  # makes the state that the change is followed by
            sketches.update("measured", insert=more)
            answer = sketches.ask(SLOW, way="maintain")
            plain_after = _answer(sketches.ask(SLOW, way="plain").rows)
            whole = pa.concat_tables([rows, more])
            read_after = _read(whole, sketches.list()[0].sketches[-1].parts)
    decision = answer.decision
    return SketchedQuery(
        before, _answer(answer.rows), plain_before, plain_after, whole.num_rows, read_before, read_after,
        decision.changed, decision.maintaining, decision.sketch,
    )  # fmt: skip


def _answer(rows: pa.Table) -> frozenset[tuple[int, int]]:
    return frozenset((row["link"], row["slow"]) for row in rows.to_pylist())


def _read(rows: pa.Table, parts: tuple[SketchPart, ...]) -> int:
    """How many rows lie in the fragments of a sketch."""
    kept = np.ones(rows.num_rows, bool)
    for part in parts:
        found = part.ranges.fragments(rows.column(part.ranges.attribute))
        kept &= np.isin(found, sorted(part.fragments))
    return int(kept.sum())
