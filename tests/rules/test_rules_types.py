"""Types flow through rules, declarations, data and functions; constants are written as their columns need."""

from __future__ import annotations

import pytest

from headwater.errors import RuleError
from headwater.language.datalog import parse
from headwater.rules.check import check
from headwater.rules.render import render_relation, render_rule
from headwater.values.functions import Functions
from headwater.values.types import FLOAT, INT, STRING, list_of


def _relations(text, **options):
    checked = check(parse(text), Functions(), **options)
    return {name: render_relation(info) for name, info in checked.relations.items()}


def _rules(text, **options):
    checked = check(parse(text), Functions(), **options)
    return [render_rule(rule) for stratum in checked.strata for rule in stratum.rules]


def test_types_flow_from_a_declaration_to_all_that_is_derived():
    found = _relations("link(s: string, c: int). p(X, Y) :- q(X, Y). q(A, B) :- link(A, B). r(B) :- p(_, B).")
    assert found["p"] == "p(X: string, Y: int)"
    assert found["r"] == "r(B: int)"


def test_types_flow_backwards_into_relations_that_are_only_read():
    found = _relations('p(X, Y) :- q(X, Y). p("a", 2.5).')
    assert found["q"] == "q(X: string, Y: float)"


def test_data_gives_types_to_what_the_text_does_not_type():
    found = _relations(
        "p(X, Y) :- q(X, Y), Y > 1. s(x: int, y).", known={"q": (STRING, FLOAT), "u": (INT, list_of(STRING))}
    )
    assert found["p"] == "p(X: string, Y: float)"
    assert found["u"] == "u(c0: int, c1: list[string])"


def test_data_of_a_relation_with_rules_is_kept_in_a_hidden_twin():
    text = "reach(X, Y) :- link(X, Y)."
    checked = check(parse(text), Functions(), known={"reach": (STRING, STRING)})
    assert checked.facades == {"reach": "reach~given"}
    assert render_relation(checked.relations["link"]) == "link(X: string, Y: string)"
    assert "~unit" not in checked.relations


def test_what_nothing_determines_has_no_type():
    assert _relations("p(X, Z) :- q(X, Y), Z = Y + 1, Y < 3.")["p"] == "p(X, Z)"


def test_a_comparison_with_text_tells_the_type_but_one_with_a_number_does_not():
    assert _relations('p(X, Y) :- q(X, Y), X < "m", Y < 3.')["p"] == "p(X: string, Y)"


def test_function_results_are_inferred_through_recursion():
    found = _relations(
        """
        path(x, y, p, c, l) :- link(x, y, c), p = [x, y], l = 1.
        path(x, y, p, c, l) :- link(x, z, c0), path(z, y, p1, c1, l1),
                               c = c0 + c1, p = f_concat([x], p1), l = 1 + l1.
        link("a", "b", 1.5).
        """
    )
    assert found["path"] == "path(x: string, y: string, p: list[string], c: float, l: int)"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("q(x: float). p(X) :- q(X), q(1).", "p#1: p(X) :- q(X), q(1.0)."),
        ("q(x: float). p(X) :- q(X), !q(1).", "p#1: p(X) :- q(X), !q(1.0)."),
        ("q(x: float). p(X, 1) :- q(X). p(X, 2.5) :- q(X).", "p#1: p(X, 1.0) :- q(X)."),
        ("q(x: float). p(X, Y) :- q(X), Y = 1. p(1, 1.5).", "p#1: p(X, 1.0) :- q(X)."),
        ("q(x: list[float]). p(X) :- q(X), q([1, 2]).", "p#1: p(X) :- q(X), q([1.0, 2.0])."),
        ("q(x: float). p(sum<Y>) :- q(X), q(Y), Y = 1.", "p#1: p(sum<Y>) :- q(X), q(Y), Y = 1."),
    ],
)
def test_an_int_constant_is_written_as_a_float_where_one_is_expected(text, rule):
    assert _rules(text)[0] == rule


def test_int_facts_beside_float_ones_become_floats():
    checked = check(parse("q(1). q(2.5). r(7)."), Functions())
    assert checked.facts == {"q": ((1.0,), (2.5,)), "r": ((7,),)}
    assert [type(row[0]) for row in checked.facts["q"]] == [float, float]


def test_the_types_of_aggregates():
    found = _relations(
        """
        q(x: string, i: int, f: float).
        a(X, count<I>) :- q(X, I, _). b(X, sum<I>) :- q(X, I, _). c(X, sum<F>) :- q(X, _, F).
        d(X, avg<I>) :- q(X, I, _). e(I, max<X>) :- q(X, I, _).
        g(X, S) :- q(X, _, _), S = sum F : { q(X, _, F) }.
        """
    )
    assert [found[name].split(": ")[-1] for name in "abcd"] == ["int)", "int)", "float)", "float)"]
    assert found["e"] == "e(I: int, X: string), max X by (I)"
    assert found["g"] == "g(X: string, S: float)"


def test_every_variable_of_a_rule_has_an_entry():
    checked = check(parse("q(x: int). p(X, count<Y>) :- q(X), r(Y), Z = Y + 1, Z != X."), Functions())
    (rule,) = checked.strata[0].rules
    assert rule.types == {"X": INT, "Y": None, "Z": None, "count~1": INT}


def test_data_that_clashes_with_the_text_is_refused():
    with pytest.raises(RuleError, match="in the data of q"):
        check(parse('p(X) :- q(X, "a").'), Functions(), known={"q": (INT, INT)})
