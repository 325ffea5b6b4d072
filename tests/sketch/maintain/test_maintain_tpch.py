"""The queries of TPC-H that the paper maintains, in DuckDB, under orders that come and go: beside capturing anew
there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.sketch.tpch import TpchData
from headwater.language.sql.algebra import Operator, scans
from headwater.language.sql.parser import parse
from headwater.sketch.captured import captured
from headwater.sketch.maintain.group_by import GroupByDelta
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.ranges import equi_depth
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.sql_backend import SqlBackend

sys.path.append(str(Path(__file__).parents[2] / "language"))
from sql_tpch import QUERIES  # noqa: E402

DATA = TpchData(0.002)
SLOT = Slot("lineitem", "l_orderkey")
STATELESS = {1, 5, 6, 7, 8, 9, 12, 14, 19}
"""Queries from which every group reaches the answer: there is nothing to keep but the counts of μ."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlBackend]:
    backend = SqlBackend(f"duckdb:///{tmp_path_factory.mktemp('tpch')}/shop.db")
    with backend.engine.connect() as connection:
        raw = connection.connection.driver_connection
        for name, table in DATA.tables().items():
            raw.register("rows", table)
            raw.execute(f"CREATE TABLE {name} AS FROM rows")
            raw.unregister("rows")
        connection.commit()
    for name in DATA.tables():
        backend.table(name)
    yield backend
    backend.engine.dispose()


def test_tpch_under_inserts_and_deletes(shop: SqlBackend):
    lines = DATA.tables()["lineitem"]
    numbers = FragmentNumbers((SlotRanges(SLOT, equi_depth("l_orderkey", lines.column("l_orderkey"), 40)),))
    plans = {number: parse(text, shop.schemas()).plan for number, text in QUERIES.items()}
    kept = {number: Maintainer(plan, numbers, shop) for number, plan in plans.items()}
    for each in kept.values():
        each.capture()
    orders, new_lines = DATA.new_orders(np.arange(10**6, 10**6 + 60), seed=9)
    old_lines = lines.slice(0, 300)
    customers = pa.table(DATA.tables()["customer"].slice(0, 5))
    for table, insert, delete in (
        ("lineitem", new_lines, old_lines),
        ("orders", orders, None),
        ("customer", None, customers),
    ):
        shop.update(table, insert, delete)
    check(shop, plans, kept, numbers)
    shop.update("lineitem", old_lines, new_lines.slice(0, 50))
    check(shop, plans, kept, numbers)
    for number, maintainer in kept.items():
        grouped = any(isinstance(each, GroupByDelta) for each in maintainer.operators())
        assert grouped == (number not in STATELESS), f"Q{number}"


def check(
    shop: SqlBackend, plans: dict[int, Operator], kept: dict[int, Maintainer], numbers: FragmentNumbers
) -> None:
    for number, maintainer in kept.items():
        maintainer.maintain()
        ranges = (numbers.ranges[SLOT],)
        accesses = {scan.access: ranges for scan in scans(plans[number]) if scan.table == "lineitem"}
        fresh = captured(shop, plans[number], accesses).sketch
        assert maintainer.sketch.parts == fresh.parts, f"Q{number}"
