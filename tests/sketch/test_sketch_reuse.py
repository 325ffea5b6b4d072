"""Which query the sketch of another answers: each rule, and each case that looks like one and is wrong."""

from __future__ import annotations

import datetime

import pytest

from headwater.language.sql.parser import parse
from headwater.language.sql.scalars import Attribute, Compare, Value
from headwater.language.sql.tables import table_schema
from headwater.sketch.reuse.implication import implies
from headwater.sketch.reuse.reuse import NotReusable, Reusable, reusable
from headwater.sketch.reuse.templates import template_of
from headwater.sketch.safety.facts import DataFact, declared
from headwater.sketch.safety.outcome import SafetyProof
from headwater.sketch.safety.rules import prove
from headwater.sketch.sketch import Slot
from headwater.values.types import TIMESTAMP

TABLES = {
    "t": table_schema("t", "g int, v int, x int, at date, name string"),
    "s": table_schema("s", "g int, y int"),
}


def positive(fact: DataFact) -> bool:
    return fact.kind == ">=" and fact.bound <= 0


def proof(text: str, attribute: str) -> SafetyProof:
    outcome = prove(parse(text, TABLES).plan, [Slot("t", attribute)], declared(TABLES, positive))
    assert isinstance(outcome, SafetyProof), outcome
    return outcome


def answers(
    text: str, first: tuple[object, ...], second: tuple[object, ...], attribute: str
) -> Reusable | NotReusable:
    one, other = (proof(text.format(*constants), attribute) for constants in (first, second))
    return reusable(one, other, declared(TABLES, positive))


HAVING = "SELECT g FROM t WHERE v > {} GROUP BY g HAVING {} {}"
USED = [
    ("SELECT v FROM t WHERE v > {}", (3,), (5,), "x"),
    ("SELECT v FROM t WHERE v > {} AND x < {}", (3, 9), (3, 8), "x"),
    ("SELECT v FROM t WHERE v > {} OR x < {}", (3, 9), (4, 9), "x"),
    ("SELECT v FROM t WHERE NOT v <= {}", (3,), (5,), "x"),
    ("SELECT v FROM t WHERE {} < v", (3,), (5,), "x"),
    ("SELECT v FROM t WHERE v IN {}", ("(1, 2, 3)",), ("(2, 3)",), "x"),
    ("SELECT v FROM t WHERE at >= DATE '{}'", ("1994-01-01",), ("1995-01-01",), "x"),
    ("SELECT v FROM t JOIN s ON t.g = s.g WHERE v > {}", (3,), (5,), "x"),
    ("SELECT v FROM t WHERE v > {} UNION ALL SELECT y FROM s WHERE y < {}", (3, 9), (4, 5), "x"),
    ("SELECT DISTINCT v FROM t WHERE v > {}", (3,), (5,), "x"),
    (HAVING, (3, "count(*) >", 2), (3, "count(*) >", 5), "x"),
    (HAVING, (3, "sum(v) >", 2), (4, "sum(v) >", 2), "x"),
    (HAVING, (3, "max(v) >", 2), (4, "max(v) >", 7), "x"),
    (HAVING, (3, "min(v) <", 7), (4, "min(v) <", 5), "x"),
    (HAVING, (3, "avg(v) >", 2), (3, "avg(v) >", 5), "g"),
    (HAVING, (3, "count(*) <", 7), (3, "count(*) <", 5), "g"),
    ("SELECT g FROM t WHERE g > {} GROUP BY g HAVING avg(v) > {}", (3, 2), (5, 2), "g"),
    ("SELECT g FROM t WHERE g > {} GROUP BY g HAVING count(*) < {}", (3, 2), (5, 1), "g"),
    ("SELECT g, v FROM t ORDER BY v, g LIMIT {}", (9,), (5,), "x"),
    (
        "SELECT g, sum(v) AS f FROM t GROUP BY g HAVING sum(v) > {} ORDER BY f DESC LIMIT {}",
        (3, 9),
        (3, 5),
        "x",
    ),
    ("SELECT y FROM s WHERE g IN (SELECT g FROM t GROUP BY g HAVING sum(v) > {})", (3,), (4,), "x"),
]


@pytest.mark.parametrize(("text", "first", "second", "attribute"), USED)
def test_used(text: str, first: tuple[object, ...], second: tuple[object, ...], attribute: str):
    assert isinstance(answers(text, first, second, attribute), Reusable)
    assert isinstance(answers(text, first, first, attribute), Reusable)


WRONG = [
    ("SELECT v FROM t WHERE v > {}", (5,), (3,), "x", "not-implied"),
    ("SELECT v FROM t WHERE v = {}", (5,), (3,), "x", "not-implied"),
    ("SELECT v FROM t WHERE name > '{}'", ("a",), ("b",), "x", "not-implied"),
    ("SELECT v FROM t WHERE v IN {}", ("(1, 2)",), ("(2, 3)",), "x", "not-implied"),
    (HAVING, (3, "sum(v) >", 5), (3, "sum(v) >", 2), "x", "not-implied"),
    (HAVING, (3, "count(*) <", 7), (4, "count(*) <", 7), "g", "not-contained"),
    (HAVING, (3, "avg(v) >", 7), (4, "avg(v) >", 7), "g", "not-contained"),
    ("SELECT v FROM t WHERE v > {} ORDER BY v, g, x LIMIT 5", (3,), (5,), "x", "other-input"),
    (
        "SELECT g, sum(v) AS f FROM t WHERE g > {} GROUP BY g ORDER BY f DESC LIMIT 5",
        (3,),
        (4,),
        "x",
        "other-input",
    ),
    (
        "SELECT g, sum(v) AS f FROM t GROUP BY g HAVING sum(v) > {} ORDER BY f DESC LIMIT 5",
        (3,),
        (4,),
        "x",
        "other-input",
    ),
    ("SELECT g, v FROM t ORDER BY v, g LIMIT {}", (5,), (9,), "x", "more-rows"),
    ("SELECT v + {} AS w FROM t", (5,), (9,), "x", "other-template"),
    ("SELECT v FROM t JOIN s ON t.v = s.y + {}", (5,), (9,), "x", "other-template"),
    ("SELECT v + {0} AS w, count(*) FROM t GROUP BY v + {0}", (5,), (9,), "x", "other-template"),
    ("SELECT count(*) FROM (SELECT v FROM t ORDER BY v LIMIT {}) q", (5,), (3,), "x", "other-template"),
    ("SELECT v FROM t WHERE v > 3 {}", ("AND x > 5",), ("",), "x", "other-template"),
    (
        "SELECT v FROM t WHERE v > 3 AND g NOT IN (SELECT g FROM s WHERE y > {})",
        (3,),
        (5,),
        "x",
        "not-contained",
    ),
]


@pytest.mark.parametrize(("text", "first", "second", "attribute", "code"), WRONG)
def test_wrong(text: str, first: tuple[object, ...], second: tuple[object, ...], attribute: str, code: str):
    outcome = answers(text, first, second, attribute)
    assert isinstance(outcome, NotReusable) and outcome.code == code


def test_times_with_and_without_a_zone_are_in_no_order():
    early, late = (Value(datetime.datetime(2020, 1, day), TIMESTAMP) for day in (1, 2))
    zoned = Value(datetime.datetime(2020, 1, 3, tzinfo=datetime.UTC), TIMESTAMP)
    at = Attribute(1, "at", TIMESTAMP)
    assert implies(Compare(">", at, late), Compare(">", at, early))
    assert not implies(Compare(">", at, zoned), Compare(">", at, early))


def test_sketches_on_other_attributes_are_other_sketches():
    one, other = proof("SELECT v FROM t", "x"), proof("SELECT v FROM t", "v")
    assert reusable(one, other) == NotReusable("other-slots")


def test_facts_that_reuse_rests_on_are_named():
    outcome = answers(HAVING, (-3, "sum(v) >", 2), (-2, "sum(v) >", 2), "x")
    assert outcome == Reusable(frozenset({DataFact("t", "v", ">=", 0)}))


def test_a_template_has_the_same_text_whatever_its_constants():
    text = "SELECT g FROM t WHERE at < DATE '1994-01-01' + INTERVAL '{0}' YEAR LIMIT {0}"
    assert len({template_of(parse(text.format(n), TABLES).plan).text for n in (1, 2)}) == 1
