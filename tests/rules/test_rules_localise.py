"""Premises that meet: where relations live, which copies are kept, and whether nodes have to talk."""

from __future__ import annotations

import pytest

from headwater.language.datalog import parse
from headwater.rules.check import check
from headwater.rules.checked import Absent, Premise
from headwater.rules.localise import choose_homes, localise, site
from headwater.rules.placement import EVERYWHERE, Localised
from headwater.values.functions import Functions

LARGE = 1000


def localised(text: str, *large: str) -> Localised:
    checked = check(parse(text), Functions())
    return localise(checked, choose_homes(checked, dict.fromkeys(large, LARGE), 100))


def home(program: Localised, name: str) -> str:
    placement = program.homes[name]
    if not placement.split:
        return placement.kind
    return program.checked.relations[name].columns[placement.column]


def quiet(program: Localised) -> bool:
    return all(route.quiet for route in program.routes.values())


LEFT = "reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), link(Z, Y)."
RIGHT = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
DOUBLE = "reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), reach(Z, Y)."
CHEAPEST = "c(X, Y, min<C>) :- w(X, Y, C). c(X, Y, min<C>) :- c(X, Z, A), w(Z, Y, B), C = A + B."


@pytest.mark.parametrize(
    ("text", "relation", "column"), [(LEFT, "reach", "X"), (RIGHT, "reach", "Y"), (CHEAPEST, "c", "X")]
)
def test_linear_recursion_over_a_small_relation_needs_no_exchange(text: str, relation: str, column: str):
    program = localised(text)
    assert home(program, relation) == column and quiet(program) and not program.notes


def test_over_a_large_relation_the_two_meet_on_what_they_join_by():
    program = localised(RIGHT, "link")
    assert (home(program, "link"), home(program, "reach")) == ("Y", "X")
    assert not quiet(program) and not program.notes


def test_a_relation_joined_with_itself_is_copied():
    program = localised(DOUBLE)
    assert program.notes == ("reach is copied, split by Y",)
    (stratum,) = program.checked.strata
    assert stratum.recursive and len(stratum.relations) == 2


def test_three_premises_in_a_chain_are_cut_in_two():
    program = localised("p(X, W) :- a(X, Y), b(Y, Z), c(Z, W).", "a", "b", "c")
    assert any("cut in two" in note for note in program.notes)


def test_what_is_absent_is_known_where_it_is_asked_for():
    """All nodes find the same `e`: none may miss a `q` that another one holds."""
    program = localised("p(X) :- e(X), !q(X). q(X) :- f(X, X).", "f")
    assert "q is copied, to every node" in program.notes


@pytest.mark.parametrize(
    ("text", "relation", "expected"),
    [
        ("n(count<X>) :- e(X, _).", "n", "one"),
        ("n(Y, count<X>) :- e(X, Y).", "n", "Y"),
        ("best(Y, max<X>) :- e(X, Y).", "best", "Y"),
        ("yes() :- e(1, 2).", "yes", "one"),
        ("k(a: int, b: int). materialize(k, infinity, infinity, keys(2)). p(A) :- k(A, _).", "k", "b"),
        ("k(a: int, b: int). materialize(k, infinity, 5, keys(1)). p(A) :- k(A, _).", "k", "one"),
    ],
)
def test_what_belongs_together_stays_together(text: str, relation: str, expected: str):
    assert home(localised(text, "e", "k"), relation) == expected


@pytest.mark.parametrize(
    "text",
    [
        LEFT, RIGHT, DOUBLE, CHEAPEST,
        "p(X, W) :- a(X, Y), b(Y, Z), c(Z, W), !d(X, W), X < W. q(Y, sum<X>) :- p(X, Y), a(Y, X).",
        "p(X) :- a(X, _), b(Y, Y), !c(X, Y). r(X, Y) :- p(X), r(Y, X). r(X, X) :- p(X), p(Y), c(X, Y).",
    ],
)  # fmt: skip
def test_every_rule_ends_up_with_premises_that_meet(text: str):
    """Of all premises that not every node has, a variable (or being on the first node) says where they are."""
    for large in ([], ["link", "w", "a", "b", "c", "d"], ["a"]):
        program = localised(text, *large)
        for stratum in program.checked.strata:
            for rule in stratum.rules:
                assert not site(rule, program.homes, stratum.relations).moves
                apart = [
                    item
                    for item in rule.body
                    if isinstance(item, Premise | Absent) and program.homes[item.relation] != EVERYWHERE
                ]
                places = {
                    item.args[program.homes[item.relation].column]
                    if program.homes[item.relation].split
                    else "one"
                    for item in apart
                }
                assert len(places) <= 1, rule.label
                assert apart == [] or any(isinstance(item, Premise) for item in apart), rule.label
