"""A join, a group-by and a condition on the groups, over a million rows of which a few change.

Both sides of the join change: orders are replaced by others, and customers move to another region.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import headwater as hw
from headwater.bench.duckdb_rival import Duck
from headwater.bench.duel import Duel
from headwater.bench.report import Row, Target
from headwater.bench.stage import DUCKDB, PATHWAY, Stage
from headwater.database import Database

PART = "groups"
REGIONS = 1000
PROGRAM = """
total(R, sum<A>) :- orders(O, C, A), customers(C, R).
large(R, T) :- total(R, T), T > {threshold}.
"""
QUERY = """
SELECT region, sum(amount)::BIGINT FROM orders JOIN customers USING (customer)
GROUP BY region HAVING sum(amount) > {threshold}
"""

Ints = npt.NDArray[np.int64]
Rows = dict[str, list[tuple[int, ...]]]


@dataclass(frozen=True)
class Shop:
    """Orders (number, customer, amount) and customers (number, region)."""

    orders: Ints
    customers: Ints
    threshold: int

    @classmethod
    def make(cls, orders: int, seed: int) -> Shop:
        """So many orders, and a customer for every 20; about half of the regions pass the threshold."""
        draw = np.random.default_rng(seed)
        customers = orders // 20
        numbers = np.arange(orders)
        return cls(
            np.stack([numbers, draw.integers(0, customers, orders), draw.integers(1, 1000, orders)], axis=1),
            np.stack([np.arange(customers), draw.integers(0, REGIONS, customers)], axis=1),
            orders * 500 // REGIONS,
        )

    def load(self) -> Database:
        """A new database of ours."""
        database = hw.connect()
        database.define(PROGRAM.format(threshold=self.threshold))
        database.apply(insert={"orders": self.orders, "customers": self.customers})
        return database

    def query(self) -> str:
        """The same for DuckDB."""
        return QUERY.format(threshold=self.threshold)

    def load_duck(self) -> Duck:
        """A new DuckDB."""
        duck = Duck()
        duck.create("orders", _columns(self.orders, "number", "customer", "amount"))
        duck.create("customers", _columns(self.customers, "customer", "region"))
        duck.recompute(self.query())
        return duck

    def change(self, size: int, draw: np.random.Generator, among: int | None = None) -> tuple[Rows, Rows]:
        """Rows that go and rows that come, `size` in all: one pair in 50 (at least one) moves a customer, the
        others put an order in the place of another. Only the first `among` customers and their orders change."""
        moving = max(1, size // 100)
        customers = self.customers[: among or len(self.customers)]
        orders = self.orders if among is None else self.orders[self.orders[:, 1] < among]
        old = orders[draw.choice(len(orders), size // 2 - moving, replace=False)]
        new = np.stack([old[:, 0], draw.permutation(old[:, 1]), draw.integers(1, 1000, len(old))], axis=1)
        stay = customers[draw.choice(len(customers), moving, replace=False)]
        move = np.stack([stay[:, 0], (stay[:, 1] + draw.integers(1, REGIONS, moving)) % REGIONS], axis=1)
        return (
            {"orders": _tuples(old), "customers": _tuples(stay)},
            {"orders": _tuples(new), "customers": _tuples(move)},
        )


def measure(stage: Stage) -> list[Row]:
    """Changes of 10 and of 1000 rows, against DuckDB and Pathway."""
    options = stage.options
    shop = Shop.make(20_000 if options.quick else 1_000_000, options.seed)
    changes = {10: options.singles // 2, 1000: 2 if options.quick else 2 * options.repeat}
    stage.begin(PART, sum(changes.values()))
    database, duck = shop.load(), shop.load_duck()
    stage.same("loaded", database["large"], duck.answer(), DUCKDB)
    about = f"{len(shop.orders):,} orders, {len(shop.customers):,} customers, {len(database['total']):,} groups"
    draw = np.random.default_rng(options.seed + 6)
    if stage.pathway is None:
        return _changes(stage, shop, database, duck, None, changes, draw, about)
    rows = {"orders": shop.orders.tolist(), "customers": shop.customers.tolist()}
    with stage.pathway.dataflow("groups", rows, threshold=shop.threshold) as dataflow:
        return _changes(stage, shop, database, duck, dataflow, changes, draw, about)


def _changes(stage, shop, database, duck, dataflow, changes, draw, about):  # type: ignore[no-untyped-def]
    rows: list[Row] = []
    for size, repetitions in changes.items():
        small = size == 10
        ours_duck = Duel(PART, f"change {size:,} rows", DUCKDB, "faster", Target("at least", 10) if small else None)
        ours_pathway = Duel(PART, f"change {size:,} rows", PATHWAY, "faster", Target("at least", 1) if small else None)
    return rows


def _columns(matrix: Ints, *names: str) -> dict[str, Ints]:
    return {name: np.ascontiguousarray(matrix[:, i]) for i, name in enumerate(names)}


def _tuples(matrix: Ints) -> list[tuple[int, ...]]:
    return [tuple(row) for row in matrix.tolist()]
