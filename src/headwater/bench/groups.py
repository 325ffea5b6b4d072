"""A join, a group-by and a condition on the groups, over a million rows of which a few change.

Both sides of the join change: orders are replaced by others, and customers move to another region.
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from headwater.bench.duckdb_rival import Duck
from headwater.bench.duel import Duel
from headwater.bench.pathway_rival import Dataflow
from headwater.bench.report import Row, Target
from headwater.bench.shop import Rows, Shop
from headwater.bench.stage import DUCKDB, PATHWAY, Stage
from headwater.database import Database

PART = "groups"
WITH_TARGET = 10
"""The number of changed rows that the targets speak of."""


def measure(stage: Stage) -> list[Row]:
    """Changes of 10 and of 1000 rows, against DuckDB and, where it is installed, Pathway."""
    options = stage.options
    shop = Shop.make(20_000 if options.quick else 1_000_000, options.seed)
    repetitions = {10: options.singles // 2, 1000: 2 if options.quick else 2 * options.repeat}
    stage.begin(PART, sum(repetitions.values()))
    database, duck = shop.load(), shop.load_duck()
    stage.same("loaded", database["large"], duck.answer(), DUCKDB)
    base = {"orders": shop.orders, "customers": shop.customers}
    opened = (
        nullcontext(None)
        if stage.pathway is None
        else stage.pathway.dataflow("groups", base, threshold=shop.threshold)
    )
    rows: list[Row] = []
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

    def run(self, size: int, repetitions: int) -> list[Row]:
        """Change so many rows, and change them back, so many times."""
        what, asked = f"change {size:,} rows", size == WITH_TARGET
        recompute = Duel(PART, what, DUCKDB, "faster", Target("at least", 10) if asked else None)
        dataflow = Duel(PART, what, PATHWAY, "faster", Target("at least", 1) if asked else None)
        for _ in range(repetitions):
            gone, come = self.shop.change(size, self.draw)
            for old, new in ((gone, come), (come, gone)):
                self._change(old, new, recompute, dataflow)
            self.stage.step(what)
        dataflow.ours = recompute.ours
        about = (
            f"{len(self.shop.orders):,} orders, {len(self.shop.customers):,} customers, "
            f"{len(self.database['total']):,} groups"
        )
        return [duel.row(about) for duel in (recompute, dataflow) if duel.theirs]

    def _change(self, old: Rows, new: Rows, recompute: Duel, dataflow: Duel) -> None:
        recompute.time_ours(lambda: self.database.apply(delete=old, insert=new))
        for table, rows in old.items():
            self.duck.delete(table, rows)
        for table, rows in new.items():
            self.duck.insert(table, rows)
        recompute.theirs.append(self.duck.recompute(self.shop.query()))
        self.stage.same(recompute.what, self.database["large"], self.duck.answer(), DUCKDB)
        if self.dataflow is not None:
            dataflow.theirs.append(self.dataflow.apply(delete=old, insert=new))
            self.stage.same(dataflow.what, self.database["large"], self.dataflow.answer(), PATHWAY)
