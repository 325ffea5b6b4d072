"""What is kept of join keys: counts that follow every delta, and joins that need no question because of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from headwater.errors import DataError
from headwater.events import ReadWhole, from_json
from headwater.language.sql.parser import parse
from headwater.sketch.captured import captured
from headwater.sketch.maintain import key_counts
from headwater.sketch.maintain.key_counts import KeyCounts
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.maintain.switches import Switches
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.sql_backend import SqlBackend


@pytest.mark.parametrize("seed", range(40))
def test_counts_follow_what_comes_and_goes(seed: int, monkeypatch: pytest.MonkeyPatch):
    """Dense keys, sparse ones, some far out; few or many that come later."""
    at = random.Random(seed)
    monkeypatch.setattr(key_counts, "FEWEST_MERGED", at.choice((2, 10_000)))
    spread = at.choice((20, 10**6, 2**62))
    held = Counter(at.randint(-spread, spread) for _ in range(at.choice((0, 1, 60))))
    if at.random() < 0.5:
        held[10**15] += 1
    keys = np.array(list(held.elements()), np.int64)
    if at.random() < 0.5:
        counts = KeyCounts.of(keys)
    else:
        counts = KeyCounts.of(np.array(list(held), np.int64), np.array(list(held.values()), np.int64))
    for _ in range(30):
        pool = [*held, at.randint(-spread, spread), 10**15, -(2**63), 2**63 - 1]
        asked = np.array([at.choice(pool) for _ in range(8)], np.int64)
        assert counts.of_keys(asked).tolist() == [held[int(key)] for key in asked]
        key, gone = at.choice(pool), 0
        if held[key] and at.random() < 0.6:
            gone = at.randint(1, held[key])
        change = [(key, -gone)] if gone else [(key, at.randint(1, 3)), (at.choice(pool), 1)]
        counts.add(np.array([k for k, _ in change], np.int64), np.array([n for _, n in change], np.int64))
        for changed, number in change:
            held[changed] += number
        held += Counter()


def test_rows_that_were_not_there_are_refused():
    counts = KeyCounts.of(np.array([1, 2]))
    for key in (1, 99):
        with pytest.raises(DataError, match="negative-count"):
            counts.add(np.array([key]), np.array([-2]))


class Orders:
    """Orders with lines in DuckDB, and the sketch of a join of both; small tables are looked up as large ones are."""

    def __init__(self, folder: Path, text: str, **switches: bool):
        self.backend = SqlBackend(f"duckdb:///{folder}/shop.db")
        with self.backend.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE o AS SELECT range AS k, range % 3 AS p FROM range(50)")
            connection.exec_driver_sql("CREATE TABLE l AS SELECT range // 2 AS k, range AS x FROM range(100)")
        for name in ("o", "l"):
            self.backend.table(name)
        plan = parse(text, self.backend.schemas()).plan
        ranges = SlotRanges(Slot("l", "x"), Ranges("x", tuple(range(10, 200, 10))))
        chosen = Switches(kept_rows=0, **switches)
        self.kept = Maintainer(plan, FragmentNumbers((ranges,)), self.backend, switches=chosen)
        self.kept.capture()
        self.ranges = ranges.ranges

    def change(self, sign: int, order: tuple[int, int], *lines: tuple[int, int]) -> None:
        orders = pa.table({"k": [order[0]], "p": [order[1]]})
        of_lines = pa.table({"k": [k for k, _ in lines], "x": [x for _, x in lines]})
        for table, rows in (("o", orders), ("l", of_lines)):
            self.backend.update(table, rows if sign > 0 else None, rows if sign < 0 else None)

    def agrees(self) -> bool:
        accesses = {
            scan.access: (self.ranges,)
            for block in self.kept._blocks
            for scan in block.block.scans
            if scan.table == "l"
        }
        fresh = captured(self.backend, self.kept.plan, accesses).sketch
        return self.kept.sketch.parts[0].fragments == fresh.parts[0].fragments


@pytest.mark.parametrize("shown", ["o.p, count(*)", "l.k, count(*)"])
def test_orders_that_come_and_go_with_their_lines_cost_no_question(tmp_path: Path, shown: str):
    """Also those that were there before the sketch was."""
    first = shown.split(",")[0]
    text = f"SELECT {shown} FROM o, l WHERE o.k = l.k GROUP BY {first} HAVING count(*) > 1"
    orders = Orders(tmp_path, text)
    orders.change(1, (900, 1), (900, 150), (900, 151))
    done = orders.kept.maintain()
    assert {event.relation for event in done.events if isinstance(event, ReadWhole)} == {"o", "l"}
    assert all(from_json(event.to_json()) == event for event in done.events)
    for sign, order, lines in (
        (-1, (900, 1), ((900, 150), (900, 151))),
        (-1, (7, 1), ((7, 14), (7, 15))),
        (1, (7, 1), ((7, 14), (7, 15))),
        (-1, (49, 1), ((49, 98), (49, 99))),
    ):
        orders.change(sign, order, *lines)
        done = orders.kept.maintain()
        assert (done.asked, done.events) == (0, ())
        assert orders.agrees()
    orders.backend.close()


def test_where_nothing_but_the_key_is_read_its_rows_are_only_counted(tmp_path: Path):
    orders = Orders(tmp_path, "SELECT l.x FROM o, l WHERE o.k = l.k")
    for table, rows, asked in (
        ("l", pa.table({"k": [3, 3, 77], "x": [155, 165, 175]}), 0),
        ("o", pa.table({"k": [77, 77], "p": [0, 1]}), 1),  # of lines more is read
        ("l", pa.table({"k": [77, None], "x": [185, 195]}), 0),
    ):
        orders.backend.update(table, rows, None)
        assert orders.kept.maintain().asked == asked
        assert orders.agrees()
    orders.backend.close()


def test_a_sketch_that_does_not_shrink_sees_no_deletions_and_counts_no_keys(tmp_path: Path):
    """By counts, the line of an order that has gone would join with it, and its fragment would not be in doubt."""
    orders = Orders(tmp_path, "SELECT l.x FROM o, l WHERE o.k = l.k", shrink=False)
    orders.backend.update("l", pa.table({"k": [60], "x": [150]}), None)
    orders.kept.maintain()
    orders.backend.update("o", None, pa.table({"k": [7], "p": [1]}))
    orders.kept.maintain()
    orders.backend.update("l", pa.table({"k": [7], "x": [175]}), None)
    orders.kept.maintain()
    assert 17 not in orders.kept.sketch.parts[0].fragments
    orders.backend.close()


@pytest.mark.parametrize("text", [
    "SELECT l.x FROM o, l WHERE o.k = l.k",
    "SELECT l.x, o.p FROM o, l WHERE o.k = l.k AND o.p > 0",
    "SELECT o.p, count(*) AS n FROM o, l WHERE o.k = l.k AND l.x < 120 GROUP BY o.p HAVING count(*) > 40",
    "SELECT a.x FROM l AS a, l AS b, o WHERE a.k = b.k AND b.k = o.k AND b.x < 60",
])  # fmt: skip
@pytest.mark.parametrize("seed", range(6))
def test_random_orders_and_lines(tmp_path: Path, text: str, seed: int):
    """Some go that others join with, keys come twice, keys are NULL."""
    at, orders = random.Random(seed), Orders(tmp_path, text)
    held = {"o": [(k, k % 3) for k in range(50)], "l": [(x // 2, x) for x in range(100)]}
    for _ in range(12):
        for table, names in (("o", ("k", "p")), ("l", ("k", "x"))):
            gone = at.sample(held[table], at.randint(0, min(3, len(held[table]))))
            top = 2 if table == "o" else 199
            keys = (0, 7, 48, 49, 60, 61, None)
            come = [(at.choice(keys), at.randint(0, top)) for _ in range(at.randint(0, 3))]
            for row in gone:
                held[table].remove(row)
            held[table] += come
            given = [
                pa.table(
                    {
                        name: pa.array([row[place] for row in rows], pa.int64())
                        for place, name in enumerate(names)
                    }
                )
                for rows in (come, gone)
            ]
            orders.backend.update(table, *given)
        orders.kept.maintain()
        assert orders.agrees()
    orders.backend.close()


def _table(names: Sequence[str], rows: Sequence[tuple[int | None, int]]) -> pa.Table:
    return pa.table({name: pa.array([row[n] for row in rows], pa.int64()) for n, name in enumerate(names)})
