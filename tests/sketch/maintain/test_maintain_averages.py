"""Averages that databases round in ways of their own: the rules are theirs, and sketches follow them."""

from __future__ import annotations

import random
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import headwater as hw
from headwater.errors import SketchError
from headwater.language.sql.parser import parse
from headwater.language.sql.scalars import Attribute, Compare
from headwater.language.sql.tables import table_schema
from headwater.sketch.maintain.columnwise import compile_scalar
from headwater.sketch.maintain.compiling import compile_plan
from headwater.sketch.maintain.database_averages import duckdb_average, postgres_average
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.sql_backend import SqlBackend
from headwater.values.types import FLOAT, decimal_of

WIDE = Context(prec=100)
COUNTS = (1, 2, 3, 4, 5, 6, 7, 9, 11, 49, 97)


def exactly(units: int, scale: int) -> Decimal:
    return Decimal(units).scaleb(-scale, WIDE)


def some_groups(at: random.Random, digits: int, groups: int) -> list[list[int]]:
    """Values of groups, of up to so many digits: many are small, and half of the groups have none below 0."""
    found = []
    for _ in range(groups):
        top = 10 ** at.randint(0, digits) - 1
        least = -top if at.random() < 0.5 else 0
        found.append([at.randint(least, top) for _ in range(at.choice(COUNTS))])
    return found


# ------------------------------------------------------------------ rules


@pytest.mark.parametrize(
    ("type", "digits", "scale"),
    [
        ("smallint", 4, 0),
        ("integer", 9, 0),
        ("bigint", 18, 0),
        ("numeric(4,4)", 4, 4),
        ("numeric(10,2)", 10, 2),
        ("numeric(20,10)", 20, 10),
        ("numeric(38,0)", 38, 0),
        ("numeric(38,30)", 38, 30),
    ],
)
def test_postgres_divides_so(postgres: Any, type: str, digits: int, scale: int):
    groups = some_groups(random.Random(type), digits, 400)
    rows = ",".join(f"({g},{exactly(value, scale):f})" for g, values in enumerate(groups) for value in values)
    backend = SqlBackend(postgres.new_database())
    with backend.engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE t (g integer, x {type})")
        connection.exec_driver_sql(f"INSERT INTO t VALUES {rows}")
        found = connection.exec_driver_sql("SELECT g, avg(x)::text FROM t GROUP BY g").fetchall()
    backend.close()
    for g, average in found:
        units, after = postgres_average(sum(groups[g]), scale, len(groups[g]))
        assert f"{exactly(units, after):f}" == average, groups[g]


@pytest.mark.parametrize(
    ("digits", "scale"),
    [
        (4, 0),
        (4, 2),
        (4, 4),
        (9, 2),
        (9, 9),
        (15, 2),
        (18, 0),
        (18, 4),
        (18, 18),
        (25, 6),
        (38, 10),
        (38, 22),
    ],
)
def test_duckdb_divides_so(digits: int, scale: int):
    made = some_groups(random.Random(digits), digits, 2000)
    groups = [each for each in made if sum(map(abs, each)) < 10**38]
    rows = [(g, exactly(value, scale)) for g, values in enumerate(groups) for value in values]
    given = pa.table(  # noqa: F841 - DuckDB finds it by its name
        {
            "g": [g for g, _ in rows],
            "x": pa.array([value for _, value in rows], pa.decimal128(digits, scale)),
        }
    )
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS FROM given")
        found = connection.execute("SELECT g, avg(x) FROM t GROUP BY g").fetchall()
    unknown = 0
    for g, average in found:
        try:
            assert duckdb_average(sum(groups[g]), scale, len(groups[g]), digits) == average, groups[g]
        except SketchError:
            unknown += 1
    assert unknown < 20


def test_groups_of_many_rows_are_divided_so_too():
    """Where a quotient of `long double` and one of `double` differ: in one of some thousand groups like these."""
    with duckdb.connect() as connection:
        for type, digits, scale, most in (("DECIMAL(4,3)", 4, 3, 9999), ("DECIMAL(9,4)", 9, 4, 10**9 - 1)):
            connection.execute(
                "CREATE OR REPLACE TABLE t AS SELECT g,"
                f" (((hash(g, i) % {most})::BIGINT - {most // 3})::DECIMAL(19,0) * 0.{'0' * (scale - 1)}1)::{type}"
                " AS x FROM range(1500) a(g), range(1500) b(i) WHERE i <= g"
            )
            found = connection.execute(
                "SELECT s, n, a FROM (SELECT g, sum(x) AS s, count(x) AS n FROM t GROUP BY g)"
                " JOIN (SELECT g, avg(x) AS a FROM t GROUP BY g) USING (g)"
            ).fetchall()
            for total, count, average in found:
                assert duckdb_average(int(total.scaleb(scale, WIDE)), scale, count, digits) == average


@pytest.mark.parametrize(("digits", "scale"), [(4, 2), (9, 4), (15, 15), (18, 4), (38, 10)])
def test_decimals_beside_floats_are_rounded_once(digits: int, scale: int):
    at = random.Random(digits)
    decimals = [exactly(at.randint(-(10**digits) + 1, 10**digits - 1), scale) for _ in range(500)] + [None]
    d, f = Attribute(0, "d", decimal_of(digits, scale)), Attribute(1, "f", FLOAT)
    equal = compile_scalar(Compare("=", d, f))
    assert equal is not None
    floats = [None if each is None else float(each) for each in decimals]
    columns = {0: pa.array(decimals, pa.decimal128(digits, scale)), 1: pa.array(floats)}
    assert equal(columns).to_pylist() == [True] * 500 + [None]


# ------------------------------------------------------------------ streams

QUERIES = (
    "SELECT g FROM t GROUP BY g HAVING avg({x}) > {c}",
    "SELECT g, avg({x}) AS a FROM t GROUP BY g HAVING avg({x}) <= {c} OR avg({x}) IS NULL",
    "SELECT g FROM t WHERE v > -2 GROUP BY g HAVING avg({x}) * 3 < {c} AND min(v) < 3",
    "SELECT g FROM (SELECT g, avg(DISTINCT {x}) AS a FROM t GROUP BY g) AS s WHERE a + 1 > {c}",
    "SELECT g FROM t GROUP BY g HAVING avg({x}) > max({x}) - 1",
    "SELECT g FROM t GROUP BY g HAVING avg({x}) BETWEEN -{c} AND {c} AND avg({x}) <> 0",
)


def values(at: random.Random) -> tuple[Any, ...]:
    """Few different ones, so that averages often are what they are compared with."""

    def maybe(value: Any) -> Any:
        return None if at.random() < 0.15 else value

    return (
        at.randint(0, 5),
        maybe(at.randint(-4, 4)),
        maybe(exactly(at.choice((-101, -33, 0, 1, 33, 34, 67, 100, 250)), 2)),
        maybe(exactly(at.choice((-(10**15), 1, 3, 10**10, 5 * 10**15)), 15)),
        at.randint(0, 99),
    )


@pytest.mark.parametrize("database", ["postgres", "duckdb"])
@pytest.mark.parametrize("column", ["v", "d", "w"])
@pytest.mark.parametrize("query", range(len(QUERIES)))
def test_conditions_on_averages_are_followed(
    database: str, column: str, query: int, tmp_path: Path, request: pytest.FixtureRequest
):
    at = random.Random(f"{database} {column} {query}")
    text = QUERIES[query].format(x=column, c=at.choice(("0.33", "1", "0.3333333333333333", "0.5", "0.335")))
    address = f"duckdb:///{tmp_path}/t.db"
    if database == "postgres":
        address = request.getfixturevalue("postgres").new_database()
    with hw.sketches(address, tmp_path / "state") as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql(
                "CREATE TABLE t (g integer, v integer, d decimal(10, 2), w decimal(30, 15), p integer)"
            )
            connection.exec_driver_sql("INSERT INTO t VALUES (0, 1, 0.33, 1, 1), (7, 5, 9.99, 3, 1)")
        sketches.table("t", partition="g", ranges=4)
        kept: list[tuple[Any, ...]] = []
        plan = parse(text, sketches.backend.schemas(), sketches.backend.dialect).plan
        by_g = FragmentNumbers((SlotRanges(Slot("t", "g"), Ranges("g", (1, 2, 3, 4, 5))),))
        followed, fresh = (Maintainer(plan, by_g, sketches.backend) for _ in range(2))
        followed.capture()
        sketches.ask(text, way="capture")
        for _ in range(10):
            rows = [values(at) for _ in range(at.randint(1, 7))]
            gone = [kept.pop(at.randrange(len(kept))) for _ in range(min(len(kept), at.randint(0, 5)))]
            kept += rows
            sketches.update("t", insert=rows, delete=gone)
            followed.maintain()
            assert followed.sketch == fresh.capture()
            answer = sketches.ask(text, way="maintain")
            assert answer.rows.sort_by("g") == sketches.ask(text, way="plain").rows.sort_by("g")


# ------------------------------------------------------------------ what is not known

SCHEMAS = {
    "t": table_schema("t", "g int, v int, d decimal(10,2), f double"),
}


def refused(text: str, dialect: str) -> str | None:
    numbers = FragmentNumbers((SlotRanges(Slot("t", "g"), Ranges("g", (1,))),))
    try:
        compile_plan(parse(text, SCHEMAS, dialect).plan, numbers, dialect=dialect)
    except SketchError as error:
        return error.code
    return None


@pytest.mark.parametrize(
    ("text", "dialects"),
    [
        ("SELECT g FROM t GROUP BY g HAVING avg(v) > 1", ""),
        ("SELECT g FROM t GROUP BY g HAVING avg(v) > 1 AND count(*) > 1", ""),
        ("SELECT g FROM t GROUP BY g HAVING avg(v * 2) > 1", ""),
        ("SELECT g FROM t GROUP BY g HAVING avg(f) > 1", ""),
        ("SELECT g FROM t GROUP BY g HAVING avg(d) > 1", ""),
        ("SELECT g FROM (SELECT g, d AS e FROM t) AS s GROUP BY g HAVING avg(e) > 1", ""),
        ("SELECT g FROM t GROUP BY g HAVING avg(d) > 1 AND max(d) > 2", ""),
        ("SELECT g FROM t GROUP BY g HAVING avg(d) > 1 AND count(*) > 1", "duckdb"),
        ("SELECT g, sum(d) AS s FROM t GROUP BY g HAVING avg(d) > 1", "duckdb"),
        ("SELECT g FROM t GROUP BY g HAVING avg(d) > 1 AND avg(v) > 1", "duckdb"),
        ("SELECT g FROM t GROUP BY g HAVING avg(d * 2) > 1", "duckdb postgres"),
        ("SELECT g FROM t GROUP BY g HAVING CAST(avg(d) AS decimal(14,6)) > 1", "duckdb postgres"),
        (
            "SELECT a FROM (SELECT g, avg(d) AS a FROM t GROUP BY g) AS s GROUP BY a HAVING count(*) > 1",
            "duckdb postgres",
        ),
        ("SELECT g, avg(d) AS a FROM t GROUP BY g ORDER BY a LIMIT 3", "duckdb postgres"),
        (
            "SELECT t.g FROM t JOIN (SELECT g, avg(d) AS a FROM t GROUP BY g) AS s ON t.g = s.g AND t.d < s.a",
            "duckdb postgres",
        ),
    ],
)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_averages_are_maintained_where_their_rounding_is_known(text: str, dialects: str, dialect: str):
    assert refused(text, dialect) == ("not-maintained" if dialect in dialects.split() else None)


def test_numbers_of_any_digits_and_floats_beside_averages_are_captured_again(postgres: Any, tmp_path: Path):
    """`numeric` has the digits of each value; which float an average is, beside one, is up to the database."""
    texts = (
        "SELECT g FROM t GROUP BY g HAVING avg(n) > 1",
        "SELECT g FROM t GROUP BY g HAVING avg(v) > min(f)",
        "SELECT g FROM t GROUP BY g HAVING avg(v) / 3 > 0.3",
    )
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE t (g integer, n numeric, v integer, f double precision)")
            connection.exec_driver_sql("INSERT INTO t VALUES (1, 1.5, 1, 0.5), (2, 0.25, 1, 2)")
        sketches.table("t", partition="g", ranges=4)
        for text in texts:
            sketches.ask(text, way="capture")
            with pytest.raises(SketchError) as raised:
                sketches.ask(text, way="maintain")
            assert raised.value.code == "not-maintained"
            with sketches.backend.engine.begin() as connection:
                connection.exec_driver_sql("INSERT INTO t VALUES (3, 2.125, 4, 0.25)")
            assert sketches.ask(text).rows.sort_by("g") == sketches.ask(text, way="plain").rows.sort_by("g")
