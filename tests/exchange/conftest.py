"""One PostgreSQL server for all tests of a process, started when the first one asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import postgres_server
import pytest


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    try:
        server = postgres_server.start()
    except postgres_server.NoServer as error:
        pytest.skip(str(error))
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql", "decoding", "duckdb", "delta", "parquet"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """The address of a new database of each kind, and how it is captured."""
    kind = request.param
    if kind in ("postgresql", "decoding"):
        server = request.getfixturevalue("postgres")
        return server.new_database(), "auto" if kind == "postgresql" else "decoding"
    if kind in ("delta", "parquet"):
        return f"{kind}://{tmp_path / 'tables'}", "auto"
    return f"{kind}:///{tmp_path / 'peer.db'}", "auto"
