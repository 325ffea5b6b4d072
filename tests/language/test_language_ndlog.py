"""What programs of P2 and RapidNet say beyond rules: read as data, and back."""

from __future__ import annotations

import pytest

from headwater.language.datalog import parse
from headwater.language.datalog.render import render
from headwater.language.program import Call, Comparison, Constant, Disjunction, NegatedGroup, Variable

K, N, S = map(Variable, "KNS")


def body(text):
    (rule,) = parse(text).rules
    return rule.body


@pytest.mark.parametrize("ends", ["()", "(]", "[)", "[]"])
def test_an_interval_of_a_ring_is_a_test(ends):
    (_, within) = body(f"p(K) :- q(K, N, S), K in {ends[0]}N, S{ends[1]}.")
    assert within == Comparison("=", Call("in_ring", (K, N, S, Constant(ends))), Constant(True))


def test_an_interval_may_be_negated_and_hold_values():
    (_, within) = body("p(K) :- q(K, N, S), !(K in (N + 1, S]).")
    assert isinstance(within, NegatedGroup)


def test_in_is_a_name_where_no_interval_follows():
    (rule,) = parse("in(X) :- out(X).").rules
    assert rule.heads[0].relation == "in"


def test_one_of_two_conditions():
    (_, either, last) = body("p(X) :- q(X), X == 1 || X > 3 && X < 9, r(X).")
    assert isinstance(either, Disjunction)
    assert [[part.op for part in alternative] for alternative in either.alternatives] == [["="], [">", "<"]]
    assert last.atom.relation == "r"


def test_a_group_may_hold_either():
    assert body("p(X) :- q(X), (X == 1 || X == 2).") == body("p(X) :- q(X), X == 1 || X == 2.")


def test_keys_may_have_types():
    (table,) = parse("materialize(path, 10, infinity, keys(1, 4:list)). p(X) :- path(X, _, _, _).").tables
    assert table.keys == (0, 3)


def test_ints_may_end_with_their_kind():
    (rule,) = parse("p(2U, 0x1I, 7u).").rules
    assert [arg.value for arg in rule.heads[0].args] == [2, 1, 7]


def test_names_may_have_a_namespace():
    (premise,) = body("p(X) :- chord::succ(X).")
    assert premise.atom.relation == "chord::succ"


@pytest.mark.parametrize(
    "text",
    [
        "p(K) :- q(K, N, S), K in (N, S].",
        "p(X) :- q(X), X == 1 || X > 3 && X < 9.",
        "p(X, L) :- a::q(X, L), L := f_append(L, X).",
    ],
)
def test_such_texts_read_back_as_the_same(text):
    program = parse(text)
    assert parse(render(program)) == program


@pytest.mark.parametrize("text", ["watch(p).", 'watchmod(p, "s").', 'r1 p(X) :- q(X).\nwatchmod(p, "ad").'])
def test_what_is_traced_is_no_fact(text):
    """P2's `watchmod` says what of a relation to trace; all of it is."""
    program = parse(text)
    assert [(each.kind, each.relation) for each in program.directives] == [("watch", "p")]
    assert all(rule.body for rule in program.rules)
