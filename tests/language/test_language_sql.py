"""Text to plan: what names mean, what is lowered to what, and where it stood."""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import pytest
from sql_tpch import QUERIES
from sql_tpch import TABLES as TPCH

from headwater.language.sql.algebra import (
    Distinct,
    GroupBy,
    Project,
    Scan,
    Select,
    ThetaJoin,
    TopK,
    UnionAll,
    Window,
    scans,
    walk,
)
from headwater.language.sql.parser import parse
from headwater.language.sql.query import SqlQuery
from headwater.language.sql.render import render
from headwater.language.sql.scalars import Compare, Function, IsNull, Or, Parameter, Value
from headwater.language.sql.tables import table_schema
from headwater.values.record import Months
from headwater.values.types import DATE, FLOAT, INT, decimal_of

TABLES = {
    "sales": table_schema("sales", "sid int not null, brand string, price int, sold int, at date"),
    "r": table_schema("r", "a int, b int, c int"),
    "s": table_schema("s", "a int not null, d int"),
    "crimes": table_schema(
        "crimes", "id int, year int, beat int, district int, community_area int, ward int"
    ),
}
REVENUE = "SELECT brand, SUM(price * sold) AS rev FROM sales GROUP BY brand HAVING SUM(price * sold) > 5000"


def kinds(query: SqlQuery) -> list[str]:
    return [type(operator).__name__ for operator in walk(query.plan)]


def test_having_is_a_selection_above_groups():
    query = parse(REVENUE, TABLES)
    assert kinds(query) == ["Project", "Select", "GroupBy", "Scan"]
    assert [column.name for column in query.columns] == ["brand", "rev"]
    group = query.plan.input.input
    assert isinstance(group, GroupBy) and len(group.aggregates) == 1


def test_texts_that_say_the_same_are_equal_plans():
    assert parse(REVENUE, TABLES) == parse(REVENUE.replace(" ", "\n  "), TABLES)
    assert parse(REVENUE, TABLES) != parse(REVENUE.replace("5000", "5001"), TABLES)


def test_every_operator_knows_its_place():
    query = parse("SELECT brand\nFROM sales\nWHERE price > 3\nORDER BY brand LIMIT 2", TABLES)
    lines = {type(operator).__name__: operator.place.line for operator in walk(query.plan) if operator.place}
    assert lines == {"TopK": 4, "Project": 1, "Select": 3, "Scan": 2}


def test_each_access_of_a_table_has_its_number():
    query = parse("WITH w AS (SELECT a FROM r) SELECT 1 FROM w, w v, r WHERE w.a = v.a AND v.a = r.a", TABLES)
    assert [(scan.table, scan.access) for scan in scans(query.plan)] == [("r", 0), ("r", 1), ("r", 2)]
    ids = [attribute.id for scan in scans(query.plan) for attribute in scan.attributes]
    assert len(set(ids)) == len(ids)


def test_commas_with_conditions_are_joins():
    query = parse("SELECT r.a FROM r, s WHERE r.a = s.a AND r.b > 3 AND s.d IS NOT NULL", TABLES)
    assert kinds(query) == ["Project", "ThetaJoin", "Select", "Scan", "Select", "Scan"]


def test_what_all_sides_of_an_or_say_is_said_once():
    query = parse("SELECT 1 FROM r, s WHERE (r.a = s.a AND b = 1) OR (r.a = s.a AND d = 2)", TABLES)
    join = next(each for each in walk(query.plan) if isinstance(each, ThetaJoin))
    first, second = join.condition.parts
    assert isinstance(first, Compare) and isinstance(second, Or)


def test_products_come_last():
    query = parse("SELECT 1 FROM r x, r y, s WHERE x.a = s.a AND y.b = s.d", TABLES)
    assert all(each.condition is not None for each in walk(query.plan) if isinstance(each, ThetaJoin))


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("EXISTS (SELECT * FROM s WHERE s.a = r.a AND d > 1)", "semi"),
        ("NOT EXISTS (SELECT * FROM s WHERE s.a = r.a)", "anti"),
        ("b IN (SELECT d FROM s)", "semi"),
        ("b = ANY (SELECT d FROM s)", "semi"),
        ("(a, b) NOT IN (SELECT a, d FROM s)", "anti"),
        ("NOT (b IN (SELECT d FROM s WHERE s.a > r.c))", "anti"),
    ],
)
def test_conditions_with_subqueries_are_joins(condition: str, kind: str):
    query = parse(f"SELECT a FROM r WHERE {condition} AND c = 1", TABLES)
    joins = [each for each in walk(query.plan) if isinstance(each, ThetaJoin)]
    assert [join.kind for join in joins] == [kind]
    assert isinstance(joins[0].left, Select), "what concerns one side only is below the join"


def test_not_in_keeps_no_row_where_a_comparison_is_unknown():
    query = parse("SELECT a FROM r WHERE b NOT IN (SELECT d FROM s)", TABLES)
    join = next(each for each in walk(query.plan) if isinstance(each, ThetaJoin))
    equal, unknown = join.condition.parts
    assert unknown == IsNull(equal)


def test_scalar_subqueries_are_joined_columns():
    alone = parse("SELECT a FROM r WHERE b > (SELECT avg(d) FROM s)", TABLES)
    assert "inner" in [each.kind for each in walk(alone.plan) if isinstance(each, ThetaJoin)]
    correlated = parse("SELECT a, (SELECT count(*) FROM s WHERE s.a = r.a) AS n FROM r", TABLES)
    join = next(each for each in walk(correlated.plan) if isinstance(each, ThetaJoin))
    assert join.kind == "left" and isinstance(join.right, GroupBy) and len(join.right.keys) == 1
    assert correlated.plan.columns[1].expression == Function(
        "coalesce", (join.right.aggregates[0].attribute, Value(0, INT)), INT
    )


def test_set_operations():
    query = parse("SELECT a FROM r UNION SELECT a FROM s ORDER BY a DESC LIMIT 3", TABLES)
    assert kinds(query)[:3] == ["TopK", "Distinct", "UnionAll"]
    assert isinstance(query.plan, TopK) and query.plan.order[0].descending
    assert isinstance(query.plan.input, Distinct) and isinstance(query.plan.input.input, UnionAll)


def test_nulls_come_where_the_dialect_puts_them():
    def first(dialect: str, words: str) -> bool:
        plan = parse(f"SELECT a FROM r ORDER BY a {words}", TABLES, dialect=dialect).plan
        assert isinstance(plan, TopK)
        return plan.order[0].nulls_first

    assert [first("spark", words) for words in ("", "DESC", "NULLS LAST")] == [True, False, False]
    assert [first("duckdb", words) for words in ("", "DESC", "NULLS FIRST")] == [False, False, True]
    assert [first("postgres", words) for words in ("", "DESC", "NULLS LAST")] == [False, True, False]


def test_order_by_what_is_not_shown():
    query = parse("SELECT a FROM r ORDER BY b + 1 LIMIT 1", TABLES)
    assert kinds(query) == ["Project", "TopK", "Scan"]
    shown = parse("SELECT a, b + 1 AS n FROM r ORDER BY b + 1 LIMIT 1", TABLES)
    assert kinds(shown) == ["TopK", "Project", "Scan"]


def test_columns_that_using_merges():
    query = parse("SELECT * FROM r FULL JOIN s USING (a)", TABLES)
    assert [column.name for column in query.columns] == ["a", "b", "c", "d"]
    assert isinstance(query.plan, Project)
    assert isinstance(query.plan.columns[0].expression, Function)


def test_types_and_nulls_are_inferred():
    query = parse(
        "SELECT count(*) AS n, sum(d) AS total, avg(d) AS mean, 1.50 * 2 AS price, s.a + 1 AS next, "
        "coalesce(d, 0) AS some FROM s GROUP BY s.a, d",
        TABLES,
    )
    assert {column.name: (column.type, column.nullable) for column in query.columns} == {
        "n": (INT, False),
        "total": (INT, True),
        "mean": (FLOAT, True),
        "price": (decimal_of(24, 2), False),
        "next": (INT, False),
        "some": (INT, False),
    }


def test_dates_and_intervals():
    query = parse(
        "SELECT 1 FROM sales WHERE at < DATE '1994-01-01' + INTERVAL '1' YEAR AND at > '1990-05-06'", TABLES
    )
    select = next(each for each in walk(query.plan) if isinstance(each, Select))
    below, above = select.condition.parts
    assert below.right == Value(datetime.date(1995, 1, 1), DATE)
    assert above.right == Value(datetime.date(1990, 5, 6), DATE)


def test_constant_expressions_are_constants():
    query = parse("SELECT a * (2 + 3) AS n, INTERVAL '2' MONTH AS m FROM r WHERE b < 0.06 - 0.01", TABLES)
    select = next(each for each in walk(query.plan) if isinstance(each, Select))
    assert select.condition.right.value == Decimal("0.05")
    assert query.plan.columns[0].expression.arguments[1] == Value(5, INT)
    assert query.plan.columns[1].expression.value == Months(2)


def test_parameters_have_names_or_numbers():
    query = parse("SELECT a FROM r WHERE b > :least AND c < ? LIMIT :most", TABLES)
    assert [each.name for each in query.parameters] == ["least", "2", "most"]
    assert isinstance(query.plan, TopK) and isinstance(query.plan.limit, Parameter)


def test_window_functions():
    query = parse("SELECT b, rank() OVER (ORDER BY sum(c) DESC) AS place FROM r GROUP BY b", TABLES)
    assert kinds(query) == ["Project", "Window", "GroupBy", "Scan"]
    window = query.plan.input
    assert isinstance(window, Window) and window.calls[0].call.function == "rank"


PAPER = [
    REVENUE,
    "SELECT a, avg(b) AS ab FROM r GROUP BY a HAVING avg(c) < 1000 and avg(b) < 1200",
    "SELECT a, avg(b) AS ab FROM (SELECT a AS a, b AS b, c AS c FROM r WHERE b < 10) tt JOIN s x ON (tt.a = d) "
    "GROUP BY tt.a HAVING avg(c) < 10".replace("SELECT a, avg", "SELECT tt.a, avg"),
    "SELECT beat, year, count(id) AS crime_count FROM crimes GROUP BY beat, year",
    "SELECT district, community_area, ward, beat, count(beat) AS crime_count FROM crimes "
    "GROUP BY district, community_area, ward, beat HAVING count(id) > 1000",
]


@pytest.mark.parametrize("text", PAPER)
@pytest.mark.parametrize("dialect", ["spark", "duckdb", "postgres"])
def test_queries_of_the_paper(text: str, dialect: str):
    query = parse(text, TABLES)
    assert parse(render(query.plan, dialect), TABLES, dialect=dialect).plan.attributes


@pytest.mark.parametrize("number", QUERIES)
def test_tpc_h_means_the_same_to_duckdb_before_and_after(number: int):
    query = parse(QUERIES[number], TPCH)
    assert any(isinstance(each, Scan) and each.table == "lineitem" for each in walk(query.plan))
    with duckdb.connect() as connection:
        for table in TPCH.values():
            columns = ", ".join(
                f"{column.name} {'VARCHAR' if column.type.name == 'string' else column.type}"
                for column in table.columns
            )
            connection.execute(f"CREATE TABLE {table.name} ({columns})")
        plain = connection.execute(QUERIES[number])
        before = [column[0] for column in plain.description], plain.fetchall()
        rendered = connection.execute(render(query.plan, "duckdb"))
        assert ([column[0] for column in rendered.description], rendered.fetchall()) == before


@pytest.mark.parametrize("dialect", ["spark", "duckdb", "postgres"])
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("v IS NOT NULL", "NOT (v IS NULL)"),
        ("NOT v IS NOT NULL", "NOT (NOT (v IS NULL))"),
        ("v IS NULL", "v IS NULL"),
        ("(v > 1) IS NOT TRUE", "NOT ((v > 1) IS NOT DISTINCT FROM TRUE)"),
    ],
)
def test_what_is_not_null_is_not_taken_for_null(text: str, meant: str, dialect: str):
    tables = {"t": table_schema("t", "v int")}
    plan = parse(f"SELECT v FROM t WHERE {text}", tables, dialect).plan
    assert render(plan, "duckdb").partition(" WHERE ")[2].replace('t1."v"', "v") == meant
