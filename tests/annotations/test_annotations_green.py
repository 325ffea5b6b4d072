"""Examples 5, 6 and 7 of green-2007: provenance expressions of the three peers GUS, BioSQL and uBio.

The paper's example 6 writes U(3, c3) where its mapping m3 gives U(2, c2) from B(3, 2): n of B is the name.
"""

from __future__ import annotations

import pytest

from headwater.annotations.boolean import Trust
from headwater.annotations.equations import Summand, solve
from headwater.annotations.polynomial import Polynomial, evaluate
from headwater.annotations.why import WhyProvenance
from headwater.errors import EvaluationError

BASE = {"B(3,5)": 1, "U(2,5)": 2, "G(3,5,2)": 3, "G(1,2,3)": 4}
"""The edit logs of example 3; p1 to p3 as in example 6."""

GRAPH = {
    "B(3,5)": [],
    "B(3,2)": [Summand("m1", ("G(3,5,2)",)), Summand("m4", ("B(3,5)", "U(2,5)"))],
    "B(1,3)": [Summand("m1", ("G(1,2,3)",))],
    "B(3,3)": [Summand("m4", ("B(3,2)", "U(3,2)"))],
    "U(2,5)": [Summand("m2", ("G(3,5,2)",))],
    "U(3,2)": [Summand("m2", ("G(1,2,3)",))],
    "U(2,c2)": [Summand("m3", ("B(3,2)",))],
    "U(5,c1)": [Summand("m3", ("B(3,5)",))],
    "U(3,c3)": [Summand("m3", ("B(1,3)",)), Summand("m3", ("B(3,3)",))],
}
"""The graph of example 5: what each tuple is an immediate consequence of."""


def values(annotation, graph):
    return solve(graph, annotation, {row: annotation.variable(number) for row, number in BASE.items()})


def test_example_5_traces_paths_back_to_the_sources():
    lines = values(WhyProvenance(), GRAPH)
    assert {frozenset({3}), frozenset({1, 2})} <= lines["B(3,2)"]
    assert WhyProvenance().support(lines["B(3,2)"]) == {1, 2, 3}


def test_example_6_provenance_expressions():
    """With the mappings named there (m1, m3, m4), U(2,5) is the local insertion p2 alone."""
    polynomials = Polynomial()
    graph = {**GRAPH, "U(2,5)": []}
    solved = values(polynomials, graph)
    assert polynomials.show(solved["B(3,2)"]) == "m1(p3) + m4(p1·p2)"
    assert polynomials.show(solved["U(2,c2)"]) == "m3(m1(p3)) + m3(m4(p1·p2))"


@pytest.mark.parametrize(
    ("distrusted_rows", "distrusted_rules", "accepted"),
    [({2}, {"m1"}, False), ({1, 2}, set(), True), (set(), {"m1", "m4"}, False), ({3}, {"m4"}, False)],
)
def test_example_6_which_distrust_taints_the_tuple(distrusted_rows, distrusted_rules, accepted):
    solved = values(Polynomial(), {**GRAPH, "U(2,5)": []})
    trusted = evaluate(
        solved["B(3,2)"],
        Trust(),
        lambda row: row not in distrusted_rows,
        lambda rule: rule not in distrusted_rules,
    )
    assert trusted is accepted


def test_example_7_trust_of_the_tuple():
    """p1 and p3 are trusted, p2 is not: T·T + T·T·D = T. The same by evaluating the graph at once."""
    trust = Trust()
    told = {1: "T", 2: "D", 3: "T", 4: "T"}
    solved = values(Polynomial(), {**GRAPH, "U(2,5)": []})
    assert trust.show(evaluate(solved["B(3,2)"], trust, lambda row: trust.value(told[row]))) == "T"
    base = {row: trust.value(told[number]) for row, number in BASE.items()}
    assert trust.show(solve(GRAPH, trust, base)["B(3,2)"]) == "T"


def test_tuples_that_derive_each_other_have_a_trust_and_no_finite_expression():
    """With a synonym U(5,2), m4 leads from B(3,2) back to B(3,5)."""
    graph = {**GRAPH, "B(3,5)": [Summand("m4", ("B(3,2)", "U(5,2)"))]}
    base = dict.fromkeys([*BASE, "U(5,2)"], True)
    assert solve(graph, Trust(), base)["B(3,2)"] is True
    with pytest.raises(EvaluationError) as caught:
        values(Polynomial(), graph)
    assert caught.value.code == "diverges"
