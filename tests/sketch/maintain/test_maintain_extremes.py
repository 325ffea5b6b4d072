"""Extremes of columns whose types are only as wide as the values that came."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from headwater.sketch.maintain.extremes import Extreme


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
