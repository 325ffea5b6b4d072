"""Expressions mean what they mean to the database: quotients, the greatest of values, dates and intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.errors import SketchError
from headwater.language.sql.parser import parse
from headwater.language.sql.render import render
from headwater.language.sql.tables import table_schema
from headwater.sketch.in_sql.pair_plans import pair_state
from headwater.sketch.tables.sql_backend import SqlBackend

ROWS = """CREATE TABLE r AS SELECT * FROM (VALUES
    (CAST(9 AS bigint), 1, CAST(3.30 AS numeric(12, 2)), DATE '2024-01-01'), (10, 7, 10.00, DATE '2024-02-29'),
    (NULL, 2, NULL, NULL), (5, NULL, 0.01, DATE '2023-12-31')) AS r(x, g, w, d)"""
SHOWN = (
    "w / 3", "w / g", "x / 2", "x / 2.0", "1 / 3.0 * 3", "round(w, 1) / 3", "sum(x) / 2", "sum(x) / count(*)",
    "avg(w) / 3", "EXTRACT(YEAR FROM d) / 5", "greatest(x, g)", "least(x, g, 4)", "d + INTERVAL '3' HOUR",
    "d + INTERVAL '1' DAY", "d + INTERVAL '24' HOUR", "max(d - INTERVAL '1' MONTH)",
    "DATE '2024-01-01' + INTERVAL '5' HOUR", "DATE '2024-01-01' + INTERVAL '1' DAY",
    "CAST(DATE '2024-01-31' + INTERVAL '1' MONTH AS VARCHAR)",
    "greatest(d, DATE '2024-01-01' + INTERVAL '1' DAY)",
    "CAST('2024-03-09 12:00:00-05' AS TIMESTAMPTZ) + INTERVAL '24' HOUR",
    "TIMESTAMP '2024-01-01 10:00:00'", "CAST(d AS TIMESTAMP)", "CAST(d AS TIMESTAMPTZ)",
)  # fmt: skip
CONDITIONS = (
    "w / 3 = 1.1",
    "greatest(x, g) > 8",
    "least(g, x) < 6",
    "d + INTERVAL '3' HOUR > DATE '2024-01-01'",
    "d < TIMESTAMP '2024-01-01 10:00:00'",
    "d = DATE '2023-12-31' + INTERVAL '1' DAY",
    "d IN (DATE '2023-12-31' + INTERVAL '1' DAY, DATE '2024-01-31' + INTERVAL '1' MONTH)",
    "CAST(DATE '2024-01-01' + INTERVAL '1' DAY AS VARCHAR) > '2024-01-02'",
)


GROUPED = (
    "w / 3", "w / g", "x / 4.0", "floor(w / 3.5)", "ceil(x / 3.0)", "floor(x)", "EXTRACT(YEAR FROM d) / 5",
    "power(w, 2)", "sqrt(w)", "2 * (3 / 2)", "'a' || 'b'",
)  # fmt: skip
AVERAGED = ("avg(power(w, 2))", "avg(w / 3)", "sum(floor(w / 3.5))", "sum(w / 7)", "avg(floor(x))")


def assert_same_answers(address: str, folder: Path) -> None:
    backend = SqlBackend(address)
    with backend.engine.begin() as connection:
        connection.exec_driver_sql(ROWS)
    texts = [f"SELECT {shown} AS z FROM r" for shown in SHOWN]
    texts += [f"SELECT x, g FROM r WHERE {condition}" for condition in CONDITIONS]
    with hw.sketches(address, folder) as sketches:
        sketches.table("r", partition="x", ranges=2)
        for text in texts:
            with backend.engine.connect() as connection:
                expected = Counter(map(tuple, connection.exec_driver_sql(text).fetchall()))
            found = sketches.ask(text, way="plain").rows.to_pylist()
            assert Counter(tuple(row.values()) for row in found) == expected, text
    backend.close()


def assert_same_after_changes(address: str, folder: Path) -> None:
    """Over sketches, too, whatever types the database gives to the keys of groups and to what is summed up."""
    backend = SqlBackend(address)
    with backend.engine.begin() as connection:
        connection.exec_driver_sql(ROWS)
        connection.exec_driver_sql("ALTER TABLE r ALTER COLUMN w TYPE numeric(12, 2)")
    texts = [f"SELECT {key} AS k, count(*) AS n FROM r GROUP BY {key} HAVING count(*) > 0" for key in GROUPED]
    texts += [f"SELECT x, {each} AS z FROM r GROUP BY x HAVING {each} > 0" for each in AVERAGED]
    with hw.sketches(address, folder) as sketches:
        sketches.table("r", partition="x", ranges=2)
        for number in range(3):
            for text in texts:
                with backend.engine.connect() as connection:
                    rows = connection.exec_driver_sql(text).fetchall()
                way = "capture" if number == 0 and text not in texts[len(GROUPED) :] else None
                found = sketches.ask(text, way=way).rows.to_pylist()
                assert _typed(map(tuple, rows)) == _typed(tuple(row.values()) for row in found), text
            new = (11 + number, 3, Decimal("7.77"), date(2024, 3, number + 1))
            sketches.update("r", insert=[new], delete=[(9, 1, Decimal("3.30"), date(2024, 1, 1))][number:])
            sketches.maintain()
    backend.close()


def _typed(rows: Iterable[tuple[Any, ...]]) -> Counter[Any]:
    """Rows in which floats are not equal to decimals and whole numbers."""
    return Counter(tuple((isinstance(cell, float), cell) for cell in row) for row in rows)


def test_maintained_groups_by_expressions_of_postgres(postgres: Any, tmp_path: Path):
    assert_same_after_changes(postgres.new_database(), tmp_path)


def test_maintained_groups_by_expressions_of_duckdb(tmp_path: Path):
    assert_same_after_changes(f"duckdb:///{tmp_path}/shop.db", tmp_path / "state")


def test_expressions_of_postgres_mean_what_they_mean_there(postgres: Any, tmp_path: Path):
    """In a zone in which clocks are changed between the days that are asked for."""
    address = postgres.new_database()
    backend = SqlBackend(address)
    with backend.engine.begin() as connection:
        name = connection.engine.url.database
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET timezone = 'America/New_York'")
    backend.close()
    assert_same_answers(address, tmp_path)


SUMMED = (
    "SELECT g FROM t GROUP BY g HAVING sum(x) / 2 = 2",
    "SELECT g, sum(x) / 2 AS h FROM t GROUP BY g HAVING count(*) > 1",
    "SELECT g FROM t GROUP BY g HAVING sum(x) / count(*) = 2",
    "SELECT g FROM (SELECT g, sum(x) + 1 AS s FROM t GROUP BY g) q WHERE s / 2 = 3",
    "SELECT g, sqrt(sum(x)) AS r FROM t GROUP BY g HAVING sum(x) > 2",
    "SELECT max(s) / 2 AS h FROM (SELECT g, sum(x) AS s FROM t GROUP BY g) q",
    "SELECT g, sum(y) / 2 AS h FROM t GROUP BY g HAVING sum(y) / 2 > 2",
)


def test_captured_sums_of_postgres_have_the_types_of_sums(postgres: Any, tmp_path: Path):
    """A sum of integers is a bigint, but a sum of such sums is none."""
    address = postgres.new_database()
    backend = SqlBackend(address)
    with backend.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (g int, x int, y bigint)")
        connection.exec_driver_sql(
            "INSERT INTO t VALUES (1, 2, 2), (1, 3, 3), (2, 5, 5), (2, 0, 0), (3, 7, 7), (3, 1, 1)"
        )
    with hw.sketches(address, tmp_path) as sketches:
        sketches.table("t", partition="g", ranges=3)
        for text in SUMMED:
            with backend.engine.connect() as connection:
                expected = Counter(map(tuple, connection.exec_driver_sql(text).fetchall()))
            for way in ("capture", "use"):
                found = sketches.ask(text, way=way).rows.to_pylist()
                assert Counter(tuple(row.values()) for row in found) == expected, (text, way)
    backend.close()


def test_state_in_sql_does_not_divide_sums_of_sums():
    text = "SELECT g FROM t GROUP BY g HAVING {} / 2 = 2"
    for summary, taken in (("sum(x)", False), ("count(*)", False), ("max(x)", True)):
        plan = parse(text.format(summary), {"t": table_schema("t", "g int, x int")}, "postgres").plan
        if taken:
            assert pair_state(plan, {}, "postgres").conditions
            continue
        with pytest.raises(SketchError, match="no-sql-strategy"):
            pair_state(plan, {}, "postgres")


def test_expressions_of_duckdb_mean_what_they_mean_there(tmp_path: Path):
    assert_same_answers(f"duckdb:///{tmp_path}/shop.db", tmp_path / "state")


@pytest.mark.parametrize(
    ("written", "dialect", "said"),
    [
        ("postgres", "postgres", "a / b"),
        ("postgres", "duckdb", "TRUNC(a / b)"),
        ("spark", "spark", "a / b"),
        ("spark", "postgres", "CAST(a AS DOUBLE PRECISION) / b"),
        ("duckdb", "duckdb", "a / b"),
    ],
)
def test_quotients_of_whole_numbers_are_those_of_the_text(written: str, dialect: str, said: str):
    plan = parse("SELECT a / b AS q FROM t", {"t": table_schema("t", "a int, b int")}, written).plan
    rendered = render(plan, dialect).replace("t1.", "").replace('"', "").replace("`", "")
    assert said in rendered


@pytest.mark.parametrize(
    ("dialect", "written", "said"),
    [
        ("spark", "d + INTERVAL '24' HOUR", ("d + INTERVAL '86400.000000' SECOND", "timestamp")),
        ("spark", "d + INTERVAL '1' DAY", ("d + INTERVAL '1' DAY", "date")),
        ("spark", "DATE '2024-01-31' + INTERVAL '1' MONTH", ("CAST('2024-02-29' AS DATE)", "date")),
        ("duckdb", "d + INTERVAL '24' HOUR", ("d + INTERVAL '86400.000000' SECOND", "timestamp_ntz")),
        (
            "duckdb",
            "DATE '2024-01-31' + INTERVAL '1' DAY",
            ("CAST('2024-01-31' AS DATE) + INTERVAL '1' DAY", "timestamp_ntz"),
        ),
    ],
)
def test_days_are_no_hours_and_dates_with_them_are_what_the_database_makes(
    dialect: str, written: str, said: tuple[str, str]
):
    plan = parse(f"SELECT {written} AS z FROM t", {"t": table_schema("t", "d date")}, dialect).plan
    rendered = render(plan, dialect).replace("t1.", "").replace('"', "").replace("`", "")
    assert rendered == f"SELECT {said[0]} AS z FROM t AS t1"
    assert str(plan.attributes[0].type) == said[1]
