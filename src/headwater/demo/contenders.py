"""Those who follow the changes: Headwater, and two that compute the views anew each time."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Protocol

import headwater as hw
from headwater.demo.scenario import PROGRAM, Row
from headwater.version.changes import Changes

REACH = """
CREATE OR REPLACE TABLE reach AS
WITH RECURSIVE reach(src, dst) AS (
  SELECT src, dst FROM link
  UNION
  SELECT link.src, reach.dst FROM link JOIN reach ON link.dst = reach.src
)
SELECT * FROM reach
"""
CHEAPEST = """
CREATE OR REPLACE TABLE cheapest AS
WITH RECURSIVE cheapest(src, dst, cost) USING KEY (src, dst) AS (
  SELECT src, dst, min(cost) FROM link GROUP BY ALL
  UNION
  SELECT new.src, new.dst, new.cost
  FROM (
    SELECT link.src AS src, cheapest.dst AS dst, min(link.cost + cheapest.cost) AS cost
    FROM link JOIN cheapest ON link.dst = cheapest.src
    GROUP BY ALL
  ) AS new
  LEFT JOIN recurring.cheapest AS old ON old.src = new.src AND old.dst = new.dst
  WHERE old.cost IS NULL OR new.cost < old.cost
)
SELECT * FROM cheapest
"""


class Contender(Protocol):
    """Something that holds links and the two views over them."""

    name: str

    def change(self, delete: Sequence[Row], insert: Sequence[Row]) -> object:
        """Take links away, add others, and bring both views up to date."""
        ...

    def rows(self, view: str) -> set[tuple[Any, ...]]:
        """All rows of a view."""
        ...


class HeadwaterViews:
    """A database in memory, with the strategy given."""

    def __init__(self, name: str, strategy: str):
        """Start with the rules and no links."""
        self.name = name
        self.database = hw.connect(strategy=strategy)
        self.database.define(PROGRAM)

    def change(self, delete: Sequence[Row], insert: Sequence[Row]) -> Changes:
        return self.database.apply(insert={"link": insert}, delete={"link": delete})

    def rows(self, view: str) -> set[tuple[Any, ...]]:
        """All rows of a view."""
        return set(self.database[view].rows())


class DuckDB:
    """Two recursive queries in DuckDB, run again after every change."""

    name = "DuckDB"

    def __init__(self) -> None:
        """Start with an empty table of links; raises `ImportError` where DuckDB is not installed."""
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("CREATE TABLE link(src VARCHAR, dst VARCHAR, cost BIGINT)")

    def change(self, delete: Sequence[Row], insert: Sequence[Row]) -> None:
        run = self.connection.execute
        run("BEGIN")
        if delete:
            run(
                "DELETE FROM link WHERE (src, dst, cost) IN (SELECT unnest(?), unnest(?), unnest(?))",
                _columns(delete),
            )
        if insert:
            run("INSERT INTO link SELECT unnest(?), unnest(?), unnest(?)", _columns(insert))
        run(REACH)
        run(CHEAPEST)
        run("COMMIT")

    def rows(self, view: str) -> set[tuple[Any, ...]]:
        """All rows of a view."""
        return set(self.connection.execute(f"FROM {view}").fetchall())


def _columns(rows: Sequence[Row]) -> list[list[str | int]]:
    return [list(column) for column in zip(*rows, strict=True)]


def others() -> list[Contender]:
    """Those that start over: Headwater's own way of doing so, and DuckDB if it is installed."""
    found: list[Contender] = [HeadwaterViews("recompute", "recompute")]
    with contextlib.suppress(ImportError):
        found.append(DuckDB())
    return found
