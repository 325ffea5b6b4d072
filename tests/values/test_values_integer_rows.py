"""Rows of integers, taken in at once: the same as one by one, and only where all values are plain integers."""

from __future__ import annotations

import enum
import random
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.errors import DataError
from headwater.values.integer_rows import ROWS_READ_AT_ONCE, integer_columns


class Level(enum.IntEnum):
    LOW = 1


class Number(int):
    pass


@pytest.mark.parametrize(
    "count", [1, 64, ROWS_READ_AT_ONCE - 1, ROWS_READ_AT_ONCE, 2 * ROWS_READ_AT_ONCE + 3]
)
@pytest.mark.parametrize("arity", [1, 2, 7, 40])
def test_integers_are_as_they_were(arity: int, count: int):
    choose = random.Random(arity * count)
    edges = [0, 1, -1, 105, 40, 2**31 - 1, -(2**31)]
    rows = [
        tuple(choose.choice([*edges, choose.randrange(10**6)]) for _ in range(arity)) for _ in range(count)
    ]
    columns = integer_columns(rows)
    assert columns is not None and all(column.dtype == np.int64 for column in columns)
    assert [column.tolist() for column in columns] == [list(column) for column in zip(*rows, strict=True)]


def str_of_class(value: Any) -> str:
    return f"{type(value).__name__}"


ODD: list[Any] = [
    True,
    1.0,
    2**31,
    -(2**31) - 1,
    2**70,
    None,
    "i",
    b"i",
    (1,),
    1j,
    np.int64(1),
    np.True_,
    Level.LOW,
]


@pytest.mark.parametrize("odd", [*ODD, Number(1), [1], object()], ids=str_of_class)
@pytest.mark.parametrize("place", [0, 3, ROWS_READ_AT_ONCE, ROWS_READ_AT_ONCE + 99])
def test_one_other_value_is_enough(odd: Any, place: int):
    rows = [(number, number + 1, 7) for number in range(ROWS_READ_AT_ONCE + 100)]
    rows[place] = (5, odd, 6)
    assert integer_columns(rows) is None


@pytest.mark.parametrize("row", [(1,), (1, 2), (1, 2, 3, 4), [1, 2, 3], (), "abc", {1: 2}, 5, None], ids=repr)
@pytest.mark.parametrize("place", [0, 3, 99])
def test_one_other_row_is_enough(row: Any, place: int):
    """A longer row and a shorter one may have the length of two others together."""
    rows: list[Any] = [(number, number + 1, 7) for number in range(100)]
    rows[place] = row
    rows[50] = (1, 2, 3, 4, 5) if row == (1,) else rows[50]
    assert integer_columns(rows) is None


@pytest.mark.parametrize("type", ["int", "float", "string", "bool", "decimal(6, 2)", "date", "timestamp"])
def test_columns_of_all_types_take_or_refuse_many_integers_as_they_do_few(type: str):
    rows = [(number, number % 3) for number in range(-100, 100)]
    with hw.connect() as many, hw.connect() as few:
        found: list[Any] = []
        for db, pieces in ((many, [rows]), (few, [rows[start : start + 20] for start in range(0, 200, 20)])):
            db.define(f".decl pair(a: {type}, b: int)")
            try:
                for piece in pieces:
                    db.apply(insert={"pair": piece})
                found.append(sorted(db["pair"]))
            except DataError as error:
                found.append((error.code, str(error).partition("\n")[0]))
        assert found[0] == found[1]
