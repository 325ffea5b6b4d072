"""Random tables and queries of kinds for which a sketch on `x` is safe (reference: every kind named there)."""

from __future__ import annotations

import decimal
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

R = pa.schema(
    [("g", pa.int64()), ("x", pa.int64()), ("v", pa.int64()), ("w", pa.float64()), ("t", pa.string())]
)
S = pa.schema([("k", pa.int64()), ("y", pa.int64()), ("u", pa.int64())])


@dataclass(frozen=True)
class SafeQuery:
    """A text, and the columns on which its tables may be sketched: {table: column}."""

    text: str
    sketched: dict[str, str]


def database(path: Path, tables: dict[str, pa.Table]) -> str:
    """The address of a DuckDB database with these tables."""
    with duckdb.connect(str(path)) as connection:
        for name, rows in tables.items():
            connection.register("given", rows)
            connection.execute(f"CREATE TABLE {name} AS FROM given")
    return f"duckdb:///{path}"


LARGER = "SELECT x FROM t WHERE x > 1"


def does(sketches: Any, *texts: str) -> None:
    with sketches.backend.engine.begin() as connection:
        for text in texts:
            connection.exec_driver_sql(text)


def answered(sketches: Any, text: str = LARGER, way: str | None = None) -> list[Any]:
    return sorted(tuple(row.values()) for row in sketches.ask(text, way=way).rows.to_pylist())


def random_rows(rng: random.Random, count: int) -> tuple[pa.Table, pa.Table]:
    """`v` is never negative, `w` may be; keys have NULLs; there are duplicates."""

    def some(value: object, nulls: float = 0.15) -> object:
        return None if rng.random() < nulls else value

    r = [
        (some(rng.randint(-2, 5)), some(rng.randint(-9, 30)), some(rng.randint(0, 9), 0.1),
         some(rng.randint(-40, 40) / 4), some(rng.choice("abc")))
        for _ in range(count)
    ]  # fmt: skip
    r += rng.sample(r, len(r) // 5)
    s = [
        (some(rng.randint(-2, 5)), some(rng.randint(-9, 30)), some(rng.randint(0, 9)))
        for _ in range(count // 2)
    ]
    return table(r, R), table(s, S)


def table(rows: list[tuple], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.Table.from_arrays(
        [pa.array(cells, f.type) for cells, f in zip(columns, schema, strict=True)], schema=schema
    )


def random_query(rng: random.Random) -> SafeQuery:
    c, d, k = rng.randint(0, 30), rng.randint(-9, 30), rng.randint(1, 5)
    texts = [
        f"SELECT g, x, v FROM r WHERE x > {d} AND v < {k + 3}",
        f"SELECT g, sum(v) AS total, count(*) AS n FROM r GROUP BY g HAVING sum(v) > {c}",
        f"SELECT g, count(v) AS n, avg(w) AS a FROM r GROUP BY g HAVING count(v) > {k}",
        f"SELECT g, max(v) AS top FROM r WHERE x <> {d} GROUP BY g HAVING max(v) >= {k}",
        f"SELECT g, min(w) AS low FROM r GROUP BY g HAVING min(w) < {k}",
        f"SELECT x, avg(w) AS a, sum(w) AS s, count(DISTINCT v) AS n FROM r GROUP BY x HAVING avg(w) > {k / 4}",
        f"SELECT x, g, sum(w) AS s FROM r GROUP BY x, g HAVING sum(w) < {k} OR s IS NULL".replace(
            "OR s", "OR sum(w)"
        ),
        "SELECT count(*) AS n, sum(v) AS s, min(w) AS m FROM r",
        f"SELECT g, sum(v) AS total FROM r GROUP BY g ORDER BY total DESC NULLS LAST, g LIMIT {k}",
        f"SELECT g, x, v FROM r WHERE v IS NOT NULL ORDER BY v, g, x, w, t LIMIT {k}",
        f"SELECT DISTINCT g, t FROM r WHERE v > {k}",
        f"SELECT g, v FROM r WHERE v > {k} UNION ALL SELECT x, g FROM r WHERE g > {k - 3}",
        f"SELECT g FROM r WHERE v > {k} UNION SELECT v FROM r",
        f"SELECT t, sum(n) AS total FROM (SELECT t, g, count(*) AS n FROM r GROUP BY t, g HAVING count(*) > {k}) AS q"
        " GROUP BY t HAVING sum(n) > 3",
        f"SELECT max(n) AS most FROM (SELECT g, sum(v) AS n FROM r GROUP BY g HAVING sum(v) > {c}) AS q",
        f"SELECT r.g, r.x, r.v FROM r WHERE r.g IN (SELECT g FROM r AS q GROUP BY g HAVING sum(q.v) > {c})",
        "SELECT a.g, count(*) AS n FROM r AS a JOIN r AS b ON a.g = b.g AND a.v < b.v"
        f" GROUP BY a.g HAVING count(*) > {k}",
    ]
    one = {"r": "x"}
    joined = [
        f"SELECT r.g, sum(s.u) AS total FROM r JOIN s ON r.g = s.k WHERE r.v < {k + 4}"
        f" GROUP BY r.g HAVING sum(s.u) > {c}",
        f"SELECT s.k, r.x, s.y FROM r, s WHERE r.g = s.k AND s.y > {d}",
        f"SELECT r.g, count(*) AS n FROM r JOIN s ON r.x < s.y GROUP BY r.g HAVING count(*) > {k}",
        f"SELECT r.g, r.x FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.k = r.g AND s.u > {k})",
    ]
    left = [
        f"SELECT r.g, r.x, s.u FROM r LEFT JOIN s ON r.g = s.k WHERE r.v > {k}",
        f"SELECT r.g, r.x FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.k = r.g AND s.u > {k})",
        f"SELECT g FROM r EXCEPT SELECT k FROM s WHERE u > {k}",
    ]
    chosen = rng.random()
    if chosen < 0.65:
        return SafeQuery(rng.choice(texts), one)
    if chosen < 0.9:
        both = rng.choice([{"r": "x"}, {"s": "y"}, {"r": "x", "s": "y"}])
        return SafeQuery(rng.choice(joined), both)
    return SafeQuery(rng.choice(left), one)


def same_rows(one: pa.Table, other: pa.Table) -> bool:
    """Whether two answers are equal as bags; sums of floats may differ in the last digits."""
    return bag(one) == bag(other)


def bag(rows: pa.Table) -> list[tuple]:
    cells = [[_cell(value) for value in column.to_pylist()] for column in rows.columns]
    return sorted(zip(*cells, strict=True), key=repr) if cells else []


def _cell(value: object) -> object:
    return round(float(value), 6) if isinstance(value, int | float | decimal.Decimal) else value
