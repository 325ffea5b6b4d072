"""A query of TPC-H over Delta tables on Spark, maintained from the tables' own versions: a join, and groups
with a limit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pytest

from benchmarks.sketch.tpch import TpchData
from headwater.language.sql.algebra import scans
from headwater.language.sql.parser import parse
from headwater.sketch.captured import captured
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.ranges import equi_depth
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.delta_table import DeltaFiles
from headwater.sketch.tables.spark_backend import SparkBackend

sys.path.append(str(Path(__file__).parents[2] / "language"))
from sql_tpch import QUERIES  # noqa: E402

pytestmark = pytest.mark.xdist_group("spark")
DATA = TpchData(0.0005)
SLOT = Slot("lineitem", "l_orderkey")


def test_sketches_over_delta_tables_are_maintained_on_spark(spark: Any, tmp_path: Path):
    tables = DATA.tables()
    backend = SparkBackend(spark)
    for name in ("customer", "orders", "lineitem"):
        deltalake.write_deltalake(str(tmp_path / name), tables[name])
        backend.table(name, DeltaFiles(str(tmp_path / name)))
    ranges = equi_depth("l_orderkey", tables["lineitem"].column("l_orderkey"), 20)
    numbers = FragmentNumbers((SlotRanges(SLOT, ranges),))
    plans = {number: parse(QUERIES[number], backend.schemas()).plan for number in (3,)}
    kept = {number: Maintainer(plan, numbers, backend) for number, plan in plans.items()}
    for each in kept.values():
        each.capture()
    orders, lines = DATA.new_orders(np.arange(10**6, 10**6 + 20), seed=9)
    backend.update("orders", orders, None)
    backend.update("lineitem", lines, tables["lineitem"].slice(0, 100))
    for number, maintainer in kept.items():
        maintainer.maintain()
        accesses = {scan.access: (ranges,) for scan in scans(plans[number]) if scan.table == "lineitem"}
        assert maintainer.sketch.parts == captured(backend, plans[number], accesses).sketch.parts, (
            f"Q{number}"
        )
        assert maintainer.sketch.parts[0].fragments
