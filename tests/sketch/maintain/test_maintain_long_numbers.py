"""Constants, values and sums of more digits than 64 bits or Python's decimals have by default."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headwater as hw
from headwater.errors import SketchError
from headwater.language.sql.rendering.scalars import constant_node
from headwater.sketch.ranges import in_units

LONG = "1.00000000000000000000000000000001"


def opened(folder: Path) -> Any:
    """A table of 40 rows: the same number several times, as an int and as decimals."""
    with duckdb.connect(str(folder / "shop.db")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i AS p, i::BIGINT AS b, (i // 4)::DECIMAL(12, 2) AS d,"
            " i % 3 AS g FROM range(40) r(i)"
        )
    sketches = hw.sketches(f"duckdb:///{folder}/shop.db", folder / "state")
    sketches.table("t", partition="p", ranges=8)
    return sketches


@pytest.mark.parametrize(
    "condition",
    [
        f"d < {LONG}",
        f"d >= {LONG}",
        f"d <> {LONG}",
        "b < 9223372036854775808 AND p < 9",
        "b > -9223372036854775809 AND p < 9",
        "b IN (9223372036854775808, 5)",
        "b < 123456789012345678901234567890 AND p < 9",
    ],
)
def test_long_constants(tmp_path: Path, condition: str):
    """Rows come and go one at a time, as they do by the database itself."""
    text = f"SELECT p FROM t WHERE {condition}"
    with opened(tmp_path) as sketches:
        for way in ("capture", "maintain"):
            sketches.ask(text, way=way)
        for number in range(4):
            gone = [(number + 3, number + 3, Decimal((number + 3) // 4), (number + 3) % 3)]
            sketches.update("t", insert=[(number, number, Decimal(number), 1)], delete=gone)
            found = sketches.ask(text, way="maintain").rows.to_pylist()
            plain = sketches.ask(text, way="plain").rows.to_pylist()
            assert sorted(row["p"] for row in found) == sorted(row["p"] for row in plain)


def test_constants_are_written_with_all_their_digits():
    assert constant_node(Decimal(LONG)).sql() == LONG
    assert constant_node(Decimal(f"-{LONG}")).sql() == f"(-{LONG})"
    assert in_units(Decimal(LONG), 2) > 100


def test_sums_beyond_64_bits_are_captured(tmp_path: Path):
    text = "SELECT g FROM t GROUP BY g HAVING sum(b) > 1000"
    with opened(tmp_path) as sketches:
        sketches.update("t", insert=[(p, 2**63 - 1, Decimal(1), 2) for p in (1, 2, 3)])
        sketches.ask(text, way="capture")
        sketches.update("t", insert=[(4, 5, Decimal(1), 1)])
        with pytest.raises(SketchError) as caught:
            sketches.ask(text, way="maintain")
        assert caught.value.code == "not-maintained"
        assert sketches.ask(text).rows.to_pylist() == [{"g": 2}]


def test_integers_beyond_53_bits_beside_floats(tmp_path: Path):
    text = "SELECT p FROM t WHERE b > 9007199254740992::DOUBLE"
    with opened(tmp_path) as sketches:
        sketches.ask(text, way="capture")
        sketches.update("t", insert=[(1, 2**53 + 1, Decimal(1), 2), (2, 2**53 + 2, Decimal(1), 2)])
        found = sketches.ask(text, way="maintain").rows.to_pylist()
        assert found == sketches.ask(text, way="plain").rows.to_pylist()


def test_nan_among_decimals_of_postgres(tmp_path: Path, postgres: Any):
    text = "SELECT g FROM t WHERE n > 2"
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE t (g integer, n numeric(10, 2))")
            connection.exec_driver_sql("INSERT INTO t SELECT i, 1.5 FROM generate_series(1, 30) r(i)")
        sketches.table("t", partition="g", ranges=6)
        for way in ("capture", "maintain"):
            sketches.ask(text, way=way)
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO t VALUES (9, 'NaN')")
        with pytest.raises(SketchError) as caught:
            sketches.ask(text, way="maintain")
        assert caught.value.code == "not-maintained"
        assert sketches.ask(text).rows.to_pylist() == [{"g": 9}]
