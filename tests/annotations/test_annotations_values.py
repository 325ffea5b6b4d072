"""What annotations take, refuse, write and read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.annotations.bdd import BDD
from headwater.annotations.clearance import Clearance
from headwater.annotations.equations import Summand, solve
from headwater.annotations.minimal_dnf import MinimalDNF
from headwater.annotations.polynomial import Polynomial
from headwater.annotations.registry import ANNOTATIONS, annotation
from headwater.annotations.variables import Variables
from headwater.errors import DataError, EvaluationError, HeadwaterError


@pytest.mark.parametrize(
    ("name", "given_value"),
    [
        ("counting", -1),
        ("trust", 1),
        ("tropical", -1),
        ("tropical", float("nan")),
        ("tropical", True),
        ("viterbi", 1.5),
        ("clearance", "cosmic"),
        ("lineage", [1]),
        ("why", {1}),
        ("dnf", "p1"),
        ("polynomial", "p1"),
    ],
)
def test_values_outside_the_annotation_are_refused(name, given_value):
    with pytest.raises(EvaluationError) as caught:
        ANNOTATIONS[name]().value(given_value)
    assert caught.value.code == "bad-annotation"


@pytest.mark.parametrize(
    ("name", "given_value", "text"),
    [
        ("counting", 3, "3"),
        ("trust", "D", "D"),
        ("tropical", 2.5, "2.5"),
        ("viterbi", 0.25, "0.25"),
        ("clearance", "secret", "secret"),
        ("lineage", {2, 1}, "{p1, p2}"),
        ("why", [{1}, {1, 2}], "{p1} {p1, p2}"),
        ("dnf", [{1}, {1, 2}], "p1"),
        ("bdd", [{1}, {1, 2}, {3, 2}], "p1 + p2·p3"),
        ("polynomial", 3, "3"),
    ],
)
def test_values_are_taken_and_shown(name, given_value, text):
    one = ANNOTATIONS[name]()
    assert one.show(one.value(given_value)) == text


@pytest.mark.parametrize("name", sorted(set(ANNOTATIONS) - {"bdd", "absorption"}))
@given(data=st.binary(max_size=12))
def test_bytes_decode_to_an_element_or_are_refused(name, data):
    one = ANNOTATIONS[name]()
    try:
        value = one.decode(data)
    except DataError as error:
        assert error.code == "bad-annotation"
    else:
        assert one.equal(one.decode(one.encode(value)), value)


def test_polynomials_show_powers_and_counts():
    polynomials = Polynomial()
    p = polynomials.variable(1)
    twice = polynomials.plus(polynomials.times(p, p), polynomials.times(p, p))
    assert polynomials.show(twice) == "2·p1²"


def test_an_unknown_annotation_is_named():
    with pytest.raises(DataError) as caught:
        annotation("tropic")
    assert caught.value.code == "unknown-annotation"
    assert annotation(Clearance(("low", "high"))).zero == 2


def test_a_full_manager_of_diagrams_is_an_error_of_ours():
    small = BDD(nodes=64)
    with pytest.raises(HeadwaterError) as caught:
        value = small.zero
        for i in range(400):
            value = small.plus(value, small.times(small.variable(2 * i), small.variable(2 * i + 1)))
    assert caught.value.code == "out-of-nodes"


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_cycles_are_solved_or_refused_with_a_reason(name):
    """a and b derive each other; a is also derived from base row 1, b from base row 2."""
    one = ANNOTATIONS[name]()
    system = {
        "a": [Summand("r", ("p",)), Summand("r", ("b",))],
        "b": [Summand("r", ("q",)), Summand("r", ("a",))],
        "c": [Summand("r", ("a", "b"))],
    }
    base = {"p": one.variable(1), "q": one.variable(2)}
    if one.converges_on_cycles:
        solved = solve(system, one, base)
        for row, derivations in system.items():
            again = one.zero
            for derivation in derivations:
                term = one.one
                for premise in derivation.premises:
                    term = one.times(term, {**base, **solved}[premise])
                again = one.plus(again, term)
            assert one.equal(solved[row], again)
    else:
        with pytest.raises(EvaluationError) as caught:
            solve(system, one, base)
        assert caught.value.code == "diverges"
        assert one.diverges in caught.value.message


def test_equations_without_cycles_have_values_in_every_annotation():
    system = {"a": [Summand("r", ("p",)), Summand("s", ("p", "q"))], "b": [Summand("r", ("a",))]}
    shown = {}
    for name, make in ANNOTATIONS.items():
        one = make()
        shown[name] = one.show(solve(system, one, {"p": one.variable(1), "q": one.variable(2)})["b"])
    assert shown == {
        "counting": "2",
        "trust": "T",
        "lineage": "{p1, p2}",
        "why": "{p1} {p1, p2}",
        "dnf": "p1",
        "bdd": "p1",
        "absorption": "p1",
        "polynomial": "r(r(p1)) + r(s(p1·p2))",
        "tropical": "0",
        "viterbi": "1",
        "clearance": "public",
    }


def test_the_least_solution_on_cycles_is_the_minimal_one():
    dnf = MinimalDNF()
    alone = {"a": [Summand("r", ("b",))], "b": [Summand("r", ("a",))]}
    assert solve(alone, dnf, {}) == {"a": dnf.zero, "b": dnf.zero}


def test_a_number_is_not_given_again_before_it_is_reclaimed():
    rows = Variables()
    numbers = [rows.insert("x")]
    for _ in range(3):
        rows.delete("x")
        numbers.append(rows.insert("x"))
    assert numbers == [0, 1, 2, 3]
    assert rows.tombstones == {0, 1, 2}
    assert rows.delete("y") is None
    assert rows.number("x") == 3
    assert list(rows) == ["x"] and len(rows) == 1
    rows.reclaim([2, 0])
    assert [rows.insert(key) for key in "yzw"] == [0, 2, 4], "lowest first"
    assert rows.tombstones == {1} and rows.key(2) == "z"
