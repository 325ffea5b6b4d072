"""Every annotation keeps the laws it claims, on random elements."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.annotations.protocol import product, total
from headwater.annotations.registry import ANNOTATIONS

ROWS = st.integers(0, 5)
SETS = st.frozensets(ROWS, max_size=3)
DYADIC = st.integers(0, 64).map(lambda n: n / 64)
"""Confidences whose products of three are exact, so that no rounding blurs the laws."""


def built(annotation):
    """Random sums of products of base rows, through the annotation's own operations."""

    def build(terms):
        return total(
            annotation,
            (
                annotation.through(rule, product(annotation, map(annotation.variable, rows)))
                if rule
                else product(annotation, map(annotation.variable, rows))
                for rule, rows in terms
            ),
        )

    return st.lists(
        st.tuples(st.sampled_from(["", "", "m1", "m2"]), st.lists(ROWS, max_size=3)), max_size=3
    ).map(build)


def elements(annotation):
    special = {
        "counting": st.integers(0, 9),
        "trust": st.booleans(),
        "tropical": st.one_of(st.integers(0, 20), st.just(float("inf")), DYADIC),
        "viterbi": DYADIC,
        "clearance": st.integers(0, 4),
    }
    if annotation.name in special:
        return special[annotation.name]
    return st.one_of(built(annotation), st.sampled_from([annotation.zero, annotation.one]))


CLAIMS = {
    "associative plus": lambda s, a, b, c: (s.plus(a, s.plus(b, c)), s.plus(s.plus(a, b), c)),
    "associative times": lambda s, a, b, c: (s.times(a, s.times(b, c)), s.times(s.times(a, b), c)),
    "commutative plus": lambda s, a, b, c: (s.plus(a, b), s.plus(b, a)),
    "commutative times": lambda s, a, b, c: (s.times(a, b), s.times(b, a)),
    "neutral zero": lambda s, a, b, c: (s.plus(a, s.zero), a),
    "neutral one": lambda s, a, b, c: (s.times(a, s.one), a),
    "zero wins": lambda s, a, b, c: (s.times(a, s.zero), s.zero),
    "distributive": lambda s, a, b, c: (s.times(a, s.plus(b, c)), s.plus(s.times(a, b), s.times(a, c))),
    "rules distribute": lambda s, a, b, c: (
        s.through("m", s.plus(a, b)),
        s.plus(s.through("m", a), s.through("m", b)),
    ),
}


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_laws(name):
    annotation = ANNOTATIONS[name]()
    any_element = elements(annotation)

    @settings(max_examples=60, deadline=None)
    @given(any_element, any_element, any_element)
    def laws(a, b, c):
        for law, sides in CLAIMS.items():
            left, right = sides(annotation, a, b, c)
            assert annotation.equal(left, right), law
        if annotation.idempotent:
            assert annotation.equal(annotation.plus(a, a), a)
        if annotation.absorptive:
            assert annotation.equal(annotation.plus(a, annotation.times(a, b)), a)
            assert annotation.equal(annotation.plus(annotation.one, a), annotation.one)
        assert annotation.equal(annotation.decode(annotation.encode(a)), a)

    laws()


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_what_is_not_claimed_does_not_hold(name):
    annotation = ANNOTATIONS[name]()
    two = [annotation.variable(1), annotation.variable(2)]
    if not annotation.idempotent:
        assert not annotation.equal(annotation.plus(two[0], two[0]), two[0])
    if not annotation.absorptive:
        assert not annotation.equal(annotation.plus(two[0], product(annotation, two)), two[0])


@pytest.mark.parametrize("name", ["why", "dnf", "bdd", "absorption", "polynomial"])
def test_restricting_is_a_homomorphism_and_leaves_no_trace(name):
    annotation = ANNOTATIONS[name]()
    any_element = elements(annotation)

    @settings(max_examples=60, deadline=None)
    @given(any_element, any_element, SETS)
    def holds(a, b, gone):
        def cut(x):
            return annotation.restrict(x, gone)

        assert annotation.equal(cut(annotation.plus(a, b)), annotation.plus(cut(a), cut(b)))
        assert annotation.equal(cut(annotation.times(a, b)), annotation.times(cut(a), cut(b)))
        assert annotation.support(cut(a)).isdisjoint(gone)
        assert annotation.support(cut(a)) <= annotation.support(a)

    holds()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("+*-"), st.lists(ROWS, min_size=1, max_size=3)), max_size=8))
def test_diagrams_and_minimal_terms_are_the_same_functions(steps):
    dnf, bdd = ANNOTATIONS["dnf"](), ANNOTATIONS["bdd"]()
    one, other = dnf.zero, bdd.zero
    for step, rows in steps:
        if step == "-":
            one, other = dnf.restrict(one, rows), bdd.restrict(other, rows)
        else:
            do, undo = (dnf.plus, bdd.plus) if step == "+" else (dnf.times, bdd.times)
            one = do(one, product(dnf, map(dnf.variable, rows)))
            other = undo(other, product(bdd, map(bdd.variable, rows)))
        assert dnf.terms(one) == bdd.terms(other)
        assert dnf.encode(one) == bdd.encode(other)
        assert dnf.support(one) == bdd.support(other)
