"""What SQL texts are refused for: a code, the place in the text, and where there is one a way out."""

from __future__ import annotations

import pytest

from headwater.errors import SqlError
from headwater.language.sql.parser import parse
from headwater.language.sql.tables import table_schema

TABLES = {
    "sales": table_schema("sales", "sid int not null, brand string, price int, sold int"),
    "shop.brands": table_schema("shop.brands", "brand string not null, country string"),
}

REFUSED = [
    ("SELECT brnd FROM sales", "unknown-column", "brnd", "did you mean brand?"),
    ("SELECT s.pirce FROM sales s", "unknown-column", "s.pirce", "did you mean price?"),
    ("SELECT t.price FROM sales s", "unknown-table", "t.price", None),
    ("SELECT 1 FROM sale", "unknown-table", "sale", "did you mean sales?"),
    (
        "SELECT brand FROM sales JOIN shop.brands ON 1 = 1",
        "ambiguous-column",
        "brand",
        "write sales.brand or",
    ),
    ("SELECT 1 FROM sales, sales", "ambiguous-table", None, "give one of them an alias"),
    ("SELECT brand, price FROM sales GROUP BY brand", "not-grouped", "price", "max(price)"),
    ("SELECT brand FROM sales WHERE sum(price) > 3", "misplaced-aggregate", "sum(price", "HAVING"),
    ("SELECT sum(max(price)) FROM sales", "misplaced-aggregate", "max(price", None),
    ("SELECT price FROM sales GROUP BY max(price)", "misplaced-aggregate", "max(price", None),
    ("SELECT brand FROM sales ORDER BY 2", "unknown-column", "2", None),
    ("SELECT brand FROM sales UNION SELECT brand, country FROM shop.brands", "wrong-columns", None, None),
    ("SELECT 1 FROM sales WHERE (brand, price) IN (SELECT brand FROM sales)", "wrong-columns", None, None),
    ("SELECT price FROM sales LIMIT -1", "wrong-limit", None, None),
    ("SELECT DISTINCT brand FROM sales ORDER BY price", "unknown-column", "price", None),
    ("SELECT FROM WHERE", "sql-syntax", None, None),
    ("SELECT 'open FROM sales", "sql-syntax", None, None),
    ("SELECT 1 FROM sales; SELECT 2 FROM sales", "sql-syntax", None, None),
    ("", "sql-syntax", None, None),
    ("SELEC brand FROM sales", "sql-syntax", "SELEC", "did you mean SELECT?"),
    ("SELECT brand FORM sales", "sql-syntax", "FORM", "did you mean FROM?"),
    ("SELECT brand FROM sales WHER price > 3", "sql-syntax", "WHER", "did you mean WHERE?"),
    ("SELECT brand FROM sales GROPU BY brand", "sql-syntax", "GROPU", "did you mean GROUP?"),
    ("WITH a AS (SELECT 1) SELEC * FROM a", "sql-syntax", "SELEC", "did you mean SELECT?"),
    ("SELECT brand FROM sales HAVING sum(price) >", "sql-syntax", ">", "docs/sketches.md"),
    ("SELECT brand FROM sales sales sales", "sql-syntax", "sales", "docs/sketches.md"),
    ("SELEC", "unsupported-sql", "SELEC", "a query is a SELECT"),
    ("DELETE FROM sales", "unsupported-sql", "sales", "a query is a SELECT"),
    ("SELECT DATE '1994-13-01' FROM sales", "sql-syntax", "'1994-13-01'", None),
    ("DELETE FROM sales", "unsupported-sql", None, "a query is a SELECT"),
    ("SELECT stddev(price) FROM sales", "unsupported-sql", "stddev(price", "count, sum, min, max and avg"),
    ("SELECT soundex(brand) FROM sales", "unsupported-sql", "soundex(brand", None),
    ("SELECT brand FROM sales TABLESAMPLE (10 PERCENT)", "unsupported-sql", None, None),
    ("SELECT price FROM sales LATERAL VIEW explode(array(1)) x AS y", "unsupported-sql", None, None),
    ("SELECT brand, count(*) FROM sales GROUP BY ROLLUP (brand)", "unsupported-sql", None, None),
    ("WITH RECURSIVE w AS (SELECT 1 AS x) SELECT x FROM w", "unsupported-sql", None, None),
    ("SELECT (SELECT price FROM sales) FROM sales", "unsupported-sql", None, "LIMIT 1"),
    ("SELECT sid IN (SELECT sid FROM sales) FROM sales", "unsupported-sql", None, "between ANDs"),
    ("SELECT 1 FROM sales WHERE price > ALL (SELECT price FROM sales)", "unsupported-sql", None, None),
    (
        "SELECT 1 FROM sales s WHERE EXISTS (SELECT max(sid) FROM sales t WHERE t.sid < s.sid GROUP BY brand)",
        "unsupported-sql",
        None,
        "WHERE and in conditions of inner joins",
    ),
    (
        "SELECT sum(price) OVER (ORDER BY sid ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM sales",
        "unsupported-sql",
        None,
        None,
    ),
]


@pytest.mark.parametrize(("text", "code", "at", "hint"), REFUSED, ids=[text[:60] for text, *_ in REFUSED])
def test_refused(text: str, code: str, at: str | None, hint: str | None):
    with pytest.raises(SqlError) as caught:
        parse(text, TABLES)
    error = caught.value
    assert error.code == code
    if at is not None:
        place = error.place
        assert place is not None
        assert place.text[place.column - 1 :].startswith(at)
    if hint is not None:
        assert error.hint is not None and hint in error.hint


def test_a_place_is_told_in_texts_of_several_lines():
    with pytest.raises(SqlError) as caught:
        parse("SELECT brand,\n       sum(prise)\nFROM sales\nGROUP BY brand", TABLES, name="top.sql")
    assert str(caught.value) == (
        "error[unknown-column]: there is no column prise\n"
        " --> top.sql:2:12\n"
        "  |\n"
        "2 |        sum(prise)\n"
        "  |            ^^^^^\n"
        "  = hint: did you mean price?"
    )


def test_dialects_are_known_by_name():
    with pytest.raises(SqlError) as caught:
        parse("SELECT 1", TABLES, dialect="cobol")
    assert caught.value.code == "unknown-dialect"


def test_a_query_that_is_nested_too_deeply_is_refused():
    with pytest.raises(SqlError) as caught:
        parse("SELECT " + "(" * 5000 + "1" + ")" * 5000, TABLES)
    assert caught.value.code in ("sql-too-deep", "sql-syntax")
