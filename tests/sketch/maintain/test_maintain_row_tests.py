"""Tests of rows by integers say what Arrow says of the same condition."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from headwater.language.sql.scalars import And, Attribute, Compare, InList, IsNull, Not, Or, Scalar, Value
from headwater.sketch.maintain.columnwise import compile_scalar, holds
from headwater.sketch.maintain.row_tests import RowTest, _GivenColumns, compile_test
from headwater.sketch.tables.integer_columns import FEW_ROWS
from headwater.values.types import DATE, INT, decimal_of

PRICE = decimal_of(15, 2)
COLUMNS = {0: ("i", INT), 1: ("d", DATE), 2: ("p", PRICE), 3: ("q", PRICE), 4: ("j", INT)}
ATTRIBUTES = {id: Attribute(id, name, type) for id, (name, type) in COLUMNS.items()}
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
FIRST = datetime.date(1969, 12, 20)


def columns(at: random.Random, rows: int) -> dict[int, pa.Array]:
    def some(make):
        return [None if at.random() < 0.2 else make() for _ in range(rows)]

    found = {
        0: pa.array(some(lambda: at.randint(-3, 3)), at.choice((pa.int64(), pa.int32(), pa.int8()))),
        1: pa.array(some(lambda: FIRST + datetime.timedelta(days=at.randint(0, 20))), pa.date32()),
        2: pa.array(some(lambda: Decimal(at.randint(-300, 300)) / 100), pa.decimal128(15, 2)),
        3: pa.array(some(lambda: Decimal(at.randint(-300, 300)) / 100), pa.decimal128(15, 2)),
        4: pa.array(some(lambda: at.randint(-3, 3)), pa.int64()),
    }
    cut = at.randint(0, rows // 2)  # arrays that begin in the middle of their buffers
    return {id: column.slice(cut) for id, column in found.items()}


def constant(at: random.Random, id: int) -> Value:
    match id:
        case 0 | 4:
            return Value(at.choice((at.randint(-3, 3), 10**12, -(10**12))), INT)
        case 1:
            return Value(FIRST + datetime.timedelta(days=at.randint(-1, 21)), DATE)
        case _:
            number = at.choice((Decimal(at.randint(-30, 30)) / 10, at.randint(-3, 3), Decimal("0.055")))
            return Value(number, INT if isinstance(number, int) else None)


def condition(at: random.Random, depth: int) -> Scalar:
    if depth and at.random() < 0.6:
        parts = tuple(condition(at, depth - 1) for _ in range(at.randint(1, 3)))
        return at.choice((And, Or))(parts) if at.random() < 0.9 else Not(parts[0])
    left, right = at.choice(((0, 4), (2, 3), (1, 1), (0, 0)))
    match at.randint(0, 4):
        case 0:
            return Compare(at.choice(OPERATORS), ATTRIBUTES[left], ATTRIBUTES[right])
        case 1:
            id = at.choice((0, 1, 2))
            return InList(ATTRIBUTES[id], tuple(constant(at, id) for _ in range(at.randint(1, 3))))
        case 2:
            return IsNull(ATTRIBUTES[at.choice((0, 1, 2))])
        case _:
            id = at.choice(tuple(COLUMNS))
            return Compare(at.choice(OPERATORS), ATTRIBUTES[id], constant(at, id))


@pytest.mark.parametrize("seed", range(300))
def test_a_test_says_what_arrow_says(seed: int):
    at = random.Random(seed)
    asked = condition(at, 3)
    test, plain = compile_test(asked), compile_scalar(asked)
    assert (test is None) == (plain is None)
    if test is None or plain is None:
        return
    for rows in (7, 3, 0, 3 * FEW_ROWS):
        given = columns(at, rows)
        count = len(given[0])
        assert np.array_equal(test(given, count), holds(plain(given), count)), asked
        found = compile_test(asked)
        assert found is not None
        places = found.places(_GivenColumns(given), count)
        assert places.dtype == np.int64
        assert places.tolist() == np.flatnonzero(holds(plain(given), count)).tolist(), asked


def test_most_are_computed_over_integers():
    """Else the test above would compare Arrow with itself."""

    def by_integers(seed: int) -> bool:
        at = random.Random(seed)
        test = compile_test(condition(at, 3))
        if test is None:
            return False
        given = columns(at, 8)
        test(given, len(given[0]))
        return isinstance(test, RowTest) and test._by_integers is not None

    assert sum(map(by_integers, range(300))) > 100


def test_decimals_of_many_digits_are_left_to_arrow():
    wide = Attribute(0, "x", decimal_of(30, 2))
    test = compile_test(Compare(">", wide, Value(Decimal("1.5"), None)))
    assert test is not None
    column = pa.array([Decimal(10) ** 25, Decimal(-1), None], pa.decimal128(30, 2))
    assert test({0: column}, 3).tolist() == [True, False, False]
