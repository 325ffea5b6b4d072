"""Changes that are at hand are taken for a version's only if the record of the database says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from headwater.errors import SketchError
from headwater.sketch.tables.backend import TableDelta, WantedRows
from headwater.sketch.tables.integer_columns import integer_column
from headwater.sketch.tables.recent_changes import MOST_ROWS_AT_HAND, RecentChange, RecentChanges
from headwater.sketch.tables.sql_backend import SqlBackend

ALL = {"t": WantedRows()}


@pytest.fixture
def backend(tmp_path: Path):
    found = SqlBackend(f"duckdb:///{tmp_path}/t.db")
    with found.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(x, y)")
    found.table("t")
    yield found
    found.close()


def rows(*pairs: tuple[int, str]) -> pa.Table:
    return pa.table({"x": [x for x, _ in pairs], "y": [y for _, y in pairs]})


def since(backend: SqlBackend, version: int) -> dict[tuple[int, str], int]:
    delta = backend.news({"t": version}, ALL).deltas["t"]
    cells = (tuple(row.values()) for row in delta.rows.to_pylist())
    return dict(zip(cells, delta.signs.tolist(), strict=True))  # type: ignore[arg-type]


def test_what_went_through_here_is_not_read_back(backend: SqlBackend, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(backend._changes, "read", None)
    backend.update("t", rows((3, "c"), (4, "d")), None)
    backend.update("t", None, rows((3, "c")))
    assert since(backend, 0) == {(4, "d"): 1}
    assert since(backend, 1) == {(3, "c"): -1}


def test_changes_of_another_backend_are_read(backend: SqlBackend):
    other = SqlBackend(str(backend.engine.url))
    other.table("t")
    backend.update("t", rows((3, "c")), None)
    other.update("t", rows((4, "d")), None)
    backend.update("t", rows((5, "e")), None)
    assert since(backend, 0) == since(other, 0) == {(3, "c"): 1, (4, "d"): 1, (5, "e"): 1}
    assert since(backend, 2) == {(5, "e"): 1}
    other.close()


def test_a_version_that_was_taken_back_leaves_nothing(backend: SqlBackend):
    with pytest.raises(RuntimeError), backend.moment():
        backend.update("t", rows((3, "c")), None)
        raise RuntimeError
    other = SqlBackend(str(backend.engine.url))
    other.table("t")
    other.update("t", rows((4, "d")), None)
    assert since(backend, 0) == {(4, "d"): 1}
    other.close()


def test_what_columns_round_is_read_back(tmp_path: Path):
    """A float of 32 bits is not what was given."""
    backend = SqlBackend(f"duckdb:///{tmp_path}/r.db")
    with backend.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x INTEGER, y REAL)")
    backend.table("t")
    backend.update("t", pa.table({"x": [1], "y": [0.1]}), None)
    (found,) = backend.news({"t": 0}, ALL).deltas["t"].rows.to_pylist()
    assert found["y"] != 0.1 and abs(found["y"] - 0.1) < 1e-6
    backend.close()


def test_rows_that_nobody_recorded_are_not_known(backend: SqlBackend):
    backend.update("t", rows((3, "c")), None)
    with backend.engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (9, 'z')")
    with pytest.raises(SketchError, match="no-changes"):
        backend.news({"t": 0}, ALL)
    assert backend.version("t") == 2
    backend.update("t", rows((4, "d")), None)
    assert since(backend, 2) == {(4, "d"): 1}


def test_little_is_kept():
    recent, many = RecentChanges(), MOST_ROWS_AT_HAND // 2 + 1
    table = pa.table({"x": pa.repeat(1, many)})
    for version in (1, 2):
        delta = TableDelta("t", version - 1, version, table, np.ones(many, np.int64))
        recent.remember("t", RecentChange(version - 1, version, delta))
    assert recent.between("t", 0, 2, 2) is None
    assert [change.version for change in recent.between("t", 1, 2, 2) or ()] == [2]
    assert recent.between("t", 1, 2, 7) is None


def test_of_fewer_columns_rows_that_come_and_go_are_net(backend: SqlBackend):
    """One version takes (1, 'a') away and brings (1, 'z'): of x alone nothing has changed."""
    backend.update("t", rows((1, "z"), (7, "q")), rows((1, "a")))
    delta = backend.news({"t": 0}, {"t": WantedRows(frozenset({"x"}))}).deltas["t"]
    assert delta.rows.column("x").to_pylist() == [7] and delta.signs.tolist() == [1]


def test_all_who_ask_for_a_change_share_its_columns(backend: SqlBackend):
    """What is read of one change is made of the next one when it comes."""
    backend.update("t", rows((3, "c")), None)
    first = backend.news({"t": 0}, {"t": WantedRows(frozenset({"x"}))}).deltas["t"]
    assert backend.news({"t": 0}, ALL).deltas["t"] is first
    assert first.integers("x") is first.integers("x") and first.integers("y") is None
    backend.update("t", rows((4, "d")), None)
    second = backend.news({"t": 1}, ALL).deltas["t"]
    found = second._integers["x"]
    assert found is not None and found.values.tolist() == [4]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.date32(), pa.decimal128(12, 0)])
def test_a_part_of_a_column_is_read_from_where_it_begins(kind: pa.DataType):
    column = pa.array([1, 2, None, 4, 5], pa.int32()).cast(kind).slice(1, 3)
    found = integer_column(column)
    assert found is not None and found.missing is not None
    assert found.missing.tolist() == [False, True, False]
    assert found.values[[0, 2]].tolist() == [2, 4] and (found.scale is None) == (kind == pa.date32())
    nothing = integer_column(column.slice(0, 0))
    assert nothing is not None and not len(nothing.values)
