"""A join, a group-by and a condition on the groups, over a million rows of which a few change.

Both sides of the join change: orders are replaced by others, and customers move to another region.
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from benchmarks.duckdb_rival import Duck
from benchmarks.duel import Duel
from benchmarks.pathway_rival import Dataflow
from benchmarks.report import ReportRow, Target
from benchmarks.shop import Rows, Shop
from benchmarks.stage import DUCKDB, PATHWAY, Stage
from headwater.database import Database

PART = "groups"
WITH_TARGET = 10
"""The number of changed rows that the targets speak of."""
BLOCK = 10
"""Changes in a row before DuckDB has its turn. An even number: half of them undo the other half."""


def measure(stage: Stage) -> list[ReportRow]:
    """Changes of 10 and of 1000 rows, against DuckDB and, where it is installed, Pathway."""
    options = stage.options
    shop = Shop.make(20_000 if options.quick else 1_000_000, options.seed)
    repetitions = dict.fromkeys((10, 1000), 1 if options.quick else 2 * options.repeat)
    stage.begin(PART, sum(repetitions.values()))
    database, duck = shop.load(), shop.load_duck()
    stage.same("loaded", database["large"], duck.answer(), DUCKDB)
    base = {"orders": shop.orders, "customers": shop.customers}
    opened = (
        nullcontext(None)
        if stage.pathway is None
        else stage.pathway.dataflow("groups", base, threshold=shop.threshold)
    )
    rows: list[ReportRow] = []
    with opened as dataflow:
        race = _Race(stage, shop, database, duck, dataflow)
        for size, count in repetitions.items():
            rows += race.run(size, count)
    duck.close()
    return rows


class _Race:
    """All three on the same data, changed in turns."""

    def __init__(self, stage: Stage, shop: Shop, database: Database, duck: Duck, dataflow: Dataflow | None):
        self.stage = stage
        self.shop = shop
        self.database = database
        self.duck = duck
        self.dataflow = dataflow
        self.draw = np.random.default_rng(stage.options.seed + 6)

    def run(self, size: int, repetitions: int) -> list[ReportRow]:
        """Change so many rows, and change them back, over and over.

        We and Pathway get `BLOCK` changes one right after the other, DuckDB computes anew in the state after
        the last two of them, and in these states all answers are compared.
        """
        what, asked = f"change {size:,} rows", size == WITH_TARGET
        recompute = Duel(PART, what, DUCKDB, "faster", Target("at least", 10) if asked else None)
        pathway = Duel(PART, what, PATHWAY, "faster", Target("at least", 1.5) if asked else None)
        sending = Duel(PART, f"{what}, sending them counted", PATHWAY, "faster")
        for _ in range(repetitions):
            block = [self.shop.change(size, self.draw) for _ in range(BLOCK // 2)]
            changes = [pair for gone, come in block for pair in ((gone, come), (come, gone))]
            for now in (changes[:-1], changes[-1:]):
                for old, new in now:
                    recompute.time_ours(lambda: self.database.apply(delete=old, insert=new))  # noqa: B023
                if self.dataflow is not None:
                    for old, new in now:
                        pathway.theirs.append(self.dataflow.apply(delete=old, insert=new))
                        sending.theirs.append(self.dataflow.with_sending)
                    self.stage.same(what, self.database["large"], self.dataflow.answer(), PATHWAY)
                self._recompute(*now[-1], recompute)
            self.stage.step(what)
        pathway.ours = sending.ours = recompute.ours
        about = (
            f"{len(self.shop.orders):,} orders, {len(self.shop.customers):,} customers, "
            f"{len(self.database['total']):,} groups"
        )
        return [duel.row(about) for duel in (recompute, pathway, sending) if duel.theirs]

    def _recompute(self, old: Rows, new: Rows, duel: Duel) -> None:
        for table, rows in old.items():
            self.duck.delete(table, rows)
        for table, rows in new.items():
            self.duck.insert(table, rows)
        duel.theirs.append(self.duck.recompute(self.shop.query()))
        self.stage.same(duel.what, self.database["large"], self.duck.answer(), DUCKDB)
