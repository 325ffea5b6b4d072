"""DuckDB as an independent engine: recursive queries with UNION, and grouping with exact sums."""

from __future__ import annotations

import random
from fractions import Fraction

import duckdb
import pytest
from oracle_graphs import link_stream, seeds
from oracle_lockstep import Lockstep, State

ENGINE = duckdb.connect(config={"threads": 1})
STRATEGIES = ("support", "dred", "recompute", "auto")


def query(sql: str, **tables: tuple[str, frozenset]) -> frozenset:
    """The rows of a query over tables given as (columns and types, rows)."""
    for name, (columns, rows) in tables.items():
        ENGINE.execute(f"CREATE OR REPLACE TABLE {name} ({columns})")
        if rows:
            values = ", ".join(f"({', '.join(map(repr, row))})" for row in rows)
            ENGINE.execute(f"INSERT INTO {name} VALUES {values}")
    return frozenset(ENGINE.execute(sql).fetchall())


# ------------------------------------------------------------------ recursion

CLOSURE = """
    WITH RECURSIVE reach(x, y) AS (
        SELECT x, y FROM link
        UNION
        SELECT link.x, reach.y FROM link, reach WHERE link.y = reach.x
    ) SELECT x, y FROM reach
"""
EVEN_ODD = """
    WITH RECURSIVE walk(x, y, odd) AS (
        SELECT x, y, true FROM link
        UNION
        SELECT walk.x, link.y, NOT odd FROM walk, link WHERE walk.y = link.x
    ) SELECT x, y FROM walk WHERE odd = ?
"""


@pytest.mark.parametrize("seed", seeds(3))
def test_closure(seed: int):
    stream = link_stream(400 + seed, nodes=14)
    lockstep = Lockstep(
        "link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).", STRATEGIES
    )
    lockstep.apply({}, {"link": stream.start(20)})
    for delete, insert in stream.versions(8):
        lockstep.apply(
            {"link": delete},
            {"link": insert},
            lambda state: {"reach": query(CLOSURE, link=("x INT, y INT", state["link"]))},
        )


@pytest.mark.parametrize("seed", seeds(3))
def test_mutual_recursion(seed: int):
    stream = link_stream(500 + seed, nodes=8)
    lockstep = Lockstep(
        "link(x: int, y: int). odd(X, Y) :- link(X, Y). odd(X, Y) :- even(X, Z), link(Z, Y)."
        "even(X, Y) :- odd(X, Z), link(Z, Y).",
        STRATEGIES,
    )
    lockstep.apply({}, {"link": stream.start(9)})

    def reference(state: State) -> State:
        table = ("x INT, y INT", state["link"])
        return {
            "odd": query(EVEN_ODD.replace("?", "true"), link=table),
            "even": query(EVEN_ODD.replace("?", "false"), link=table),
        }

    for delete, insert in stream.versions(8):
        lockstep.apply({"link": delete}, {"link": insert}, reference)


# ------------------------------------------------------------------ grouping

GROUPED = """
    order(id: int, customer: string, amount: int).
    price(id: int, value: float).
    spent(K, count<N>) :- order(N, K, A).
    total(K, sum<A>) :- order(N, K, A).
    mean(K, avg<A>) :- order(N, K, A).
    least(K, min<A>) :- order(N, K, A).
    most(K, max<A>) :- order(N, K, A).
    worth(K, sum<V>) :- order(N, K, A), price(N, V).
    all(count<N>) :- order(N, K, A).
    busy(K) :- spent(K, C), C > 2, !least(K, 0).
"""
ORDERS = "id BIGINT, customer VARCHAR, amount BIGINT"


def grouped(state: State) -> State:
    tables = {
        "orders": (ORDERS, state["order"]),
        "price": ("id BIGINT, value DECIMAL(18, 2)", state["price"]),
    }
    by = "FROM orders GROUP BY customer"
    worth = query(
        "SELECT customer, sum(value)::DOUBLE FROM orders JOIN price USING (id) GROUP BY customer", **tables
    )
    return {
        "spent": query(f"SELECT customer, count(*) {by}", **tables),
        "total": frozenset((k, int(s)) for k, s in query(f"SELECT customer, sum(amount) {by}", **tables)),
        "mean": frozenset(
            (k, float(Fraction(int(s), n)))
            for k, s, n in query(f"SELECT customer, sum(amount), count(*) {by}", **tables)
        ),
        "least": query(f"SELECT customer, min(amount) {by}", **tables),
        "most": query(f"SELECT customer, max(amount) {by}", **tables),
        "worth": worth,
        "all": query("SELECT count(*) FROM orders HAVING count(*) > 0", **tables),
        "busy": query(
            f"SELECT customer FROM (SELECT customer, count(*) n, min(amount) m {by}) WHERE n > 2 AND m <> 0",
            **tables,
        ),
    }


@pytest.mark.parametrize("seed", seeds(3))
def test_grouping(seed: int):
    """Groups that appear, change, stay the same by accident and vanish; sums of quarters are exact."""
    rng = random.Random(seed)
    lockstep = Lockstep(GROUPED, ("support", "counting", "dred", "recompute", "auto"))

    def orders(number: int) -> list[tuple[int, str, int]]:
        return [
            (rng.randrange(12), rng.choice("abcde"), rng.randrange(-3, 4) * 10**12) for _ in range(number)
        ]

    def prices(number: int) -> list[tuple[int, float]]:
        return [(rng.randrange(12), rng.randrange(-400, 400) / 4) for _ in range(number)]

    lockstep.apply({}, {"order": orders(25), "price": prices(15)}, grouped)
    for _ in range(10):
        number = rng.choice([1, 1, 2, 8, 20])
        gone = {
            name: rng.sample(sorted(lockstep.state[name]), min(number, len(lockstep.state[name])))
            for name in ("order", "price")
        }
        lockstep.apply(
            gone,
            {"order": orders(rng.choice([0, 1, number])), "price": prices(rng.choice([0, 1, number]))},
            grouped,
        )
