"""Captured sketches: their query's answer comes along, and the query over them gives the plain answer."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import examples
from sketch_queries import random_query, random_rows, same_rows

from headwater.language.sql.algebra import Scan, scans
from headwater.language.sql.parser import parse
from headwater.language.sql.scalars import Attribute
from headwater.sketch.captured import captured
from headwater.sketch.ranges import Ranges, equi_depth
from headwater.sketch.sketch import SketchPart, Slot
from headwater.sketch.tables.sql_backend import SqlBackend
from headwater.sketch.tables.sql_rows import staged
from headwater.sketch.use import sketched_plan


def duckdb_backend(tmp_path: Path, tables: dict[str, pa.Table]) -> SqlBackend:
    tmp_path.mkdir(parents=True, exist_ok=True)
    path = tmp_path / f"{random.random()}.db"
    with duckdb.connect(str(path)) as connection:
        for name, rows in tables.items():
            connection.register("given", rows)
            connection.execute(f"CREATE TABLE {name} AS FROM given")
    backend = SqlBackend(f"duckdb:///{path}")
    for name in tables:
        backend.table(name)
    return backend


def postgres_backend(server, tables: dict[str, pa.Table]) -> SqlBackend:
    backend = SqlBackend(server.new_database())
    with backend._transactions.transaction() as connection:
        for name, rows in tables.items():
            staged(connection, rows, f"staged_{name}")
            connection.exec_driver_sql(f"CREATE TABLE {name} AS SELECT * FROM staged_{name}")
    for name in tables:
        backend.table(name)
    return backend


def check(backend, rng: random.Random, tables: dict[str, pa.Table]) -> None:
    query = random_query(rng)
    plan = parse(query.text, backend.schemas()).plan
    ranges = {
        name: (equi_depth(column, tables[name].column(column), rng.randint(1, 12)),)
        for name, column in query.sketched.items()
    }
    accesses = {scan.access: ranges[scan.table] for scan in scans(plan) if scan.table in ranges}
    plain = backend.run(plan)
    found = captured(backend, plan, accesses)
    assert same_rows(found.answer, plain), query.text
    used = backend.run(sketched_plan(plan, found.sketch, set(accesses)))
    assert same_rows(used, plain), f"{query.text} over {found.sketch.parts}"


@settings(max_examples=examples(40))
@given(seed=st.integers(0, 2**32))
def test_answers_over_captured_sketches_are_plain_answers_in_duckdb(seed, tmp_path_factory):
    rng = random.Random(seed)
    r, s = random_rows(rng, rng.choice([0, 3, 20, 40]))
    backend = duckdb_backend(tmp_path_factory.mktemp("db"), {"r": r, "s": s})
    for _ in range(4):
        check(backend, rng, {"r": r, "s": s})
    backend.engine.dispose()


@settings(max_examples=examples(4))
@given(seed=st.integers(0, 2**32))
def test_answers_over_captured_sketches_are_plain_answers_in_postgresql(seed, postgres):
    rng = random.Random(seed)
    r, s = random_rows(rng, 30)
    backend = postgres_backend(postgres, {"r": r, "s": s})
    for _ in range(12):
        check(backend, rng, {"r": r, "s": s})
    backend.engine.dispose()


def test_duckdb_finds_the_fragments_that_ranges_have(tmp_path):
    """Of every kind of attribute, with NULLs and NaN, by two attributes at once."""
    columns = {
        "a": pa.array([3, -7, None, 12, 2**60, 5], pa.int64()),
        "b": pa.array([1.5, float("nan"), None, -2.25, float("inf"), 0.0]),
        "c": pa.array(["b", "", None, "Ä", "字", "abc"]),
        "d": pa.array([1, -3, None, 7, 2, 5], pa.int64()).cast(pa.decimal128(22, 2)),
        "e": pa.array([1, -3, None, 7, 2, 5], pa.int32()).cast(pa.date32()),
    }
    backend = duckdb_backend(tmp_path, {"t": pa.table(columns)})
    ranges = {Slot("t", name): equi_depth(name, column, 4) for name, column in columns.items()}
    scan = Scan("t", "t", 0, tuple(Attribute(n, f"_fragment_{name}") for n, name in enumerate(columns)))
    found = backend.run(scan, fragments=ranges)
    expected = [each.fragments(columns[slot.attribute]).tolist() for slot, each in ranges.items()]
    assert sorted(zip(*found.to_pydict().values(), strict=True)) == sorted(zip(*expected, strict=True))
    backend.engine.dispose()


SALES = pa.table(
    {
        "sid": [1, 2, 3, 4, 5, 6, 7],
        "brand": ["Lenovo", "Lenovo", "Apple", "Apple", "Dell", "HP", "HP"],
        "productName": [
            "T14s Gen 2",
            "T14s Gen 2",
            "Air 13-inch",
            "Pro 14-inch",
            "XPS 13",
            "450 G9",
            "550 G9",
        ],
        "price": [349, 449, 1199, 3875, 1345, 999, 899],
        "numSold": [1, 2, 1, 1, 1, 4, 1],
    }
)
"""Figure 1; of s6, 4 were sold, not 5: only so HP comes to 6194 with s8, and not over 5000 without."""
TOP = "SELECT brand, SUM(price * numSold) AS rev FROM sales GROUP BY brand HAVING SUM(price * numSold) > 5000"
PRICES = Ranges("price", (601, 1001, 1501))


@pytest.fixture
def sales(tmp_path):
    backend = duckdb_backend(tmp_path, {"sales": SALES})
    yield backend
    backend.engine.dispose()


def test_example_1_1(sales):
    """The sketch of Q_top is {r3, r4}, and over it the answer is the same."""
    plan = parse(TOP, sales.schemas()).plan
    found = captured(sales, plan, {0: (PRICES,)})
    assert found.answer.to_pylist() == [{"brand": "Apple", "rev": 5074}]
    assert found.sketch.parts == (SketchPart("sales", PRICES, frozenset({2, 3})),)
    used = sketched_plan(plan, found.sketch, {0})
    assert sales.run(used).to_pylist() == [{"brand": "Apple", "rev": 5074}]


def test_example_1_2(sales):
    """After s8 the old sketch misses HP; captured again it has r2 too."""
    plan = parse(TOP, sales.schemas()).plan
    stale = captured(sales, plan, {0: (PRICES,)}).sketch
    s8 = pa.table({"sid": [8], "brand": ["HP"], "productName": ["650 G10"], "price": [1299], "numSold": [1]})
    assert sales.update("sales", s8, None) == 1
    assert sales.run(sketched_plan(plan, stale, {0})).to_pylist() == [{"brand": "Apple", "rev": 5074}]
    found = captured(sales, plan, {0: (PRICES,)})
    assert sorted(map(tuple, map(dict.values, found.answer.to_pylist()))) == [("Apple", 5074), ("HP", 6194)]
    assert found.sketch.parts[0].fragments == {1, 2, 3}
    assert found.sketch.versions == {"sales": 1}


def test_example_4_1_and_4_2(sales):
    """The delta of s8 is s8 with a plus, and lies in r3."""
    s8 = pa.table({"sid": [8], "brand": ["HP"], "productName": ["650 G10"], "price": [1299], "numSold": [1]})
    sales.update("sales", s8, None)
    delta = sales.changes("sales", 0, 1)
    assert delta.rows.to_pylist() == s8.to_pylist()
    assert delta.signs.tolist() == [1]
    assert PRICES.fragments(delta.rows.column("price")).tolist() == [2]


def test_a_sketch_by_two_attributes_of_one_table(sales):
    """Each row must be in a fragment of both parts."""
    plan = parse("SELECT sid FROM sales WHERE brand = 'HP'", sales.schemas()).plan
    ids = Ranges("sid", (3, 5))
    found = captured(sales, plan, {0: (PRICES, ids)})
    assert {part.ranges.attribute: set(part.fragments) for part in found.sketch.parts} == {
        "price": {1},
        "sid": {2},
    }
    used = sales.run(sketched_plan(plan, found.sketch, {0}))
    assert sorted(used.column("sid").to_pylist()) == [6, 7]
