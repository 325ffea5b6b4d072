"""Ranges beside DuckDB: every value has a fragment, and merged intervals hold exactly the rows of theirs."""

from __future__ import annotations

import datetime
import decimal
import math

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import examples

from headwater.errors import SketchError
from headwater.sketch.ranges import Ranges, equi_depth

KINDS = {
    "int": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 20)),
    "small int": (pa.int16(), st.integers(-9, 9)),
    "float": (pa.float64(), st.floats(allow_nan=True) | st.sampled_from([0.0, -0.0, 1.5, -1.5])),
    "string": (pa.string(), st.text(alphabet="abÄ字🙂 z", max_size=3)),
    "date": (pa.date32(), st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))),
    "timestamp": (
        pa.timestamp("us"),
        st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
    ),
    "decimal": (pa.decimal128(12, 2), st.integers(-500, 500).map(lambda n: decimal.Decimal(n) / 100)),
    "wide decimal": (
        pa.decimal128(30, 4),
        st.integers(-(10**20), 10**20).map(lambda n: decimal.Decimal(n).scaleb(-4)),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(12))
@given(data=st.data())
def test_fragments_are_those_that_duckdb_finds_by_intervals(kind: str, data: st.DataObject):
    type_, values = KINDS[kind]
    column = pa.array(data.draw(st.lists(st.none() | values, max_size=30)), type_)
    wanted = data.draw(st.integers(1, 8))
    ranges = equi_depth("x", column, wanted)
    assert ranges.count <= wanted + 1
    found = ranges.fragments(column)
    assert found.tolist() == [ranges.fragment(value) for value in column.to_pylist()]
    chosen = data.draw(st.sets(st.integers(0, ranges.count - 1)))
    table = pa.table({"row": pa.array(range(len(column)), pa.int64()), "x": column})
    expected = {row for row, fragment in enumerate(found.tolist()) if fragment in chosen}
    assert duckdb_rows(table, ranges, chosen) == expected


def duckdb_rows(table: pa.Table, ranges: Ranges, chosen: set[int]) -> set[int]:
    """Rows of these fragments, by DuckDB's comparisons."""
    conditions, values = ["false"], []
    for interval in ranges.intervals(chosen):
        ends = []
        for bound, compare in ((interval.lower, ">="), (interval.upper, "<")):
            if bound is not None:
                ends.append(f"x {compare} ?")
                values.append(bound)
        conditions.append(f"({' AND '.join(ends)})" if ends else "x IS NOT NULL")
    if ranges.null_fragment in chosen:
        conditions.append("x IS NULL")
    with duckdb.connect() as connection:
        connection.register("t", table)
        return {
            row
            for (row,) in connection.execute(
                f"SELECT row FROM t WHERE {' OR '.join(conditions)}", values
            ).fetchall()
        }


def test_the_ranges_of_the_paper():
    """Figure 1: s1 to s7 lie in f1, f1, f3, f4, f3, f2, f2 (fragments are counted from 0 here)."""
    ranges = Ranges("price", (601, 1001, 1501))
    prices = pa.array([349, 449, 1199, 3875, 1345, 999, 899])
    assert ranges.fragments(prices).tolist() == [0, 0, 2, 3, 2, 1, 1]


def test_ranges_hold_about_as_many_rows_each():
    ranges = equi_depth("x", pa.array(range(10_000)), 100)
    counts = [0] * ranges.count
    for fragment in ranges.fragments(pa.array(range(10_000))):
        counts[fragment] += 1
    assert ranges.count == 101
    assert min(counts[:-1]) >= 99
    assert max(counts) <= 101


def test_a_value_that_fills_several_ranges_has_one():
    assert equi_depth("x", pa.array([1] * 50 + [2] * 50 + [3]), 10).bounds == (2,)
    assert equi_depth("x", pa.array([7] * 9), 10).bounds == ()


def test_coarser_ranges_are_made_of_whole_ones():
    ranges = equi_depth("x", pa.array(range(1000)), 100)
    coarse = ranges.coarser(12)
    assert coarse.count <= 12
    assert set(coarse.bounds) < set(ranges.bounds)


@pytest.mark.parametrize("bounds", [(3, 1), (1, 1), (math.nan,), (None, 2)])
def test_bounds_that_are_none_are_refused(bounds):
    with pytest.raises(SketchError, match="bad-ranges"):
        Ranges("x", bounds)


@pytest.mark.parametrize("count", [3, 4, 5, 10**30])
def test_more_ranges_than_values_are_one_for_each_value(count: int):
    assert equi_depth("x", pa.array([4, 1, 3, 2]), count).bounds == ((3, 4) if count == 3 else (2, 3, 4))
