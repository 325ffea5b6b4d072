"""A shop with many orders, and what it asks: which regions' orders come to more than a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import headwater as hw
from benchmarks.duckdb_rival import Duck
from headwater.database import Database

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
        duck = Duck()
        duck.create("orders", _columns(self.orders, "number", "customer", "amount"))
        duck.create("customers", _columns(self.customers, "customer", "region"))
        duck.recompute(self.query())
        return duck

    def beside_others(self, times: int) -> Shop:
        """The same shop as the first of so many like it, which share neither customers nor regions."""
        orders, customers = len(self.orders), len(self.customers)
        return Shop(
            np.concatenate([self.orders + [i * orders, i * customers, 0] for i in range(times)]),
            np.concatenate([self.customers + [i * customers, i * REGIONS] for i in range(times)]),
            self.threshold,
        )

    def change(self, size: int, draw: np.random.Generator) -> tuple[Rows, Rows]:
        """Rows that go and rows that come, `size` in all.

        One pair in 50 (at least one) moves a customer; the others put an order in the place of another.
        """
        moving = max(1, size // 100)
        old = self.orders[draw.choice(len(self.orders), size // 2 - moving, replace=False)]
        new = np.stack([old[:, 0], draw.permutation(old[:, 1]), draw.integers(1, 1000, len(old))], axis=1)
        stay = self.customers[draw.choice(len(self.customers), moving, replace=False)]
        move = np.stack([stay[:, 0], (stay[:, 1] + draw.integers(1, REGIONS, moving)) % REGIONS], axis=1)
        return (
            {"orders": _tuples(old), "customers": _tuples(stay)},
            {"orders": _tuples(new), "customers": _tuples(move)},
        )


def _columns(matrix: Ints, *names: str) -> dict[str, Ints]:
    return {name: np.ascontiguousarray(matrix[:, i]) for i, name in enumerate(names)}


def _tuples(matrix: Ints) -> list[tuple[int, ...]]:
    return [tuple(row) for row in matrix.tolist()]
