"""A delta of few rows, which is followed row by row, does what one of many does, column by column."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headwater.errors import DataError
from headwater.language.sql.scalars import Attribute, Compare, Value
from headwater.sketch.maintain import merge as merging
from headwater.sketch.maintain import row_tests, table_access
from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.fragment_sets import FragmentSets
from headwater.sketch.maintain.merge import Merge
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.maintain.row_tests import compile_test
from headwater.sketch.maintain.table_access import annotate
from headwater.sketch.ranges import Ranges, RangeValue
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.backend import TableDelta
from headwater.sketch.tables.integer_columns import integer_column
from headwater.values.types import INT

FIRST = datetime.date(1969, 12, 20)
MADE: dict[str, tuple[Any, Callable[[int], Any], Callable[[int], Any]]] = {
    "whole": (pa.int64(), lambda n: n, lambda n: n),
    "small": (pa.int8(), lambda n: n, lambda n: 300 * n),
    "largest": (pa.int64(), lambda n: 2**63 - 41 + n, lambda n: 2**63 - 41 + 2 * n),
    "date": (pa.date32(), lambda n: FIRST + datetime.timedelta(n), lambda n: FIRST + datetime.timedelta(n)),
    "decimal": (pa.decimal128(9, 2), lambda n: Decimal(n).scaleb(-2), lambda n: Decimal(n).scaleb(-2)),
    "finer bounds": (pa.decimal128(9, 2), lambda n: Decimal(n).scaleb(-2), lambda n: Decimal(n).scaleb(-3)),
    "whole bounds": (pa.decimal128(9, 1), lambda n: Decimal(n).scaleb(-1), lambda n: n),
    "decimal bounds": (pa.int32(), lambda n: n, lambda n: Decimal(n).scaleb(-1)),
}
"""Types of columns with what makes their values, and bounds of their ranges, of numbers from -40 to 40."""
OTHERS = {"float": pa.float64(), "float bounds": pa.int64(), "wide decimal": pa.decimal128(30, 2)}


def some_ranges(at: random.Random, make: Callable[[int], RangeValue]) -> Ranges:
    numbers = sorted(at.sample(range(-40, 41), at.randint(0, 12)))
    return Ranges("x", tuple(make(number) for number in numbers))


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("seed", range(12))
def test_fragments_of_few_are_those_of_columns(kind: str, seed: int):
    at = random.Random(seed)
    type, value, bound = MADE[kind]
    ranges = some_ranges(at, bound)
    column = pa.array(
        [None if at.random() < 0.2 else value(at.randint(-40, 40)) for _ in range(30)], type
    ).slice(at.randint(0, 9))
    integers = integer_column(column)
    assert integers is not None
    rows = at.sample(range(len(column)), 15)
    found = ranges.fragments_of_few(integers, rows)
    assert found == ranges.fragments(column)[rows].tolist()
    assert found == [ranges.fragment(column[row].as_py()) for row in rows]


def test_other_bounds_are_left_to_columns():
    whole = integer_column(pa.array([1, None]))
    days = integer_column(pa.array([FIRST]))
    assert whole is not None and days is not None
    assert Ranges("x", (0.5, 1.5)).fragments_of_few(whole, [0, 1]) is None
    assert Ranges("x", (FIRST,)).fragments_of_few(whole, [0]) is None
    assert Ranges("x", (1,)).fragments_of_few(days, [0]) is None
    assert Ranges("x", (datetime.datetime(1970, 1, 1),)).fragments_of_few(days, [0]) is None


def by_columns(patch: pytest.MonkeyPatch) -> None:
    for module in (row_tests, table_access, merging):
        patch.setattr(module, "FEW_ROWS", -1)


@pytest.mark.parametrize("kind", [*MADE, *OTHERS])
@pytest.mark.parametrize("seed", range(8))
def test_few_rows_are_annotated_and_merged_as_many_are(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch):
    at = random.Random(seed)
    type, value, bound = MADE.get(kind) or (OTHERS[kind], lambda n: n, lambda n: n / 4)
    if kind == "wide decimal":
        value, bound = (lambda n: Decimal(n)), (lambda n: Decimal(n))
    numbers = FragmentNumbers(
        tuple(
            SlotRanges(Slot("t", name), Ranges(name, some_ranges(at, made).bounds))
            for name, made in (("x", bound), ("y", lambda n: n))[: at.randint(1, 2)]
        )
    )
    rows = at.randint(1, 12)
    values = [None if at.random() < 0.2 else value(at.randint(-40, 40)) for _ in range(rows)]
    if kind == "float":
        values[0] = float("nan")
    others = [None if at.random() < 0.2 else at.randint(-40, 40) for _ in range(rows)]
    table = pa.table({"x": pa.array(values, type), "y": pa.array(others, pa.int64())})
    delta = TableDelta("t", 0, 1, table, np.array([at.choice((1, 1, -1, 3)) for _ in range(rows)]))
    limit = Value(at.choice((-50, 0, 20, 50)), INT)
    test = compile_test(Compare("<", Attribute(0, "y", INT), limit))
    assert test is not None
    state = np.array([at.choice((0, 1, 3, 20)) for _ in range(numbers.total)])

    def followed() -> tuple[Any, ...]:
        fresh = TableDelta("t", 0, 1, delta.rows, delta.signs)
        annotated = annotate(fresh, {0: "y", 1: "x"}, numbers, [test], {1: "x"})
        merge = Merge(numbers.total)
        merge.state = state.copy()
        try:
            change: object = merge.change(annotated)
        except DataError as refused:
            change = refused.code
        seen = annotated.columns[1].to_pylist(), annotated.counts.tolist(), annotated.fragments.sets().rows()
        return repr(seen), change, merge.state.tolist()

    few = followed()
    by_columns(monkeypatch)
    assert few == followed()


@pytest.mark.parametrize("seed", range(30))
def test_few_fragments_are_merged_as_many_are(seed: int, monkeypatch: pytest.MonkeyPatch):
    at = random.Random(seed)
    few, many = Merge(6), Merge(6)
    for _ in range(10):
        sets = FragmentSets.of([set(at.sample(range(6), at.randint(0, 4))) for _ in range(at.randint(1, 5))])
        rows = AnnotatedRows({}, np.array([at.choice((1, 2, -1)) for _ in range(len(sets))]), sets)
        results: list[object] = []
        for merge, limit in ((few, 64), (many, -1)):
            monkeypatch.setattr(merging, "FEW_ROWS", limit)
            try:
                results.append(merge.change(rows))
            except DataError as refused:
                results.append(refused.code)
        assert results[0] == results[1]
        assert few.state.tolist() == many.state.tolist()
