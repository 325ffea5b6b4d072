"""Random queries over random tables: DuckDB says the same of the text and of the plan, and so does a plain model."""

from __future__ import annotations

import random

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_algebra import answer, bag
from oracle_lockstep import FIGURES, examples
from oracle_sql import TABLES, Rows, Writer, database

from headwater.language.sql.algebra import children, walk, with_children
from headwater.language.sql.parser import parse
from headwater.language.sql.render import render

COLUMNS = {"r": "a INT, b INT, c INT", "s": "a INT, d INT, e VARCHAR", "u": "b INT NOT NULL, f INT"}


def filled(tables: dict[str, Rows]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    for name, columns in COLUMNS.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
        if tables[name]:
            marks = ", ".join("?" * len(tables[name][0]))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", tables[name])
    return connection


@given(st.integers(0, 2**40))
@settings(max_examples=examples(60), deadline=None)
def test_a_plan_means_what_its_text_means(seed: int):
    rng = random.Random(seed)
    tables = database(rng)
    connection = filled(tables)
    try:
        for _ in range(6):
            text = Writer(rng).query()
            plan = parse(text, TABLES, dialect="duckdb").plan
            expected = bag(connection.execute(text).fetchall())
            rendered = render(plan, "duckdb")
            assert bag(connection.execute(rendered).fetchall()) == expected, f"{text}\n{rendered}"
            assert bag(answer(plan, tables)) == expected, text
            for operator in walk(plan):
                assert with_children(operator, children(operator)) == operator
            FIGURES["queries"] += 1
    finally:
        connection.close()
