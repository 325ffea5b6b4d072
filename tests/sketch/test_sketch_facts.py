"""Facts about data: looked up in tables, and broken by rows that come."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from headwater.sketch.safety.checking import FactsOfBackend, broken_facts
from headwater.sketch.safety.facts import DataFact
from headwater.sketch.tables.backend import TableDelta
from headwater.sketch.tables.sql_backend import SqlBackend

POSITIVE, FILLED = DataFact("t", "v", ">=", 0), DataFact("t", "v", "not null")


@pytest.fixture
def backend(tmp_path: Path) -> SqlBackend:
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute('CREATE TABLE t (g BIGINT NOT NULL, v DECIMAL(12, 2), "day" DATE)')
        connection.execute("INSERT INTO t VALUES (1, 0.00, '2026-01-01'), (2, 5.50, NULL)")
    found = SqlBackend(f"duckdb:///{tmp_path / 't.db'}")
    found.table("t")
    return found


def test_facts_are_looked_up_in_the_table(backend: SqlBackend):
    known = FactsOfBackend(backend)
    assert known(POSITIVE) and known(FILLED)
    assert known(DataFact("t", "v", "<=", 6)) and not known(DataFact("t", "v", "<=", 5))
    assert known(DataFact("t", "g", "not null")) and not known(DataFact("t", "day", "not null"))
    assert known(DataFact("t", "day", ">=", datetime.date(2026, 1, 1)))
    assert not known(DataFact("t", "z", "not null"))


def test_a_fact_is_looked_up_again_at_another_version(backend: SqlBackend):
    known = FactsOfBackend(backend)
    assert known(POSITIVE)
    schema = pa.schema([("g", pa.int64()), ("v", pa.decimal128(12, 2)), ("day", pa.date32())])
    backend.update("t", pa.table([[3], [Decimal("-0.01")], [None]], schema=schema), None)
    assert not known(POSITIVE) and known(FILLED)


def delta(values: list[Any], signs: list[int], kind: pa.DataType) -> TableDelta:
    return TableDelta("t", 1, 2, pa.table({"v": pa.array(values, kind)}), np.asarray(signs, dtype=np.int64))


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(5, 0)])
def test_inserted_rows_break_facts_and_deleted_ones_do_not(kind: pa.DataType):
    facts = {POSITIVE, FILLED, DataFact("t", "v", "<=", 7), DataFact("s", "v", "not null")}
    assert broken_facts(facts, delta([1, 7], [1, 2], kind)) == frozenset()
    assert broken_facts(facts, delta([1, -1], [1, 1], kind)) == {POSITIVE}
    assert broken_facts(facts, delta([1, -1, None], [1, -1, -1], kind)) == frozenset()
    assert broken_facts(facts, delta([1, None], [1, 1], kind)) == {FILLED}
    assert broken_facts(facts, delta([8], [1], kind)) == {DataFact("t", "v", "<=", 7)}
    assert broken_facts(facts, delta([], [], kind)) == frozenset()


def test_nan_is_above_all_numbers():
    facts = {POSITIVE, DataFact("t", "v", "<=", 7)}
    assert broken_facts(facts, delta([float("nan"), 1.0], [1, 1], pa.float64())) == {
        DataFact("t", "v", "<=", 7)
    }


def test_a_column_that_was_not_fetched_counts_as_broken():
    fact = DataFact("t", "w", "not null")
    assert broken_facts([fact], delta([1], [1], pa.int64())) == {fact}
