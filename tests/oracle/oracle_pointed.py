"""Short queries over one table, of the shapes that the rules of safety tell apart, and databases of few rows.

Random queries of many kinds are seldom wrong by one rule alone: a mistaken rule about averages shows only where an
average is compared in the wrong direction, over rows of which some are missing. These queries are of little else.
"""

from __future__ import annotations

import random

from oracle_sql import Rows

AGGREGATES = ("count(*)", "count({})", "sum({})", "sum(DISTINCT {})", "avg({})", "min({})", "max({})")


def pointed_query(rng: random.Random, *shapes: str) -> str:
    """A query over r, grouped by a, about b; r is best sketched by c, or by a."""
    return SHAPES[rng.choice(shapes or tuple(SHAPES))](rng)


def pointed_rows(rng: random.Random, *, negative: bool, nulls: bool) -> dict[str, Rows]:
    """Two or three groups of a few rows, in two or three fragments."""
    numbers = [None] * nulls + [-2] * negative + [0, 1, 2, 3]

    def row() -> tuple[int | None, int | None, int | None]:
        return rng.choice([1, 1, 2, 3]), rng.choice(numbers), rng.choice([0, 1, 2])

    return {"r": [row() for _ in range(rng.randint(2, 6))], "s": [(rng.choice([1, 2]), 1, None)], "u": []}


def _call(rng: random.Random, of: str = "b") -> str:
    return rng.choice(AGGREGATES).format(rng.choice([of, of, of, f"-{of}", f"2 * {of}", f"{of} * {of}"]))


def _compared(rng: random.Random, call: str) -> str:
    said = f"{call} {rng.choice(['>', '<', '>=', '<=', '='])} {rng.choice([0, 1, 1, 2, 3])}"
    return f"NOT ({said})" if rng.random() < 0.15 else said


def _having(rng: random.Random) -> str:
    keys = rng.choice(["a", "a", "c", "a, c"])
    return f"SELECT {keys} FROM r GROUP BY {keys} HAVING {_compared(rng, _call(rng))}"


def _difference(rng: random.Random) -> str:
    call = f"{_call(rng)} {rng.choice('+-')} {_call(rng)}"
    return f"SELECT a FROM r GROUP BY a HAVING {_compared(rng, call)}"


def _whole(rng: random.Random) -> str:
    return f"SELECT count(*) AS n FROM r HAVING {_compared(rng, _call(rng))}"


def _top(rng: random.Random) -> str:
    order = f"{rng.choice(['ASC', 'DESC'])} NULLS {rng.choice(['FIRST', 'LAST'])}"
    tie = rng.choice([", a", ", a", ""])
    after = rng.choice(["", "", "", " OFFSET 1"])
    return f"SELECT a, {_call(rng)} AS f FROM r GROUP BY a ORDER BY f {order}{tie} LIMIT 1{after}"


def _above_top(rng: random.Random) -> str:
    inner = f"SELECT a, b, c FROM r ORDER BY b {rng.choice(['ASC', 'DESC'])} NULLS LAST, a, c LIMIT 1"
    return f"SELECT a FROM ({inner}) AS q WHERE a > {rng.choice([1, 2])}"


def _nested(rng: random.Random) -> str:
    inner = f"SELECT a, {_call(rng)} AS f FROM r GROUP BY a"
    if rng.random() < 0.5:
        return f"SELECT f FROM ({inner}) AS q GROUP BY f HAVING count(*) {rng.choice('><')} 1"
    call = _call(rng, "f")
    return f"SELECT count(*) AS n FROM ({inner}) AS q HAVING {_compared(rng, call)}"


def _union(rng: random.Random) -> str:
    both = "SELECT a, b, c FROM r UNION ALL SELECT c AS a, b, a AS c FROM r"
    return f"SELECT a FROM ({both}) AS q GROUP BY a HAVING {_compared(rng, _call(rng))}"


def _set(rng: random.Random) -> str:
    inner = f"SELECT {rng.choice(['a', f'{_call(rng)} AS a'])} FROM r GROUP BY a"
    return rng.choice(
        [
            f"SELECT DISTINCT a FROM ({inner}) AS q",
            f"SELECT a FROM s EXCEPT SELECT a FROM ({inner}) AS q",
            f"SELECT a FROM ({inner}) AS q EXCEPT SELECT a FROM s",
            f"SELECT a FROM s WHERE a NOT IN (SELECT a FROM ({inner}) AS q WHERE a IS NOT NULL)",
            f"SELECT a FROM s WHERE a IN (SELECT a FROM r GROUP BY a HAVING {_compared(rng, _call(rng))})",
        ]
    )


SHAPES = {
    "having": _having, "difference": _difference, "whole": _whole, "top": _top, "above top": _above_top,
    "nested": _nested, "union": _union, "set": _set,
}  # fmt: skip
