"""What is known of a DuckDB file's tables without asking is forgotten as soon as anybody writes to it."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.sketch.tables import known_versions
from headwater.sketch.tables.backend import WantedRows
from headwater.sketch.tables.sql_backend import SqlBackend

ALL = {"t": WantedRows(), "u": WantedRows()}


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(known_versions, "COARSEST_TIME", 0)  # the file is only just made
    found = SqlBackend(f"duckdb:///{tmp_path}/t.db")
    with found.engine.begin() as connection:
        for name in ("t", "u"):
            connection.exec_driver_sql(f"CREATE TABLE {name} AS SELECT range AS x FROM range(10)")
    for name in ("t", "u"):
        found.table(name)
    yield found
    found.close()


def rows(*values: int) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.int64())})


class Statements:
    """Counts what is asked of a database."""

    def __init__(self, backend: SqlBackend, monkeypatch: pytest.MonkeyPatch):
        self.asked = 0
        plain = backend._records.glance

        def counted(*given):
            self.asked += 1
            return plain(*given)

        monkeypatch.setattr(backend._records, "glance", counted)

    def since(self, backend: SqlBackend, table: str, version: int) -> tuple[int, int]:
        """The version a table has now, and how many statements it took to know."""
        before = self.asked
        found = backend.news({table: version}, ALL).versions[table]
        return found, self.asked - before


def test_what_was_changed_here_is_known(backend: SqlBackend, monkeypatch: pytest.MonkeyPatch):
    told = Statements(backend, monkeypatch)
    assert told.since(backend, "t", 0) == (0, 1)
    assert told.since(backend, "t", 0) == (0, 0)
    for version in (1, 2, 3):
        assert backend.update("t", rows(version), None) == version
        assert told.since(backend, "t", version - 1) == (version, 0)
        assert told.since(backend, "t", 0) == (version, 0)


def test_a_table_that_was_not_changed_is_asked_for_once_more(
    backend: SqlBackend, monkeypatch: pytest.MonkeyPatch
):
    told = Statements(backend, monkeypatch)
    told.since(backend, "u", 0)
    backend.update("t", rows(1), None)
    assert told.since(backend, "u", 0) == (0, 1)
    assert told.since(backend, "u", 0) == (0, 0)


def test_what_another_connection_writes_is_noticed(backend: SqlBackend, monkeypatch: pytest.MonkeyPatch):
    told = Statements(backend, monkeypatch)
    for written in (
        "INSERT INTO t VALUES (99)",
        "DELETE FROM t WHERE x = 99",
        "INSERT INTO t SELECT range FROM range(300000)",
        "DELETE FROM t WHERE x > 5",
        "CHECKPOINT",
        "INSERT INTO t VALUES (100)",
    ):
        version = backend.version("t")
        told.since(backend, "t", version)
        assert told.since(backend, "t", version) == (version, 0)
        with backend.engine.connect() as connection:
            connection.exec_driver_sql(written)
            connection.commit()
        assert told.asked and backend._known.of(["t"]) is None
        if written != "CHECKPOINT":
            assert backend.version("t") == version + 1


def test_another_backend_is_noticed_while_it_is_there_and_afterwards(
    backend: SqlBackend, monkeypatch: pytest.MonkeyPatch
):
    told = Statements(backend, monkeypatch)
    told.since(backend, "t", 0)
    other = SqlBackend(str(backend.engine.url))
    other.table("t")
    other.update("t", rows(1), None)
    assert told.since(backend, "t", 0) == (1, 1)
    assert told.since(backend, "t", 1) == (1, 1)  # whoever has a connection may be about to write
    other.close()
    assert told.since(backend, "t", 1) == (1, 1)
    assert told.since(backend, "t", 1) == (1, 0)


def test_a_thread_in_a_transaction_may_be_about_to_write(
    backend: SqlBackend, monkeypatch: pytest.MonkeyPatch
):
    told = Statements(backend, monkeypatch)
    begun, ended = threading.Event(), threading.Event()

    def write() -> None:
        with backend.moment():
            backend.update("t", rows(1), None)
            begun.set()
            ended.wait(10)

    thread = threading.Thread(target=write)
    thread.start()
    assert begun.wait(10)
    assert told.since(backend, "t", 0) == (0, 1)
    assert told.since(backend, "t", 0) == (0, 1)
    ended.set()
    thread.join()
    assert told.since(backend, "t", 0) == (1, 1)
    assert told.since(backend, "t", 1) == (1, 0)


def test_a_database_in_memory_is_always_asked(monkeypatch: pytest.MonkeyPatch):
    backend = SqlBackend("duckdb:///:memory:")
    with backend.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t AS SELECT range AS x FROM range(10)")
    backend.table("t")
    told = Statements(backend, monkeypatch)
    assert [told.since(backend, "t", 0) for _ in range(2)] == [(0, 1), (0, 1)]
    backend.close()


def test_a_file_that_was_written_a_moment_ago_is_not_trusted(
    backend: SqlBackend, monkeypatch: pytest.MonkeyPatch
):
    """It may be written again at what counts as the same time."""
    monkeypatch.setattr(known_versions, "COARSEST_TIME", 10**18)
    told = Statements(backend, monkeypatch)
    assert [told.since(backend, "t", 0) for _ in range(2)] == [(0, 1), (0, 1)]
