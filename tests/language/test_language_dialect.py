"""Which bare names are variables."""

import pytest

from headwater.language.datalog import parse
from headwater.language.program import Constant, HeadAggregate, Term, Variable, Wildcard


def shown(term: Term) -> str:
    if isinstance(term, Variable):
        return f"?{term.name}"
    if isinstance(term, HeadAggregate):
        return f"{term.function} {shown(term.argument) if term.argument else '*'}"
    return (
        "_" if isinstance(term, Wildcard) else repr(term.value) if isinstance(term, Constant) else str(term)
    )


def names(text: str) -> list[str]:
    """The arguments of the heads of a text's rules, variables with `?`."""
    return [" ".join(shown(term) for head in rule.heads for term in head.args) for rule in parse(text).rules]


def test_with_a_declaration_every_name_is_a_variable():
    text = ".decl p(x: number, y: number)\np(x, Y) :- q(x, Y). p(a, B). r1: p(_, a) :- q(a)."
    assert names(text) == ["?x ?Y", "?a ?B", "_ ?a"]


@pytest.mark.parametrize("mark", [".type T <: symbol", '.pragma "legacy"', ".decl z()"])
def test_what_only_souffle_has_counts_as_a_declaration(mark):
    assert names(f"p(x, Y) :- q(x, Y).\n{mark}") == ["?x ?Y"]


def test_an_upper_case_argument_makes_lower_case_names_strings():
    assert names("p(X, a, _b) :- q(X). p(c, D).") == ["?X 'a' ?_b", "'c' ?D"]


def test_one_rule_decides_for_all():
    assert names("p(x) :- q(x). p(y) :- q(X), r(y).") == ["'x'", "'y'"]


@pytest.mark.parametrize(
    "rule",
    [
        "p(a) :- q(X).",
        "p(a) :- q(1), Y < 2.",
        "p(a, min<C>) :- q(1).",
        "p(a) :- q(f(X)).",
        "p(a) :- !q([X]).",
    ],
)
def test_the_upper_case_name_may_be_anywhere_in_the_rule(rule):
    assert names(rule)[0].startswith("'a'")


@pytest.mark.parametrize(
    "rule", ["p(a) :- Q(a).", "R1: p(a) :- q(a).", "R1 p(a) :- q(a).", 'p(a) :- q("X", _, F(a)).']
)
def test_relations_labels_functions_and_strings_do_not_decide(rule):
    assert names(rule) == ["?a"]


def test_without_upper_case_names_in_rules_are_variables_and_in_facts_strings():
    assert names("p(x, y) :- q(x, y). q(a, b). q(C, d). r1: q(e, 1).") == [
        "?x ?y",
        "'a' 'b'",
        "?C 'd'",
        "'e' 1",
    ]


def test_facts_alone():
    assert names("link(a, b). link(@a, B). link(true, nil).") == ["'a' 'b'", "'a' ?B", "True ()"]


def test_facts_that_need_the_grammar_follow_the_same_rule():
    assert names("p([a, b]). p(f, 1 + 2). r1: p(a, _).")[2] == "'a' _"


def test_an_upper_case_name_in_a_fact_does_not_decide():
    assert names("p(x) :- q(x). q(A).") == ["?x", "?A"]


def test_words_for_values_are_never_variables():
    assert names(".decl p(x: bool)\np(true) :- q(nil).") == ["True"]
    assert names("p(false) :- q(X).") == ["False"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("p(X) :- q(X). ?- p(a, Y).", "'a' ?Y"),
        ("p(x) :- q(x). ?- p(a, y).", "?a ?y"),
        ("p(x) :- q(x). ?- p(a, Y).", "'a' ?Y"),
        ("q(a). ?- p(a, y).", "'a' 'y'"),
        (".decl q(x: number)\n?- p(a, Y).", "?a ?Y"),
    ],
)
def test_queries(text, expected):
    (query,) = parse(text).queries
    assert " ".join(shown(term) for term in query.body[0].atom.args) == expected
