"""Recursion over tables of other shapes: pairs of one generation, long strings, many columns, skewed keys."""

from __future__ import annotations

import random

from benchmarks.reachability import PROGRAM, QUERY
from benchmarks.workloads.workload import RecursiveWorkload, Row

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789/-"


def same_generation(people: int, seed: int) -> RecursiveWorkload:
    """Pairs of people as many generations below a common ancestor; everybody has one or two parents."""
    choose = random.Random(seed)
    parent: dict[Row, None] = {}
    for child in range(6, people):
        for _ in range(choose.choice((1, 1, 2))):
            parent[choose.randrange(max(0, child // 3 - 30), child // 3 + 1), child] = None
    rules = """
same(X, Y) :- parent(P, X), parent(P, Y).
same(X, Y) :- parent(A, X), same(A, B), parent(B, Y).
"""
    query = """
WITH RECURSIVE same(x, y) AS (
  SELECT p.b, q.b FROM parent p JOIN parent q ON p.a = q.a
  UNION SELECT p.b, q.b FROM same JOIN parent p ON p.a = same.x JOIN parent q ON q.a = same.y
) SELECT x, y FROM same
"""
    rows = list(parent)
    return RecursiveWorkload(
        "same generation", rules, {"parent": rows}, ("same",), "DuckDB", query, "parent",
        choose.sample(rows, min(100, len(rows))),
    )  # fmt: skip


def long_strings(nodes: int, seed: int) -> RecursiveWorkload:
    """The closure of a random graph whose nodes are called by 10 to 80 characters.

    >>> row = long_strings(50, 1).base["link"][0]
    >>> all(10 <= len(name) <= 80 for name in row)
    True
    """
    choose = random.Random(seed)
    names = ["".join(choose.choices(ALPHABET, k=choose.randint(10, 80))) for _ in range(nodes)]
    link: dict[Row, None] = {}
    while len(link) < nodes * 3 // 2:
        link[choose.choice(names), choose.choice(names)] = None
    return _closure("strings of 10 to 80 characters", list(link), choose)


def skewed_keys(nodes: int, seed: int) -> RecursiveWorkload:
    """The closure of a graph in which few nodes have most of the edges, as in networks of people."""
    choose = random.Random(seed)
    weights = [1 / (number + 1) for number in range(nodes)]
    link: dict[Row, None] = {}
    while len(link) < nodes * 3 // 2:
        many, one = choose.choices(range(nodes), weights)[0], choose.randrange(nodes)
        link[(many, one) if choose.random() < 0.5 else (one, many)] = None
    return _closure("skewed keys", list(link), choose)


def wide_rows(rows: int, columns: int, seed: int) -> RecursiveWorkload:
    """Items of a hierarchy with all their columns, for everything that they are under."""
    choose = random.Random(seed)
    more = columns - 2
    names = "".join(f", C{number}" for number in range(more))
    rules = (
        f"under(K, P{names}) :- item(K, P{names}).\nunder(K, A{names}) :- under(K, P{names}), above(P, A).\n"
    )
    values = "".join(f", c{number}" for number in range(more))
    carried = "".join(f", under.c{number}" for number in range(more))
    query = f"""
WITH RECURSIVE under(k, p{values}) AS (
  SELECT a, b{values} FROM item UNION SELECT under.k, above.b{carried} FROM under JOIN above ON above.a = under.p
) SELECT * FROM under
"""
    groups = max(8, rows // 20)
    above: list[Row] = [(number, choose.randrange(number)) for number in range(1, groups)]
    item: list[Row] = [
        (number, choose.randrange(groups), *(choose.randrange(1000) for _ in range(more)))
        for number in range(rows)
    ]
    return RecursiveWorkload(
        f"rows of {columns} columns", rules, {"item": item, "above": above}, ("under",), "DuckDB", query, "item",
        choose.sample(item, min(100, len(item))),
    )  # fmt: skip


def _closure(name: str, link: list[Row], choose: random.Random) -> RecursiveWorkload:
    return RecursiveWorkload(
        name,
        PROGRAM,
        {"link": link},
        ("reach",),
        "DuckDB",
        QUERY,
        "link",
        choose.sample(link, min(100, len(link))),
    )
