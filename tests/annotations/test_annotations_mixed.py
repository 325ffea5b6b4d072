"""Expressions that are terms or diagrams by their size are the same functions, in memory and on the wire."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.annotations import dnf_or_bdd, wire
from headwater.annotations.bdd import BDD
from headwater.annotations.dnf_or_bdd import DnfOrBdd
from headwater.annotations.minimal_dnf import MinimalDNF
from headwater.annotations.packed import pack, unpack
from headwater.annotations.protocol import product
from headwater.errors import DataError, EvaluationError, MissingExtra

ROWS = st.integers(0, 11)
STEPS = st.lists(
    st.tuples(st.sampled_from("++++**-"), st.lists(ROWS, min_size=1, max_size=4)), min_size=6, max_size=24
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(1, 8), st.integers(1, 4))
def test_the_mixed_encoding_equals_minimal_terms(steps, most_terms, groups):
    """With small limits, so that expressions go to and fro between the forms; two that number rows alike decode
    each other's bytes, whatever their orders are."""
    dnf = MinimalDNF()
    mixed = DnfOrBdd(1 << 14, lambda number: number % groups, most_terms)
    other = DnfOrBdd(1 << 14, most_terms=most_terms)
    one, two = dnf.zero, mixed.zero
    for step, rows in steps:
        if step == "-":
            one, two = dnf.restrict(one, rows), mixed.restrict(two, rows)
        else:
            more = product(dnf, map(dnf.variable, rows))
            if step == "+":
                one, two = dnf.plus(one, more), mixed.plus(two, more)
            else:
                more = dnf.plus(more, dnf.variable(rows[0] ^ 1))
                one, two = dnf.times(one, more), mixed.times(two, more)
        assert mixed.terms(two) == dnf.terms(one)
        assert mixed.equal(two, mixed.of(dnf.terms(one)))
        assert mixed.support(two) == dnf.support(one)
        assert mixed.equal(two, mixed.plus(one, mixed.zero))
        data = mixed.encode(two)
        assert other.terms(other.decode(data)) == dnf.terms(one)
        assert mixed.equal(mixed.decode(other.encode(other.decode(data))), two)
        assert len(data) <= len(dnf.encode(one)) or not mixed.listed(two)


def test_many_terms_are_a_diagram_and_few_are_listed_again():
    mixed = DnfOrBdd()
    value = mixed.one
    for pair in range(12):
        value = mixed.times(value, mixed.plus(mixed.variable(2 * pair), mixed.variable(2 * pair + 1)))
    assert not mixed.listed(value)
    assert len(mixed.terms(value)) == 4096
    data = mixed.encode(value)
    dnf = MinimalDNF()
    assert data[0] == wire.DIAGRAM and 200 * len(data) < len(dnf.encode(dnf.of(mixed.terms(value))))
    assert mixed.equal(mixed.decode(data), value)
    few = mixed.restrict(value, range(0, 24, 2))
    assert mixed.listed(few) and mixed.terms(few) == [list(range(1, 24, 2))]


def test_neighbours_of_the_network_are_neighbours_in_diagrams():
    """Rows of eight places come in turns; each place's rows are used together."""

    def nodes(locality):
        bdd = BDD(1 << 18, locality)
        value = bdd.zero
        for place in range(8):
            for turn in range(0, 40, 2):
                pair = (turn * 8 + place, (turn + 1) * 8 + place)
                value = bdd.plus(value, bdd.times(*map(bdd.variable, pair)))
        return value.node_count()

    def nodes_in_order_of_arrival():
        bdd = BDD(1 << 18)
        rows = [bdd.variable(number) for number in range(64)]
        value = bdd.zero
        for place in range(8):
            for turn in range(0, 8, 2):
                value = bdd.plus(value, bdd.times(rows[turn * 8 + place], rows[(turn + 1) * 8 + place]))
        return value.node_count()

    assert nodes(lambda number: number % 8) == 322, "a node for each of 320 rows, and two ends"
    assert nodes_in_order_of_arrival() > 1000, "of 64 rows"


def test_levels_of_known_groups_are_there_before_their_rows():
    """Rows of later groups come first, and nothing is put in another order when those of earlier groups come."""
    bdd = BDD(1 << 12, lambda number: number // 100, groups=5)
    late, early = bdd.variable(400), bdd.variable(0)
    order = [bdd._manager.var_to_level(variable.node_var()) for variable in (early, late)]
    assert order == [0, 4 * 16] and bdd._manager.num_vars() == 5 * 16
    more = [bdd.variable(number) for number in range(100, 120)]  # more than there are levels for one group
    levels = [bdd._manager.var_to_level(variable.node_var()) for variable in more]
    assert levels == list(range(16, 36)) and bdd._manager.var_to_level(late.node_var()) == 5 * 16


def test_levels_of_rows_that_are_forgotten_are_used_again():
    bdd = BDD(1 << 12, lambda number: number % 2)
    for start in range(0, 2000, 10):
        numbers = range(start, start + 10)
        value = product(bdd, map(bdd.variable, numbers))
        assert bdd.support(value) == frozenset(numbers)
        del value
        bdd.forget(numbers)
    assert bdd._manager.num_vars() == 32


@pytest.mark.parametrize("data", [b"\x09\x03\x00\x05\x00", b"\x09\x03\x00\x01", b"\x09\x02\x00", b"\x09"])
def test_bytes_that_are_no_diagram_are_refused(data):
    with pytest.raises(DataError) as refused:
        DnfOrBdd(1 << 12).decode(data)
    assert refused.value.code == "bad-annotation"


MASKS = st.frozensets(st.frozensets(st.integers(0, 3000), max_size=6).map(lambda s: sum(1 << n for n in s)))


@settings(max_examples=60, deadline=None)
@given(st.lists(MASKS, max_size=3))
def test_packed_expressions_come_back(expressions):
    assert unpack(pack(expressions)) == expressions


def test_packed_terms_take_bytes_by_their_rows_not_by_all_rows():
    random = Random(1)
    terms = frozenset(sum(1 << random.randrange(10_000) for _ in range(5)) for _ in range(3))
    assert len(pack([terms])) < 40 < sum(term.bit_length() // 8 for term in terms)


def test_without_diagrams_what_would_never_end_is_refused(monkeypatch):
    def missing(*_):
        raise MissingExtra("missing-extra", "no oxidd")

    monkeypatch.setattr(dnf_or_bdd, "BDD", missing)
    mixed = DnfOrBdd()
    sums = [mixed.of([[row] for row in range(start, start + 1100)]) for start in (0, 2000)]
    assert len(mixed.times(sums[0], mixed.variable(5000))) == 1100
    with pytest.raises(EvaluationError) as refused:
        mixed.times(*sums)
    assert refused.value.code == "out-of-terms"
