"""One PostgreSQL server and one Spark session for all tests of a process; the oracle's settings serve here too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

for folder in ("oracle", "exchange", "pipeline", "language"):
    sys.path.append(str(Path(__file__).parent.parent / folder))

if TYPE_CHECKING:
    import postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    import postgres_server

    try:
        server = postgres_server.start()
    except postgres_server.NoServer as error:
        pytest.skip(str(error))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Two threads, in a zone that is not UTC, as for pipelines."""
    from quick_java import quick

    import headwater as hw

    session = hw.spark_session(
        "local[2]",
        conf={
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.session.timeZone": "America/New_York",
            "spark.driver.memory": "1g",
            **quick(),
        },
    )
    yield session
    session.stop()


@pytest.fixture(params=["duckdb", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "duckdb":
        return f"duckdb:///{tmp_path}/t.db"
    return request.getfixturevalue("postgres").new_database()
