"""Tables and columns with names that nobody should choose: quoted everywhere, and never taken for another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from headwater.exchange.edit import Edit
from headwater.exchange.wrappers.open import open_wrapper
from headwater.exchange.wrappers.wrapper import InstanceChange, WrappedColumn, WrappedTable
from headwater.values.types import INT, STRING

LONG = "a_table_with_a_name_that_is_as_long_as_a_name_can_be_and_more"
NAMES = (
    "Order", "select", "UPPER", "x%y", "%s", "%(a)s", "%%", 'a"b', "a'b", "ünïcode 表", "a;b--", "$headwater0$",
    "a:b", "a\\b", "`tick`", " spaces ", "{}", "$1", "user", f"{LONG}1", f"{LONG}2", "é" * 31,
)  # fmt: skip
"""The long ones differ in their last byte, the 62nd, and ours for them would differ beyond the 63rd."""


def table(name: str) -> WrappedTable:
    return WrappedTable(name, name, (WrappedColumn(name, STRING), WrappedColumn("n", INT, labelled=True)))


@pytest.fixture(params=["sqlite", "postgresql", "decoding", "duckdb"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    if request.param in ("sqlite", "duckdb"):
        return f"{request.param}:///{tmp_path / 'odd'}", "auto"
    server = request.getfixturevalue("postgres")
    return server.new_database(), "decoding" if request.param == "decoding" else "auto"


def test_every_name_is_a_name(address: tuple[str, str]) -> None:
    tables = [table(name) for name in NAMES]
    wrapper = open_wrapper("odd", address[0], tables, address[1])  # type: ignore[arg-type]
    try:
        mark = wrapper.capture({}).mark
        wrapper.apply({name: InstanceChange(inserted=[(name, 1)]) for name in NAMES}, 1)
        assert wrapper.rows() == {name: {(name, 1)} for name in NAMES}
        if address[0].startswith("duckdb"):
            return  # one process at a time
        by_users(address[0])
        captured = [edit for each in wrapper.capture(mark).transactions for edit in each]
        assert sorted(captured, key=str) == sorted(
            [Edit(sign, name, (name, n)) for name in NAMES for sign, n in (("-", 1), ("+", 2))],  # type: ignore[arg-type]
            key=str,
        )
        wrapper.apply({name: InstanceChange(deleted=[(name, 2)]) for name in NAMES}, 2)
        assert wrapper.rows() == {name: set() for name in NAMES}
    finally:
        wrapper.close()
    open_wrapper("odd", address[0], tables, address[1]).close()  # type: ignore[arg-type]


def by_users(url: str) -> None:
    """Users change the number of the row of each table."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for name in NAMES:
            made: Any = sa.table(sa.sql.quoted_name(name, True), sa.column("n"))
            connection.execute(made.update().values(n=2))
    engine.dispose()
