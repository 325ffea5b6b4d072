"""Questions by goal: what they answer, what they look at, what they leave behind, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.events import Scanned

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
LEFT = "reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), link(Z, Y)."
BOTH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), reach(Z, Y)."
LINKS = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("p", "q"), ("q", "r")]


@pytest.fixture
def db() -> Any:
    with hw.connect() as db:
        db.define("link(src: string, dst: string). blocked(node: string).")
        db.apply(insert={"link": LINKS, "blocked": [("c",)]})
        yield db


@pytest.mark.parametrize("rules", [REACH, LEFT, BOTH])
@pytest.mark.parametrize(
    "goal, expected",
    [
        ("reach('p', X)", {("q",), ("r",)}),
        ("reach(X, 'q')", {("p",)}),
        ("reach('a', 'd')", {()}),
        ("reach('d', 'a')", set()),
        ("reach(X, X)", {("a",), ("b",), ("c",)}),
        ("reach('a', X), !blocked(X)", {("a",), ("b",), ("d",)}),
        ("reach('nowhere', X)", set()),
        ("link('a', X), reach(X, Y), X != Y", {("b", "a"), ("b", "c"), ("b", "d")}),
        ("reach('p', X) ; reach(X, 'q')", {("q",), ("r",), ("p",)}),
        ("N = count : { reach('a', _) }", {(4,)}),
        ("X = 'p', reach(X, Y)", {("p", "q"), ("p", "r")}),
        ("link('p', X), Y = cat(X, '!')", {("q", "q!")}),
        ("!reach('d', _), blocked(Y)", {("c",)}),
    ],
)
def test_what_it_answers(db: Any, rules: str, goal: str, expected: set[tuple[Any, ...]]):
    answers = db.query(f"{rules} ?- {goal}.")
    assert set(answers.rows()) == expected and len(answers) == len(expected)
    db.define(rules)
    assert set(db.query(goal).rows()) == expected


def test_columns_are_the_variables_in_the_order_of_writing(db: Any):
    assert db.query("link(B, A), !blocked(B)").columns == ("B", "A")
    assert db.query("link(X, _), link(_Y, X)").columns == ("X",)


def test_a_goal_without_variables_is_yes_or_no(db: Any):
    assert db.query("link('a', 'b')") and not db.query("link('b', 'a')")
    assert db.query("link('a', 'b')").rows() == [()]
    assert repr(db.query("link('b', 'a')")) == "<answer: no>"


def test_bare_names_are_constants_and_capitals_are_variables(db: Any):
    assert set(db.query("link(a, X)").rows()) == {("b",)}
    assert db.query("link(a, b).") and db.query("?- link(a, b)") and db.query("link(a, b) // indeed")


def test_a_quote_of_the_other_kind_may_stand_inside(db: Any):
    db.apply(insert={"link": [("it's", 'a "b"')]})
    assert db.query("link('it\\'s', X)").rows() == [('a "b"',)]
    assert db.query("link(X, 'a \"b\"')").rows() == [("it's",)]


@pytest.mark.parametrize("rules", [REACH, LEFT, BOTH])
def test_other_components_are_not_looked_at(rules: str):
    """A chain asked from its start, beside a hundred others: each row is looked at a few times, others never."""
    with hw.connect() as db:
        db.define("link(src: int, dst: int).")
        db.apply(insert={"link": [(100 * c + i, 100 * c + i + 1) for c in range(100) for i in range(5)]})
        answers = db.query(f"{rules} ?- reach(700, X).")
        assert sorted(answers.rows()) == [(700 + i,) for i in range(1, 6)]
        assert answers.statistics.looked["link"] <= 30
        assert not [event for event in answers.statistics.events if isinstance(event, Scanned)]


def test_linear_recursion_keeps_as_many_rows_as_there_are_answers():
    with hw.connect() as db:
        db.define("link(src: int, dst: int).")
        db.apply(insert={"link": [(i, i + 1) for i in range(200)]})
        answers = db.query(f"{REACH} ?- reach(0, X).")
        assert len(answers) == 200
        assert sum(answers.statistics.derived.values()) < 4 * 210


def test_a_whole_scan_is_an_event(db: Any):
    answers = db.query("link(X, Y), X != Y")
    assert Scanned("link", ("~goal",)) in answers.statistics.events


def test_nothing_is_left_behind(db: Any):
    db.define(REACH)
    before = db.version, len(db.codec.strings), db.relations, len(db["reach"]), db.texts
    for goal in ("reach('never seen', X)", "link(X, Y), Z = cat(X, Y)", "reach(X, Y), X < 'zz'"):
        db.query(goal).rows()
    db.query("far(X) :- reach('a', X), X != 'unheard of'. far('new'). ?- far(X).")
    assert (db.version, len(db.codec.strings), db.relations, len(db["reach"]), db.texts) == before


def test_answers_stay_when_the_database_changes(db: Any):
    answers = db.query("link(X, Y), Z = cat(X, '+')")
    expected = sorted(answers.rows())
    db.apply(insert={"link": [("new one", "x+")]}, delete={"link": LINKS})
    assert sorted(answers.rows()) == expected


def test_a_question_may_state_facts_of_its_own(db: Any):
    assert set(db.query("start(a). start(p). ?- start(X), link(X, Y).").rows()) == {("a", "b"), ("p", "q")}


def test_explain_shows_patterns_rules_and_cost(db: Any):
    text = str(db.query(f"{BOTH} ?- reach('a', X).").explain())
    assert "evaluates reach^bf: for values of X" in text
    assert "rule reach^bf(X, Y) :- ask reach^bf(X), link(X, Y)." in text
    assert "rows of link looked at" in text


def test_recursion_through_negation_by_demand_is_evaluated_whole_where_it_must(db: Any):
    """What is asked of `bad` depends on `good`, which negates it."""
    rules = """
        good(X) :- start(X). good(Y) :- good(X), link(X, Y), !bad(Y).
        bad(X) :- blocked(X). start(a).
    """
    answers = db.query(f"{rules} ?- good(X).")
    assert set(answers.rows()) == {("a",), ("b",)}
    assert answers.program.whole == {"bad": "what is asked of it depends on its negation"}


def test_counting_down_to_a_bound_value_ends(db: Any):
    """Asked backwards, the numbers would have no end."""
    assert db.query("n(0). n(M) :- n(N), N < 10, M = N + 1. ?- n(5).")
    assert not db.query("n(0). n(M) :- n(N), N < 10, M = N + 1. ?- n(11).")


# ------------------------------------------------------------------ forms of answers


def test_rows_as_arrow_pandas_and_polars(db: Any):
    answers = db.query("link('c', X)").order_by("X")
    assert answers.arrow().to_pylist() == [{"X": "a"}, {"X": "d"}]
    assert list(answers.pandas()["X"]) == answers.polars()["X"].to_list() == ["a", "d"]
    assert list(answers) == [("a",), ("d",)] and ("d",) in answers and answers.count() == 2


def test_some_of_them_in_order(db: Any):
    answers = db.query("link(X, Y)")
    assert answers.order_by("Y", descending=True).head(2).rows() == [("q", "r"), ("p", "q")]
    assert answers.order_by().rows() == sorted(LINKS)
    assert len(answers.head(0)) == 0 and len(answers.head()) == 6


def test_html_is_escaped_and_cut(db: Any):
    db.apply(insert={"link": [(f"<{i}>", "x") for i in range(30)]})
    html = db.query("link(X, 'x')")._repr_html_()
    assert "&lt;1" in html and "<1" not in html and "20 of them shown" in html


def test_rows_of_a_relation_by_value(db: Any):
    db.define(REACH)
    assert set(db["reach"].where(X="p").rows()) == {("p", "q"), ("p", "r")}
    assert db["link"].where(src="a", dst="b").rows() == [("a", "b")]
    assert db["link"].where(src="unheard of").rows() == []
    assert db["link"].where(src="c").columns == ("src", "dst")
    assert db["link"].count() == 6 and len(db["link"].head(2)) == 2
    assert db["link"].order_by("dst").head(1).rows() == [("c", "a")]
    assert db["link"].where(src="a").statistics.looked == {"link": 1}


def test_values_of_any_form(db: Any):
    """What `apply` takes for a value, `where` takes too."""
    import numpy as np

    db.define("t(n: int, l: list[int], f: float).")
    db.apply(insert={"t": [(1, (1, 2), 0.5), (2, (), float("nan"))]})
    assert len(db["t"].where(l=[1, 2])) == len(db["t"].where(n=np.int64(1))) == len(db["t"].where(f=0.5)) == 1
    assert db["t"].where(f=float("nan")).rows()[0][0] == 2


def test_a_relation_that_a_question_only_declares_is_empty(db: Any):
    assert db.query(".decl none(x: symbol)\n?- none(x).").rows() == []


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "text, code",
    [
        ("lnk(a, X)", "unknown-relation"),
        ("link(a)", "arity-clash"),
        ("link(1, X)", "type-clash"),
        ("!link(X, Y)", "unsafe-variable"),
        ("link(X, Y), Z > 3", "unsafe-variable"),
        ("link(X, Y) :- blocked(X), blocked(Y). ?- link(X, Y).", "relation-taken"),
        ("link(a, X", "syntax"),
        ("", "syntax"),
        ("?- link(a, X). ?- link(X, a).", "syntax"),
        ("far(X) :- link(a, X).", "syntax"),
        (".output link ?- link(X, Y).", "unsupported"),
        ("p(X) :- link(X, _), !p(X). ?- p(X).", "unstratified-negation"),
        ("link(a, X), Y = 1 / 0", "division-by-zero"),
    ],
)
def test_refusals(db: Any, text: str, code: str):
    with pytest.raises(hw.HeadwaterError) as caught:
        db.query(text)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "text, hint",
    [
        ("lnk(a, X)", "did you mean link?"),
        ("cosine(X)", "there are: link, blocked"),
        ("far(X) :- link(a, X). ?- fra(X), link(X, _).", "did you mean far?"),
    ],
)
def test_a_relation_that_is_not_there_is_told_from_those_that_are(db: Any, text: str, hint: str):
    with pytest.raises(hw.HeadwaterError) as caught:
        db.query(text)
    assert caught.value.code == "unknown-relation" and caught.value.hint == hint
    assert caught.value.place is not None


@pytest.mark.parametrize("text", [None, 3, b"link(a, X)"])
def test_a_question_is_a_text(db: Any, text: Any):
    with pytest.raises(hw.HeadwaterError) as caught:
        db.query(text)
    assert caught.value.code == "wrong-type"


def test_columns_and_values_are_checked(db: Any):
    for call, code in (
        (lambda: db["link"].where(source="a"), "unknown-column"),
        (lambda: db["link"].where(src=3), "wrong-type"),
        (lambda: db["link"].order_by("nothing"), "unknown-column"),
        (lambda: db["link"].head(-1), "wrong-type"),
    ):
        with pytest.raises(hw.HeadwaterError) as caught:
            call()
        assert caught.value.code == code


def test_columns_whose_type_nothing_tells_have_nulls_only():
    db = hw.connect()
    db.define("made(X, ?f(X)) :- told(X). empty(X) :- nothing(X).")
    assert db["empty"].where(X=1).rows() == []
    assert db["empty"].where(X="a").rows() == db["empty"].where(X=None).rows() == []
    db.apply(insert={"told": [(1,)]})
    other = hw.LabelledNull("f", (1,))
    second = db["made"].columns[1]
    assert db["made"].where(**{second: other}).rows() == [(1, other)]
    assert db["made"].where(**{second: "f"}).rows() == []


# ------------------------------------------------------------------ nulls

PAY = [("a", 1), ("a", None), ("b", None), ("c", hw.LabelledNull("f", (1,))), ("c", None)]


@pytest.fixture
def pay() -> Any:
    with hw.connect() as db:
        db.define("pay(who: string, v: int?). seen(W, V) :- pay(W, V). .kind seen virtual")
        db.apply(insert={"pay": PAY})
        yield db


@pytest.mark.parametrize("relation", ["pay", "seen"])
@pytest.mark.parametrize(
    "aggregate, expected",
    [
        ("count<V>", {("a", 1), ("b", 0), ("c", 1)}),
        ("count<*>", {("a", 2), ("b", 1), ("c", 2)}),
        ("sum<V>", {("a", 1), ("b", None), ("c", None)}),
        ("min<V>", {("a", 1), ("b", None), ("c", None)}),
        ("max<V>", {("a", 1), ("b", None), ("c", None)}),
    ],
)
def test_aggregates_of_a_question_leave_nulls_out(
    pay: Any, relation: str, aggregate: str, expected: set[tuple[Any, ...]]
):
    answers = pay.query(f"total(W, {aggregate}) :- {relation}(W, V). ?- total(W, N).")
    assert set(answers.rows()) == expected and len(answers) == len(expected)
    inner = aggregate.replace("<", " ").replace(">", "") if aggregate[:5] != "count" else None
    if inner is not None:
        assert set(pay.query(f"pay(W, _), N = {inner} : {{ {relation}(W, V) }}").rows()) == expected


@pytest.mark.parametrize("goal", ["pay(W, V)", "seen(W, V)", "seen('c', V)"])
def test_answers_tell_labelled_nulls(pay: Any, goal: str):
    assert "?f(1)" in pay.query(goal).arrow(labels=True).column("V?").to_pylist()


def test_a_row_is_among_the_answers_by_what_it_is():
    nan = float("nan")
    db = hw.connect()
    db.define("r(x: float?, n: int).")
    db.apply(insert={"r": [(nan, 1), (None, 2), (0.5, 3)]})
    answers = db.query("r(X, N)")
    for row in [(nan, 1), (None, 2), (0.5, 3)]:
        assert row in answers and row in db["r"]
    for other in [
        (nan, 2),
        (None, True),
        (0.5, 3.0),
        (7.5, 99),
        (0.5,),
        [0.5, 3],
        None,
        (0.5, pytest),
        ("a", "b"),
    ]:
        assert other not in answers and other not in db["r"]
    assert () in db.query("r(_, 1)") and () not in db.query("r(_, 9)") and (1,) not in db.query("r(_, 1)")


@pytest.mark.parametrize("column", [None, 0, ["X"], b"X", pytest, np.array(["X", "Y"])])
def test_a_column_to_order_by_is_a_name(db: Any, column: Any):
    for some in (db["link"], db.query("link(X, Y)")):
        with pytest.raises(hw.HeadwaterError) as caught:
            some.order_by(column)
        assert caught.value.code == "unknown-column"


LARGEST = 2**63 - 1


@pytest.mark.parametrize("kind", ["stored", "virtual"])
@pytest.mark.parametrize("total", ["Y + 1", "Y - 1", "5 - Y", "Y + Y"])
def test_a_null_that_is_asked_for_is_no_sum(kind: str, total: str):
    db = hw.connect()
    db.define(f"""
        f(y: int). k(s: int?).
        v(S) :- f(Y), S = {total}.
        known(S) :- k(S), v(S).
        unknown(S) :- k(S), !v(S).
    """)
    for view in ("v", "known", "unknown"):
        db.keep(view, kind)
    nobody = hw.LabelledNull("f", (1,))
    db.apply(insert={"f": [(n,) for n in range(-2, 7)], "k": [(4,), (None,), (nobody,)]})
    assert db["known"].rows() == [(4,)]
    assert set(db["unknown"].rows()) == {(None,), (nobody,)}
    for null in (None, nobody):
        assert (null,) not in db["v"] and len(db["v"].where(S=null)) == 0
    assert not db.query("v(null)") and not db.query("v(?f(1))")


def test_no_sum_is_wrapped_where_it_is_solved():
    db = hw.connect()
    db.define("f(y: int). v(S) :- f(Y), S = Y + 1. .kind v virtual")
    db.apply(insert={"f": [(LARGEST,), (-(2**63),)]})
    assert not db.query(f"v({-(2**63)})")
    assert db.query(f"v({1 - 2**63})")
