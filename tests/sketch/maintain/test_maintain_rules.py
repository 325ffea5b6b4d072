"""The same maintenance as rules on the engine, the slow and straightforward way: counters of pairs as a base
relation.

`pair(g, f, sum, count)` has per group and fragment what its rows come to; the rest are ordinary rules. The engine is
told which pairs changed, the operators which rows did; they agree after every version.
"""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from oracle_lockstep import examples
from plan_model import ModelBackend

import headwater as hw
from headwater.language.sql.parser import parse
from headwater.language.sql.tables import table_schema
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot

SCHEMA = table_schema("r", "g int, v int, x int")
ARROW = pa.schema([("g", pa.int64()), ("v", pa.int64()), ("x", pa.int64())])
RANGES = Ranges("x", (2, 4, 6, 8))
QUERIES = {
    "sum": ("HAVING sum(v) > 3", "keep(G) :- total(G, S, C), S > 3."),
    "count": ("HAVING count(*) < 3", "keep(G) :- total(G, S, C), C < 3."),
    "both": ("HAVING sum(v) < 5 AND count(*) > 1", "keep(G) :- total(G, S, C), S < 5, C > 1."),
}


class Pairs:
    """Counters of (group, fragment), and the engine that follows them."""

    def __init__(self, rule: str):
        self.counters: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
        self.db = hw.connect()
        self.db.define(
            "pair(g: int, f: int, s: int, c: int).\n"
            "sums(G, sum<S>) :- pair(G, F, S, C).\n"
            "counts(G, sum<C>) :- pair(G, F, S, C).\n"
            "total(G, S, C) :- sums(G, S), counts(G, C).\n"
            f"{rule}\n"
            "sketch(F) :- pair(G, F, S, C), keep(G)."
        )

    def change(self, insert: list[dict[str, Any]], delete: list[dict[str, Any]]) -> None:
        old: dict[tuple[int, int], tuple[int, ...]] = {}
        for rows, sign in ((insert, 1), (delete, -1)):
            for row in rows:
                key = (row["g"], RANGES.fragment(row["x"]))
                old.setdefault(key, tuple(self.counters[key]))
                self.counters[key][0] += sign * row["v"]
                self.counters[key][1] += sign
        new = {key: tuple(self.counters[key]) for key in old}
        gone = [(*key, *value) for key, value in old.items() if value[1] and new[key] != value]
        come = [(*key, *value) for key, value in new.items() if value[1] and old[key] != value]
        self.db.apply(insert={"pair": come}, delete={"pair": gone})

    def sketch(self) -> set[int]:
        return {fragment for (fragment,) in self.db["sketch"].rows()}


@pytest.mark.parametrize("name", QUERIES)
def test_operators_and_rules_agree(name: str):
    having, rule = QUERIES[name]
    for seed in range(examples(6)):
        source = random.Random(seed)
        backend = ModelBackend({"r": []}, types={"r": ARROW})
        plan = parse(f"SELECT g FROM r GROUP BY g {having}", {"r": SCHEMA}).plan
        numbers = FragmentNumbers((SlotRanges(Slot("r", "x"), RANGES),))
        operators, rules = Maintainer(plan, numbers, backend), Pairs(rule)
        operators.capture()
        for _ in range(8):
            there = backend.tables["r"]
            delete = source.sample(there, min(len(there), source.randint(0, 4)))
            insert = [
                {"g": source.randint(0, 4), "v": source.randint(-3, 4), "x": source.randint(0, 9)}
                for _ in range(source.randint(0, 5))
            ]
            backend.update("r", insert, delete)
            rules.change(insert, delete)
            operators.maintain()
            assert set(operators.sketch.parts[0].fragments) == rules.sketch(), (name, seed)
