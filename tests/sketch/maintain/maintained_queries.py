# ruff: noqa: E501  (a table of queries: a query a line)
"""Queries of all shapes that are maintained, and random tables and streams of changes for them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from plan_model import ModelBackend

from headwater.language.sql.algebra import Operator
from headwater.language.sql.parser import parse
from headwater.language.sql.tables import TableSchema, table_schema
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot

SCHEMAS: dict[str, TableSchema] = {
    "r": table_schema("r", "g int, v int, x int, t string, d decimal(9,2)"),
    "s": table_schema("s", "k int, u int, y int"),
    "p": table_schema("p", "a int, b int"),
}
ARROW = {
    "r": pa.schema(
        [
            ("g", pa.int64()),
            ("v", pa.int64()),
            ("x", pa.int64()),
            ("t", pa.string()),
            ("d", pa.decimal128(9, 2)),
        ]
    ),
    "s": pa.schema([("k", pa.int64()), ("u", pa.int64()), ("y", pa.int64())]),
    "p": pa.schema([("a", pa.int64()), ("b", pa.int64())]),
}


@dataclass(frozen=True)
class Shape:
    """A query with `{c}` and the like for random constants, and the slots it can be sketched by."""

    name: str
    text: str
    slots: tuple[str, ...]
    safe: bool = True
    """Whether the answer over any sketch of it is the plain answer, also with negative values."""
    exact: bool = True
    """Whether the maintained sketch is the accurate one: not where an order has ties."""


SHAPES = (
    Shape("select", "SELECT * FROM r WHERE v > {c} AND t = 'a'", ("r.x",)),
    Shape("select_null", "SELECT v FROM r WHERE g IS NULL OR NOT (v < {c})", ("r.x",)),
    Shape("having_sum", "SELECT g, sum(v) FROM r GROUP BY g HAVING sum(v) > {c}", ("r.x",), safe=False),
    Shape("having_sum_in_key", "SELECT g, sum(v) FROM r GROUP BY g HAVING sum(v) > {c}", ("r.g",)),
    Shape("having_decimal", "SELECT g FROM r GROUP BY g HAVING sum(d * v) < {c}", ("r.g",)),
    Shape("having_count", "SELECT g, count(*) FROM r WHERE v < {c} GROUP BY g HAVING count(v) >= {k}", ("r.x",)),
    Shape("having_avg", "SELECT g, t FROM r GROUP BY g, t HAVING avg(v) > {c}", ("r.g",)),
    Shape("having_max", "SELECT g FROM r GROUP BY g HAVING max(v) > {c}", ("r.x",)),
    Shape("having_min", "SELECT g FROM r GROUP BY g HAVING min(v) < {c}", ("r.x",)),
    Shape("having_string", "SELECT g FROM r GROUP BY g HAVING max(t) > 'a' AND min(d) < {c}", ("r.g",)),
    Shape("having_distinct", "SELECT g FROM r GROUP BY g HAVING count(DISTINCT v) > {k} AND sum(DISTINCT v) < {c}", ("r.g",)),
    Shape("case_sum", "SELECT g FROM r GROUP BY g HAVING sum(CASE WHEN v > {c} THEN v WHEN t = 'b' THEN 1 END) > 1", ("r.g",)),
    Shape("all_groups", "SELECT g, sum(v), min(x) FROM r WHERE v > {c} GROUP BY g", ("r.x",)),
    Shape("global", "SELECT sum(v) FROM r WHERE x > {c}", ("r.x",)),
    Shape("global_having", "SELECT count(*) FROM r HAVING count(*) >= {k}", ("r.x",)),
    Shape("join", "SELECT r.g, s.u FROM r JOIN s ON r.x = s.k WHERE r.v > {c}", ("r.x", "s.y")),
    Shape("join_having", "SELECT s.y, sum(r.v) FROM r, s WHERE r.x = s.k GROUP BY s.y HAVING count(*) > {k}", ("r.x", "s.k")),
    Shape("join_three", "SELECT g FROM r, s, p WHERE r.x = s.k AND s.u = p.a AND b > {c} GROUP BY g HAVING count(*) > {k}", ("r.g", "s.k", "p.a")),
    Shape("cross", "SELECT g FROM r, p WHERE v > b GROUP BY g HAVING count(*) > {k}", ("r.x", "p.a")),
    Shape("self_join", "SELECT a.g, count(*) FROM r a JOIN r b ON a.g = b.x GROUP BY a.g HAVING count(*) > {k}", ("r.x",)),
    Shape("nested", "SELECT n, count(*) FROM (SELECT g, count(*) AS n FROM r GROUP BY g) q GROUP BY n HAVING count(*) > 1", ("r.g",)),
    Shape("nested_sum", "SELECT sum(n) FROM (SELECT g, t, sum(v) AS n FROM r GROUP BY g, t HAVING sum(v) > {c}) q GROUP BY t HAVING count(*) > 0", ("r.g",)),
    Shape("union_all", "SELECT z, count(*) FROM (SELECT g AS z FROM r WHERE v > {c} UNION ALL SELECT k FROM s) q GROUP BY z HAVING count(*) > {k}", ("r.x", "s.k")),
    Shape("union", "SELECT g FROM r WHERE v > {c} UNION SELECT u FROM s", ("r.x", "s.k")),
    Shape("join_union", "SELECT z FROM (SELECT g AS z FROM r UNION ALL SELECT k FROM s) q JOIN p ON q.z = p.a GROUP BY z HAVING count(*) > {k}", ("r.x", "s.y", "p.b")),
    Shape("distinct_count", "SELECT g, count(*) FROM (SELECT DISTINCT g, v FROM r) q GROUP BY g HAVING count(*) > {k}", ("r.x",)),
    Shape("in_subquery", "SELECT * FROM r WHERE g IN (SELECT k FROM s GROUP BY k HAVING sum(u) > {c})", ("r.x", "s.k")),
    Shape("in_table", "SELECT t, count(*) FROM r WHERE x IN (SELECT k FROM s WHERE u > {c}) GROUP BY t HAVING count(*) > {k}", ("r.x", "s.y")),
    Shape("exists", "SELECT g FROM r WHERE EXISTS (SELECT * FROM s WHERE s.k = r.g AND s.u > {c})", ("r.x", "s.y")),
    Shape("join_aggregate", "SELECT r.v, q.n FROM r JOIN (SELECT k, count(*) AS n FROM s GROUP BY k) q ON r.g = q.k WHERE r.v > q.n", ("r.x", "s.y"), safe=False),
    Shape("scalar_subquery", "SELECT g FROM r WHERE v > (SELECT max(u) FROM s WHERE y < {c})", ("r.x",)),
    Shape("top_rows", "SELECT v, x, g FROM r WHERE v > {c} ORDER BY v DESC, x, g, t, d LIMIT 3", ("r.x",), exact=False),
    Shape("top_groups", "SELECT g, count(*) AS n FROM r GROUP BY g ORDER BY n DESC, g LIMIT 2", ("r.x",)),
    Shape("top_groups_sum", "SELECT g, sum(v) AS n FROM r GROUP BY g ORDER BY n DESC NULLS LAST, g LIMIT 2", ("r.g",)),
    Shape("top_of_join", "SELECT u, max(v) AS n FROM r JOIN s ON r.x = s.k GROUP BY u ORDER BY n DESC NULLS LAST, u LIMIT 2", ("r.x", "s.k"), safe=False),
)  # fmt: skip


@dataclass
class Stream:
    """A query over random tables, and random changes of them."""

    shape: Shape
    seed: int
    plan: Operator = field(init=False)
    numbers: FragmentNumbers = field(init=False)
    backend: ModelBackend = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        constants = {"c": self.random.randint(-3, 6), "k": self.random.randint(1, 3)}
        self.text = self.shape.text.format(**constants)
        self.plan = parse(self.text, SCHEMAS).plan
        self.numbers = FragmentNumbers(tuple(self._ranges(slot) for slot in self.shape.slots))
        tables = {name: [self.row(name) for _ in range(self.random.randint(0, 12))] for name in SCHEMAS}
        costs = (0.0, 0.0, 0.2, 9.0)[self.seed % 4]  # filters at once, soon, or never
        self.backend = ModelBackend(tables, types=ARROW, key_seconds=costs)

    def _ranges(self, slot: str) -> SlotRanges:
        table, attribute = slot.split(".")
        bounds = sorted({self.random.randint(-2, 8) for _ in range(self.random.randint(0, 5))})
        return SlotRanges(Slot(table, attribute), Ranges(attribute, tuple(bounds)))

    @property
    def partition(self) -> dict[Slot, Ranges]:
        return {each.slot: each.ranges for each in self.numbers.slots}

    def row(self, table: str) -> dict[str, Any]:
        def number(low: int, high: int) -> int | None:
            return None if self.random.random() < 0.1 else self.random.randint(low, high)

        values: dict[str, Any] = {name: number(-2, 6) for name in ARROW[table].names}
        if table == "r":
            values["t"] = self.random.choice(["a", "b", None])
            cents = number(-300, 300)
            values["d"] = None if cents is None else Decimal(cents) / 100
        return values

    def change(self) -> None:
        """A random change of some tables."""
        for table in self.random.sample(sorted(SCHEMAS), self.random.choice([1, 1, 2, 3])):
            there = self.backend.tables[table]
            delete = self.random.sample(there, min(len(there), self.random.choice([0, 1, 2, 5])))
            insert = [self.row(table) for _ in range(self.random.choice([0, 1, 2, 4]))]
            if delete and self.random.random() < 0.3:
                insert.append(dict(self.random.choice(delete)))
            self.backend.update(table, insert, delete)
