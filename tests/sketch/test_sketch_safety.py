"""Each rule of safety, each refusal with its counter-example: the reason is data, and the sketch would be wrong."""

from __future__ import annotations

import duckdb
import pytest
from sql_tpch import QUERIES
from sql_tpch import TABLES as TPCH

from headwater.language.sql.parser import parse
from headwater.language.sql.tables import table_schema
from headwater.sketch.safety.explain import explain_safety
from headwater.sketch.safety.facts import DataFact, declared
from headwater.sketch.safety.outcome import SafetyProof, SafetyRefusal
from headwater.sketch.safety.relations import Psi
from headwater.sketch.safety.rules import prove
from headwater.sketch.sketch import Slot

TABLES = {
    "t": table_schema("t", "g int, v int, x int, w int"),
    "s": table_schema("s", "g int, y int"),
    "sales": table_schema("sales", "sid int not null, brand string, price int, sold int"),
}
X, G = Slot("t", "x"), Slot("t", "g")


def everything_positive(fact: DataFact) -> bool:
    return fact.kind == ">=" and fact.bound <= 0


def outcome(text: str, *slots: Slot, known=everything_positive) -> SafetyProof | SafetyRefusal:
    return prove(parse(text, TABLES).plan, slots or (X,), declared(TABLES, known))


def having(condition: str, key: str = "g") -> str:
    return f"SELECT {key}, count(*) AS n FROM t GROUP BY {key} HAVING {condition}"


SAFE = [
    having("count(*) > 2"),
    having("count(v) >= 2"),
    having("count(DISTINCT v) > 2"),
    having("sum(v) > 7"),
    having("max(v) > 7"),
    having("min(v) < 7"),
    having("sum(v * w) > 7"),
    having("NOT sum(v) <= 7"),
    having("7 < sum(v)"),
    having("sum(v) > 7 AND min(v) < 3 OR count(*) > 9"),
    having("sum(v) + count(*) > 7"),
    having("2 * sum(v) > 7"),
    having("sum(v) > 2 - count(*)"),
    "SELECT t.g FROM t JOIN s ON t.g = s.g GROUP BY t.g HAVING sum(t.v) > 3",
    "SELECT g, sum(v) AS f FROM t GROUP BY g ORDER BY f DESC LIMIT 3",
    "SELECT g, count(*) AS f FROM t GROUP BY g ORDER BY f DESC NULLS FIRST LIMIT 3",
    "SELECT g, max(v) AS f FROM t GROUP BY g ORDER BY f DESC LIMIT 3",
    "SELECT g, min(v) AS f FROM t GROUP BY g ORDER BY f ASC NULLS LAST LIMIT 3",
    "SELECT g, avg(v) AS f FROM t GROUP BY g ORDER BY g LIMIT 3",
    "SELECT g, v FROM t ORDER BY v, g LIMIT 3",
    "SELECT y FROM s WHERE g IN (SELECT g FROM t GROUP BY g HAVING sum(v) > 3)",
    "SELECT g, sum(n) AS m FROM (SELECT g, w, count(*) AS n FROM t GROUP BY g, w) q GROUP BY g HAVING sum(n) > 3",
    "SELECT g, max(n) AS m FROM (SELECT g, w, max(v) AS n FROM t GROUP BY g, w) q GROUP BY g HAVING max(n) > 3",
    "SELECT DISTINCT g, v FROM t",
    "SELECT g FROM t EXCEPT SELECT g FROM s",
    "SELECT g FROM t WHERE v NOT IN (SELECT y FROM s)",
    "SELECT t.g, s.y FROM t LEFT JOIN s ON t.g = s.g WHERE s.y > 3",
    "SELECT avg(v) FROM t",
    "SELECT count(*) FROM (SELECT g, v FROM t ORDER BY v, g LIMIT 3) q",
    "SELECT g, sum(v) OVER (PARTITION BY g) AS n FROM t",
    "SELECT v FROM t WHERE v > 3 UNION ALL SELECT y FROM s",
]


@pytest.mark.parametrize("text", SAFE)
def test_safe(text: str):
    assert isinstance(outcome(text), SafetyProof), explain_safety(outcome(text))


@pytest.mark.parametrize("aggregate", ["count(v)", "sum(v)", "avg(v)", "min(v)", "max(v)"])
@pytest.mark.parametrize("operator", ["<", ">", "=", "<>"])
def test_any_condition_is_safe_if_groups_are_whole(aggregate: str, operator: str):
    proof = outcome(having(f"{aggregate} {operator} 7"), G, known=lambda fact: False)
    assert isinstance(proof, SafetyProof) and proof.facts == frozenset()


UNSAFE = [
    (having("count(*) < 2"), "condition-not-kept"),
    (having("sum(v) < 7"), "condition-not-kept"),
    (having("avg(v) > 7"), "condition-not-kept"),
    (having("min(v) > 7"), "condition-not-kept"),
    (having("max(v) < 7"), "condition-not-kept"),
    (having("sum(v) = 7"), "condition-not-kept"),
    (having("sum(v) IS NULL"), "condition-not-kept"),
    (having("sum(v) - count(*) > 7"), "condition-not-kept"),
    ("SELECT count(*) FROM t HAVING count(*) < 5", "condition-not-kept"),
    ("SELECT g, sum(v) AS f FROM t GROUP BY g ORDER BY f ASC LIMIT 3", "top-k-order"),
    ("SELECT g, avg(v) AS f FROM t GROUP BY g ORDER BY f DESC LIMIT 3", "top-k-order"),
    ("SELECT g, max(v) AS f FROM t GROUP BY g ORDER BY f DESC NULLS FIRST LIMIT 3", "top-k-nulls"),
    ("SELECT g, min(v) AS f FROM t GROUP BY g ORDER BY f LIMIT 3", "top-k-nulls"),
    ("SELECT g FROM (SELECT g, v FROM t ORDER BY v LIMIT 3) q WHERE g > 1", "top-k-filtered"),
    ("SELECT q.g FROM (SELECT g, v FROM t ORDER BY v LIMIT 3) q JOIN s ON q.g = s.g", "top-k-filtered"),
    ("SELECT g, v FROM t ORDER BY v, g LIMIT 3 OFFSET 1", "top-k-offset"),
    ("SELECT n, count(*) FROM (SELECT g, count(*) AS n FROM t GROUP BY g) q GROUP BY n", "keys-differ"),
    ("SELECT DISTINCT n FROM (SELECT g, count(*) AS n FROM t GROUP BY g) q", "rows-differ"),
    ("SELECT count(*) FROM t GROUP BY g EXCEPT SELECT y FROM s", "rows-differ"),
    ("SELECT g FROM t EXCEPT ALL SELECT g FROM s", "duplicates-lost"),
    ("SELECT s.g FROM s LEFT JOIN t ON s.g = t.g", "no-access"),
    ("SELECT g FROM s EXCEPT SELECT g FROM t", "no-access"),
    ("SELECT g FROM s WHERE y NOT IN (SELECT v FROM t)", "no-access"),
    ("SELECT g FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.g = s.g)", "no-access"),
    (
        "SELECT g FROM (SELECT g, sum(v) OVER (PARTITION BY g) AS n FROM t) q WHERE n < 7",
        "condition-not-kept",
    ),
    (
        "SELECT x FROM (SELECT x, count(*) OVER (PARTITION BY g) AS n FROM t) q GROUP BY x HAVING sum(n) < 6",
        "condition-not-kept",
    ),
    ("SELECT y FROM s", "no-access"),
]


@pytest.mark.parametrize(("text", "code"), UNSAFE)
def test_refused(text: str, code: str):
    refusal = outcome(text)
    assert isinstance(refusal, SafetyRefusal) and refusal.code == code


def test_sums_of_negative_numbers_are_refused_and_the_fact_is_named():
    refusal = outcome(having("sum(v) > 7"), known=lambda fact: False)
    assert isinstance(refusal, SafetyRefusal) and refusal.code == "condition-not-kept"
    assert DataFact("t", "v", ">=", 0) in refusal.wanted


def test_sums_of_numbers_that_are_never_positive_fall():
    def negative(fact: DataFact) -> bool:
        return fact == DataFact("t", "v", "<=", 0)

    assert isinstance(outcome(having("sum(v) < 7"), known=negative), SafetyProof)
    assert isinstance(outcome(having("sum(v) > 7"), known=negative), SafetyRefusal)


def test_a_proof_names_the_facts_it_rests_on():
    proof = outcome(
        "SELECT brand FROM sales GROUP BY brand HAVING sum(price * sold) > 5000", Slot("sales", "price")
    )
    assert isinstance(proof, SafetyProof)
    assert proof.facts == {DataFact("sales", "price", ">=", 0), DataFact("sales", "sold", ">=", 0)}


def test_what_where_enforces_is_no_fact():
    text = "SELECT g FROM t WHERE v > 0 GROUP BY g HAVING sum(v) > 3"
    proof = outcome(text, known=lambda fact: False)
    assert isinstance(proof, SafetyProof) and proof.facts == frozenset()


def test_a_discount_of_at_most_one_makes_revenue_positive():
    wanted = {DataFact("t", "v", ">=", 0), DataFact("t", "w", "<=", 1)}
    proof = outcome(having("sum(v * (1 - w)) > 5"), known=lambda fact: fact in wanted)
    assert isinstance(proof, SafetyProof) and proof.facts == wanted


def test_not_null_makes_up_for_nulls_first():
    wanted = {DataFact("t", "v", "not null")}
    text = "SELECT g, min(v) AS f FROM t GROUP BY g ORDER BY f LIMIT 3"
    proof = outcome(text, known=lambda fact: fact in wanted)
    assert isinstance(proof, SafetyProof) and proof.facts == wanted


def test_two_accesses_must_both_be_in_the_keys():
    text = "SELECT a.g FROM t a JOIN t b ON a.v = b.v GROUP BY {} HAVING avg(a.w) > 3"
    assert isinstance(outcome(text.format("a.g"), G), SafetyRefusal)
    assert isinstance(outcome(text.format("a.g, b.g"), G), SafetyProof)
    assert isinstance(outcome(text.format("a.g").replace("a.v = b.v", "a.g = b.g"), G), SafetyProof)


def test_equal_attributes_stand_for_each_other():
    text = "SELECT s.g FROM t JOIN s ON t.g = s.g GROUP BY s.g HAVING avg(v) > 3"
    assert isinstance(outcome(text, G), SafetyProof)
    assert isinstance(outcome(text.replace("t.g = s.g", "t.g <= s.g"), G), SafetyRefusal)
    fixed = "SELECT v FROM t WHERE g = 3 GROUP BY v HAVING avg(w) > 3"
    assert isinstance(outcome(fixed, G), SafetyProof)


def test_a_union_is_not_closed():
    both = "SELECT g AS m FROM t UNION ALL SELECT g FROM s"
    text = f"SELECT m, count(*) FROM ({both}) q GROUP BY m HAVING count(*) " + "{} 3"
    slots = (G, Slot("s", "g"))
    assert isinstance(outcome(text.format("<"), *slots), SafetyRefusal)
    assert isinstance(outcome(text.format(">"), *slots), SafetyProof)


def test_accesses_that_must_be_whole_are_left_out():
    text = "SELECT g FROM t WHERE v NOT IN (SELECT v FROM t WHERE w = 1)"
    proof = outcome(text)
    assert isinstance(proof, SafetyProof) and proof.accesses == {0}


def test_ties_are_broken_by_keys():
    proof = outcome("SELECT g, w, sum(v) AS f FROM t GROUP BY g, w ORDER BY f DESC LIMIT 3")
    assert isinstance(proof, SafetyProof)
    assert [key.expression.name for key in proof.plan.order] == ["f", "g", "w"]
    hidden = outcome("SELECT sum(v) AS f FROM t GROUP BY g ORDER BY f DESC LIMIT 3")
    assert isinstance(hidden, SafetyProof)
    assert [key.expression.name for key in hidden.plan.input.order] == ["sum", "g"]


def test_a_join_leaves_ties_open():
    groups = "SELECT g, sum(v) AS f FROM t GROUP BY g"
    refusal = outcome(f"SELECT q.f, s.y FROM ({groups}) q JOIN s ON q.g = s.g ORDER BY 1 DESC LIMIT 3")
    assert isinstance(refusal, SafetyRefusal) and refusal.code == "top-k-ties"


def test_several_attributes_of_a_table_close_together():
    text = "SELECT g FROM t GROUP BY {} HAVING avg(v) > 3"
    assert isinstance(outcome(text.format("g, x"), G, X), SafetyProof)
    assert isinstance(outcome(text.format("g"), G, X), SafetyRefusal)


def test_a_slot_of_no_column_is_refused():
    refusal = outcome("SELECT g FROM t", Slot("t", "z"))
    assert isinstance(refusal, SafetyRefusal) and refusal.code == "unknown-attribute"


def test_steps_say_what_is_known_of_columns():
    proof = outcome(having("sum(v) > 7"))
    assert isinstance(proof, SafetyProof)
    assert [step.operator for step in proof.steps] == ["Scan", "GroupBy", "Select", "Project"]
    assert proof.steps[0].closed == ("x",) and proof.steps[1].closed is None
    assert proof.steps[1].relations == {"g": Psi.EQUAL, "count": Psi.AT_MOST, "sum": Psi.AT_MOST}


def test_a_proof_in_words():
    text = "SELECT g, sum(v) AS f\nFROM t\nGROUP BY g\nHAVING sum(v) > 7"
    assert explain_safety(outcome(text)) == (
        "safe: the answer over every sketch on t.x is the answer\n"
        "  table (line 2): all columns exact; whole by x\n"
        "  groups (line 3): sum at most\n"
        "  condition (line 4): sum at most\n"
        "  columns (line 1): f at most\n"
        "as long as t.v >= 0"
    )


def test_a_refusal_in_words():
    text = "SELECT g\nFROM t\nGROUP BY g\nHAVING sum(v) > 7"
    assert explain_safety(outcome(text, known=lambda fact: False)) == (
        "not safe [condition-not-kept] at condition, line 4 (sum): a group with missing rows could fulfil the "
        "condition, though the whole one does not\n"
        "facts about data that could help: t.v <= 0, t.v >= 0"
    )


def test_the_smallest_average_that_goes_wrong():
    """Rows (g1,10,x1), (g1,0,x2), (g2,9,x1) with avg > 7: the sketch is {x1}, and g1 appears."""
    query = "SELECT g FROM t GROUP BY g HAVING avg(v) > 7 ORDER BY g"
    rows = "(VALUES (1, 10, 1), (1, 0, 2), (2, 9, 1)) AS t(g, v, x)"
    plain = duckdb.sql(query.replace("FROM t", f"FROM {rows}")).fetchall()
    sketched = duckdb.sql(query.replace("FROM t", f"FROM (SELECT * FROM {rows} WHERE x = 1) AS t")).fetchall()
    assert plain == [(2,)] and sketched == [(1,), (2,)]
    assert isinstance(outcome(query), SafetyRefusal)


NEGATIVE = [(1, 2, 2, -3), (1, 2, 1, 2), (2, 2, 1, 2)]
COUNTER_EXAMPLES = [
    (having("count(*) < 2"), [(1, 0, 2, 2), (1, 0, 1, 2), (2, 2, 1, 2)], "x = 1"),
    (having("sum(v) < 3"), [(1, 2, 2, 2), (1, 2, 1, 2), (2, 2, 2, 2)], "x = 2"),
    (having("avg(v) > 1"), [(1, 0, 2, 2), (1, 2, 1, 2), (2, 2, 1, 2)], "x = 1"),
    (having("min(v) > 0"), [(1, 0, 2, 2), (1, 2, 1, 2), (2, 2, 1, 2)], "x = 1"),
    (having("max(v) < 2"), [(1, 0, 2, 2), (1, 2, 1, 2), (2, 0, 2, 2)], "x = 2"),
    (having("sum(w) > 1"), NEGATIVE, "x = 1"),
    ("SELECT count(*) AS n FROM t HAVING count(*) < 2", NEGATIVE, "FALSE"),
    (
        "SELECT g, sum(v) AS f FROM t GROUP BY g ORDER BY f ASC, g LIMIT 1",
        [(1, 2, 2, 2), (1, 2, 1, 2), (2, 2, 2, 2)],
        "x = 2",
    ),
    (
        "SELECT g, avg(v) AS f FROM t GROUP BY g ORDER BY f DESC, g LIMIT 1",
        [(1, 0, 2, 2), (1, 2, 1, 2), (2, 2, 1, 2)],
        "x = 1",
    ),
    (
        "SELECT g, max(v) AS f FROM t GROUP BY g ORDER BY f DESC NULLS FIRST, g LIMIT 1",
        [(1, 0, 1, 2), (1, None, 2, 2), (2, 2, 2, 2)],
        "x = 2",
    ),
    (
        "SELECT g FROM (SELECT g, v FROM t ORDER BY v DESC, g LIMIT 1) AS q WHERE g > 1",
        [(1, 5, 1, 0), (2, 3, 2, 0)],
        "FALSE OR x = 2",
    ),
    (
        "SELECT n, count(*) AS m FROM (SELECT g, count(*) AS n FROM t GROUP BY g) q GROUP BY n HAVING count(*) > 1",
        [(1, 0, 1, 0), (2, 0, 1, 0), (3, 0, 1, 0), (3, 0, 2, 0)],
        "x = 1",
    ),
]
"""Queries, rows (g, v, x, w), and the fragments of a sketch on x."""


@pytest.mark.parametrize(("text", "rows", "sketch"), COUNTER_EXAMPLES)
def test_what_is_refused_goes_wrong_for_some_rows(text: str, rows: list[tuple[int | None, ...]], sketch: str):
    assert isinstance(outcome(text, known=lambda fact: fact == DataFact("t", "v", ">=", 0)), SafetyRefusal)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE whole (g INT, v INT, x INT, w INT)")
        connection.executemany("INSERT INTO whole VALUES (?, ?, ?, ?)", rows)
        plain = connection.execute(text.replace("FROM t", "FROM whole")).fetchall()
        part = f"FROM (SELECT * FROM whole WHERE {sketch}) AS t"
        assert connection.execute(text.replace("FROM t", part)).fetchall() != plain


@pytest.mark.parametrize("number", [1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 19])
def test_tpc_h_is_safe_by_order(number: int):
    """As the paper's experiments have it: ranges of lineitem's orders; prices are never negative there."""
    proof = prove(parse(QUERIES[number], TPCH).plan, [Slot("lineitem", "l_orderkey")], prices)
    assert isinstance(proof, SafetyProof), explain_safety(proof)
    rested = {str(fact) for fact in proof.facts}
    assert rested == (
        {"lineitem.l_discount <= 1", "lineitem.l_extendedprice >= 0"} if number == 10 else set()
    )


def prices(fact: DataFact) -> bool:
    return str(fact) in ("lineitem.l_extendedprice >= 0", "lineitem.l_discount <= 1")
