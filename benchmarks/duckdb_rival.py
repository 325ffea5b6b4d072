"""DuckDB as users would use it for views: base tables that change, and the view computed anew into a table.

Only the computation is timed. Bringing the base tables up to date is not, nor is reading the result.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.errors import MissingExtra

THREADS = 2


class Duck:
    """A database in memory with one table named `answer`."""

    def __init__(self, threads: int = THREADS) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise MissingExtra(
                "missing-extra", "duckdb is not installed", hint="pip install 'headwater[bench]'"
            ) from error
        self._connection = duckdb.connect()
        self._connection.execute(f"SET threads = {threads}")
        self._columns: dict[str, tuple[str, ...]] = {}

    def create(self, table: str, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """A new base table."""
        self._columns[table] = tuple(columns)
        with _Given(self._connection, dict(columns)) as given:
            self._connection.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM {given}")

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows to a base table."""
        if rows:
            with _Given(self._connection, self._named(table, rows)) as given:
                self._connection.execute(f"INSERT INTO {table} SELECT * FROM {given}")

    def delete(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Take rows out of a base table."""
        if rows:
            equal = " AND ".join(f"{table}.{name} = given.{name}" for name in self._columns[table])
            with _Given(self._connection, self._named(table, rows)) as given:
                self._connection.execute(f"DELETE FROM {table} USING {given} AS given WHERE {equal}")

    def recompute(self, query: str) -> float:
        """Compute the query into the table `answer`; return the seconds that took."""
        statement = f"CREATE OR REPLACE TABLE answer AS {query}"
        started = time.perf_counter()
        self._connection.execute(statement)
        return time.perf_counter() - started

    def answer(self) -> list[npt.NDArray[Any]]:
        """The columns of what was computed last."""
        found = self._connection.execute("SELECT * FROM answer").fetchnumpy()
        return [np.asarray(column) for column in found.values()]

    def close(self) -> None:
        """Give the memory back."""
        self._connection.close()

    def _named(self, table: str, rows: Sequence[Sequence[Any]]) -> dict[str, npt.NDArray[Any]]:
        columns = zip(*rows, strict=True)
        return {name: np.asarray(values) for name, values in zip(self._columns[table], columns, strict=True)}


class _Given:
    """Columns that a statement can read under a name, for as long as it runs."""

    def __init__(self, connection: Any, columns: Mapping[str, npt.NDArray[Any]]):
        self._connection = connection
        self._columns = columns

    def __enter__(self) -> str:
        import pyarrow as pa

        self._connection.register("given_rows", pa.table(dict(self._columns)))
        return "given_rows"

    def __exit__(self, *error: object) -> None:
        self._connection.unregister("given_rows")
