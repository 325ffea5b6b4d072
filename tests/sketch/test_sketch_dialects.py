"""Rendered plans mean to PostgreSQL and to Spark what they mean to a plain model."""

from __future__ import annotations

import random
from typing import Any

import pytest
from oracle_algebra import answer, bag
from oracle_lockstep import FIGURES, examples
from oracle_sql import TABLES, Rows, SketchWriter, Writer, database

from headwater.language.sql.parser import parse
from headwater.language.sql.render import render

COLUMNS = {"r": "a bigint, b bigint, c bigint", "s": "a bigint, d bigint, e text", "u": "b bigint, f bigint"}


def queries(seed: int, number: int) -> tuple[dict[str, Rows], list[str]]:
    rng = random.Random(seed)
    tables = database(rng, 12)
    texts = [(SketchWriter if rng.random() < 0.5 else Writer)(rng).query() for _ in range(number)]
    return tables, texts


def test_postgres_gives_the_same_answers(postgres: Any):
    import psycopg

    tables, texts = queries(5, examples(100))
    with psycopg.connect(postgres.url().replace("+psycopg", "")) as connection:
        for name, columns in COLUMNS.items():
            connection.execute(f"CREATE TEMPORARY TABLE {name} ({columns})")
            for row in tables[name]:
                connection.execute(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", row)
        for text in texts:
            plan = parse(text, TABLES, dialect="duckdb").plan
            rendered = render(plan, "postgres").replace("%", "%%")
            assert bag(connection.execute(rendered).fetchall()) == bag(answer(plan, tables)), rendered
            FIGURES["queries of PostgreSQL"] += 1


@pytest.mark.xdist_group("spark")
def test_spark_gives_the_same_answers(spark: Any):
    tables, texts = queries(6, min(examples(8), 200))
    for name, columns in COLUMNS.items():
        schema = columns.replace("text", "string")
        spark.createDataFrame(tables[name], schema).createOrReplaceTempView(name)
    for text in texts:
        plan = parse(text, TABLES, dialect="duckdb").plan
        rendered = render(plan, "spark")
        found = [tuple(row) for row in spark.sql(rendered).collect()]
        assert bag(found) == bag(answer(plan, tables)), rendered
        FIGURES["queries of Spark"] += 1
