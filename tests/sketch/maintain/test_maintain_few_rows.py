"""A delta of few rows, which is followed row by row, does what one of many does, column by column."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headwater.errors import DataError
from headwater.language.sql.parser import parse
from headwater.language.sql.scalars import Attribute, Compare, Value
from headwater.language.sql.tables import table_schema
from headwater.sketch.maintain import few_rows, row_tests, table_access
from headwater.sketch.maintain import merge as merging
from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.block_delta import BlockDelta
from headwater.sketch.maintain.compiling import compile_plan
from headwater.sketch.maintain.fragment_sets import FragmentSets
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.merge import Merge
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.maintain.row_tests import compile_test
from headwater.sketch.maintain.table_access import annotate
from headwater.sketch.ranges import Ranges, RangeValue
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.backend import TableDelta
from headwater.sketch.tables.integer_columns import integer_column
from headwater.sketch.tables.sql_backend import SqlBackend
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
    for module in (row_tests, table_access, merging, few_rows):
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


def few_of(condition: str, table: pa.Table, signs: list[int]) -> dict[int, int] | None:
    schemas = {"t": table_schema("t", "n int, price decimal(9,2), word string, weight double")}
    numbers = FragmentNumbers((SlotRanges(Slot("t", "n"), Ranges("n", (0, 10))),))
    block = compile_plan(parse(f"SELECT n FROM t WHERE {condition}", schemas).plan, numbers)
    assert isinstance(block, BlockDelta)
    few = block.few_rows()
    assert few is not None
    return few.added(TableDelta("t", 0, 1, table, np.array(signs)))


def test_rows_that_pass_add_their_signs_to_fragments():
    table = pa.table(
        {
            "n": [-5, 5, 7, None],
            "price": pa.array([Decimal("1.50"), Decimal(2), None, Decimal(9)], pa.decimal128(9, 2)),
            "word": ["a", "b", "c", "d"],
            "weight": [1.0, 2.0, 3.0, 4.0],
        }
    )
    signs = [1, -1, 2, 3]
    assert few_of("price > 1 AND price <= 9", table, signs) == {0: 1, 1: -1, 3: 3}
    assert few_of("n > 0 AND n <> 6", table, signs) == {1: 1}
    assert few_of("price > 9", table, signs) == {}
    assert few_of("word > 'a'", table, signs) is None
    assert few_of("weight > 1", table, signs) is None
    assert few_of("n > 0", pa.table({"n": [1] * 65, "price": [None] * 65}), [1] * 65) is None


QUERIES = (
    "SELECT count(*) FROM t WHERE n >= 3 AND n < 20 AND price BETWEEN 1.5 AND 4 AND day > DATE '1970-01-04'",
    "SELECT n FROM t WHERE n <> 5 AND (price < 2 OR price > 4) AND n > -1",
    "SELECT sum(n) FROM t WHERE n = 7 AND n < 9",
    "SELECT day FROM t WHERE n > 3 AND n < 2",
    "SELECT n FROM t WHERE price > 1.005 AND word LIKE 'a%'",
    "SELECT n FROM t",
    "SELECT n FROM t WHERE n IN (1, 2, 30) UNION ALL SELECT n FROM t WHERE n < 4",
)


@pytest.mark.parametrize("by", [("n",), ("price",), ("day", "n"), ("word",)])
@pytest.mark.parametrize("query", QUERIES)
def test_few_rows_are_followed_as_many_are(
    query: str, by: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Through a stream of changes, by what needs no annotated rows and by what makes them; both as captured anew."""
    at = random.Random(query)
    backend = SqlBackend(f"duckdb:///{tmp_path}/t.db")
    with backend.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (n INTEGER, price DECIMAL(9, 2), day DATE, word VARCHAR)")
    backend.table("t")
    bounds = {
        "n": (0, 4, 9, 20),
        "price": (Decimal("0.5"), Decimal("2.25"), Decimal(4)),
        "day": (datetime.date(1970, 1, 3), datetime.date(1970, 1, 9)),
        "word": ("ab", "b"),
    }
    numbers = FragmentNumbers(tuple(SlotRanges(Slot("t", name), Ranges(name, bounds[name])) for name in by))
    plan = parse(query, backend.schemas()).plan
    few, many, fresh = (Maintainer(plan, numbers, backend) for _ in range(3))
    few.capture()
    many.capture()
    kept: list[tuple[object, ...]] = []
    for _ in range(12):
        rows = [
            tuple(
                None if at.random() < 0.1 else value
                for value in (
                    at.randint(-3, 30),
                    Decimal(at.randint(0, 500)).scaleb(-2),
                    FIRST + datetime.timedelta(at.randint(0, 30)),
                    at.choice(("a", "abc", "b", "ca")),
                )
            )
            for _ in range(at.randint(1, 8))
        ]
        gone = [kept.pop(at.randrange(len(kept))) for _ in range(min(len(kept), at.randint(0, 6)))]
        kept += rows
        schema = pa.schema(
            [("n", pa.int64()), ("price", pa.decimal128(9, 2)), ("day", pa.date32()), ("word", pa.string())]
        )
        columns = [
            pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in each], schema)
            for each in (rows, gone)
        ]
        backend.update("t", *columns)
        done = few.maintain()
        with monkeypatch.context() as patch:
            by_columns(patch)
            assert many.maintain().delta == done.delta
        assert few.counts == many.counts
        assert few.sketch == fresh.capture()
    backend.close()
