"""Extremes of columns whose types are only as wide as the values that came."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.language.sql.parser import parse
from headwater.sketch.maintain.extremes import Extreme
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.sql_backend import SqlBackend


def change(state: Extreme, *values: Decimal | None) -> pa.Array:
    """As PostgreSQL gives values: with as many digits as these have, and no type if all are NULL."""
    groups = np.zeros(len(values), np.int64)
    state.change(groups, pa.array(values), np.ones(len(values), np.int64))
    return state.column(np.zeros(1, np.int64))


def test_a_column_of_nulls_says_nothing_of_its_type():
    state = Extreme("min", 20)
    assert change(state, None, None).to_pylist() == [None]
    assert change(state, Decimal("4.25")).to_pylist() == [Decimal("4.25")]


def test_decimals_grow():
    state = Extreme("max", 20)
    assert change(state, Decimal("4.25")).to_pylist() == [Decimal("4.25")]
    assert change(state, Decimal("1234.5")).to_pylist() == [Decimal("1234.5")]
    assert change(state, Decimal("99999.125")).to_pylist() == [Decimal("99999.125")]
    again = Extreme("max", 20)
    again.load(state.save(np.zeros(1, np.int64)))
    assert again.column(np.zeros(1, np.int64)).to_pylist() == [Decimal("99999.125")]


def test_a_group_changes_from_few_digits_to_many(postgres: Any):
    """The row that goes has a narrower type than the one that comes."""
    backend = SqlBackend(postgres.new_database())
    with backend.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (g BIGINT, q NUMERIC(9, 2))")
        connection.exec_driver_sql("INSERT INTO t VALUES (1, NULL), (2, 0.25)")
    backend.table("t")
    plan = parse("SELECT g FROM t GROUP BY g HAVING min(q) < 5", backend.schemas(), "postgres").plan
    ranges = SlotRanges(Slot("t", "g"), Ranges("g", (2,)))
    kept = Maintainer(plan, FragmentNumbers((ranges,)), backend)
    assert kept.capture().parts[0].fragments == {1}
    for values in ([-3.25, 0.75], [-1234.5, -99999.25]):
        rows = pa.table({"g": [1, 2], "q": pa.array(map(Decimal, map(str, values)), pa.decimal128(9, 2))})
        backend.update("t", rows, None)
        kept.maintain()
        assert kept.sketch.parts[0].fragments == {0, 1}
    backend.close()
