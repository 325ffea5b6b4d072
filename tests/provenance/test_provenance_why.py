"""`why` means what it says: proofs prove, terms suffice, are minimal, and are all there are."""

from __future__ import annotations

import json
import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from oracle_lockstep import examples
from oracle_strategies import programs
from provenance_cases import STRATEGIES, Case, cases, fresh, layered, only, positive

import headwater as hw
from headwater.provenance.graph.terms import by_equations, by_search

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."


def reach(*links: str) -> hw.database.Database:
    db = hw.connect()
    db.define(REACH)
    db.apply(insert={"link": [tuple(link) for link in links]})
    return db


def hitting_set(terms: list[frozenset], rng: random.Random) -> set:
    chosen: set = set()
    for term in terms:
        if term.isdisjoint(chosen):
            chosen.add(rng.choice(sorted(term)))
    return chosen


# ------------------------------------------------------------------ against clingo


@settings(max_examples=examples(30))
@given(cases(positive()))
def test_terms_of_positive_programs_are_exactly_the_minimal_sets_that_suffice(case: Case):
    rng = random.Random(case.seed)
    for relation, row in case.rows(2):
        why = case.db.why(relation, row)
        terms = why.dnf(limit=None)
        if case.program.relations and why.exact:
            assert terms.complete and len(terms) == len(set(terms)) > 0
            for term in rng.sample(list(terms), min(3, len(terms))):
                assert case.holds(relation, row, only(term))
                assert row in fresh(case.program, only(term))[relation]
                for fact in rng.sample(sorted(term), min(3, len(term))):
                    assert not case.holds(relation, row, only(term - {fact}))
            if all(terms):
                gone = hitting_set(list(terms), rng)
                assert not case.holds(relation, row, case.without(gone))
                assert row not in fresh(case.program, case.without(gone))[relation]
            for one, other in combinations(terms, 2):
                assert not one <= other and not other <= one


@settings(max_examples=examples(40))
@given(cases())
def test_terms_suffice_wherever_they_claim_to_say_all(case: Case):
    """Any program: negation, aggregates, min and max inside recursion."""
    rng = random.Random(case.seed)
    for relation, row in case.rows(3):
        why = case.db.why(relation, row)
        terms = why.dnf(limit=20)
        assert len(terms) > 0
        if why.exact:
            term = rng.choice(list(terms))
            assert case.holds(relation, row, only(term))
            for fact in rng.sample(sorted(term), min(2, len(term))):
                assert not case.holds(relation, row, only(term - {fact}))
            if terms.complete and all(terms):
                assert not case.holds(relation, row, case.without(hitting_set(list(terms), rng)))


@settings(max_examples=examples(40))
@given(cases(programs().filter(layered)))
def test_terms_suffice_through_negation_and_aggregates_of_what_is_positive(case: Case):
    for relation, row in case.rows(3):
        for term in case.db.why(relation, row).dnf(limit=3):
            assert case.holds(relation, row, only(term))


@settings(max_examples=examples(30))
@given(cases())
def test_a_proof_rests_on_base_rows_and_each_step_on_earlier_ones(case: Case):
    for relation, row in case.rows(4):
        proof = case.db.why(relation, row).proof()
        known = set(proof.base)
        assert all(row in case.base[name] for name, row in proof.base)
        for step in proof.steps:
            assert known.issuperset(step.premises)
            known.add(step.fact)
        assert proof.steps[-1].fact == (relation, row)
        assert proof.shortest and len(proof.steps) <= proof.size


@settings(max_examples=examples(20))
@given(cases(positive()))
def test_both_ways_to_the_terms_agree(case: Case):
    for relation, row in case.rows(3):
        why = case.db.why(relation, row)
        at_once = by_equations(why._graph, why._key, 10**9)
        assert at_once is not None
        if len(at_once) <= 40:
            assert sorted(map(sorted, by_search(why._graph, why._key))) == sorted(map(sorted, at_once))


@settings(max_examples=examples(30))
@given(cases())
def test_a_search_that_was_cut_still_finds_a_proof(case: Case):
    for relation, row in case.rows(3):
        whole = case.db.why(relation, row)
        for options in ({"limit": 1}, {"limit": 3}, {"depth": 1}):
            cut = case.db.why(relation, row, **options)
            assert cut.proof().steps[-1].fact == (relation, row)
            assert cut.proof().size >= whole.proof().size
            if cut.proof().shortest:
                assert cut.proof().size == whole.proof().size
            assert cut.complete or any(cut.graph.more.values())
            if cut.dnf().complete:
                assert cut.dnf(None) == whole.dnf(None)


# ------------------------------------------------------------------ what is shown


def test_a_cycle_is_shown_as_a_cycle():
    graph = reach("ab", "bc", "cb").why("reach", ("a", "c")).graph
    assert [sorted(cycle) for cycle in graph.cycles] == [[("reach", ("b", "c")), ("reach", ("c", "c"))]]
    assert str(graph).splitlines() == [
        'reach("a", "c")',
        '  by reach#2: link("a", "b"), reach("b", "c")',
        'reach("b", "c")',
        '  by reach#1: link("b", "c")',
        '  by reach#2: link("b", "c"), reach("c", "c")',
        'reach("c", "c")',
        '  by reach#2: link("c", "b"), reach("b", "c")',
        "4 derivations of 3 rows from 3 base rows with 1 cycle",
    ]


def test_the_shortest_proof_is_the_shortest():
    db = reach("ab", "bc", "cd", "ax", "xd")
    assert str(db.why("reach", ("a", "d")).proof()) == (
        'reach("a", "d")  by reach#2: reach(X, Y) :- link(X, Z), reach(Z, Y).\n'
        '├─ link("a", "x")\n'
        '└─ reach("x", "d")  by reach#1: reach(X, Y) :- link(X, Y).\n'
        '   └─ link("x", "d")'
    )
    db.apply(delete={"link": [("a", "x")]})
    assert db.why("reach", ("a", "d")).proof().size == 3


def test_what_is_left_out_is_counted():
    db = hw.connect()
    db.define("p(X) :- q(X, Y).")
    db.apply(insert={"q": [(1, n) for n in range(50)]})
    why = db.why("p", (1,), limit=20)
    assert why.graph.more == {"rows": 0, "derivations": 30}
    assert "30 more derivations" in why.graph.summary()
    assert why.dnf(5).more is None
    whole = db.why("p", (1,)).dnf(5)
    assert (len(whole), whole.more, whole.complete) == (5, 45, False)
    assert "and 45 more" in str(db.why("p", (1,)))


def test_depth_limits_levels():
    why = reach("ab", "bc", "cd", "de").why("reach", ("a", "e"), depth=2)
    assert why.graph.more["rows"] == 1 and not why.complete
    assert [row.text for row in why.graph.rows if not row.looked_into] == ['reach("c", "e")']
    assert why.proof().size == 4


def test_a_deep_proof_needs_no_deep_stack():
    db = hw.connect()
    db.define(REACH)
    db.apply(insert={"link": [(n, n + 1) for n in range(1500)]})
    why = db.why("reach", (0, 1500))
    assert why.proof().size == 1500
    assert len(str(why.proof()).splitlines()) == 3000
    assert len(why.dnf()[0]) == 1500
    assert why.graph.dot() and why.graph.svg()


def test_negation_is_explained_by_what_is_absent():
    db = hw.connect()
    db.define("leaf(X) :- node(X), !link(X, _). dead(X) :- node(X), !alive(X). alive(X) :- fed(X).")
    db.apply(insert={"node": [(1,), (2,)], "link": [(1, 2)], "fed": [(1,)]})
    assert str(db.why("leaf", (2,)).proof()).splitlines()[1:] == ["├─ node(2)", "└─ no link(2, _)"]
    assert str(db.why("dead", (2,)).proof()).splitlines()[1:] == ["├─ node(2)", "└─ no alive(2)"]
    assert db.why("dead", (2,)).dnf() == {frozenset({("node", (2,))})}
    assert not db.why("dead", (2,)).exact


def test_count_and_sum_name_all_rows_that_made_them():
    db = hw.connect()
    db.define("n(X, count<Y>) :- q(X, Y). s(X, sum<Y>) :- q(X, Y).")
    db.apply(insert={"q": [(1, 5), (1, 7), (2, 9)]})
    both = {frozenset({("q", (1, 5)), ("q", (1, 7))})}
    assert db.why("n", (1, 2)).dnf() == both and db.why("n", (1, 2)).exact
    assert db.why("s", (1, 12)).dnf() == both and db.why("s", (1, 12)).exact
    assert "(sum of 2 bindings)" in str(db.why("s", (1, 12)))
    db.apply(insert={"q": [(1, -5)]})
    assert not db.why("s", (1, 7)).exact  # 7 alone gives the same


def test_min_names_the_row_that_is_the_minimum_and_counts_the_others():
    db = hw.connect()
    db.define("low(X, min<C>) :- q(X, C, _). high(X, max<C>) :- q(X, C, _).")
    db.apply(insert={"q": [(1, 5, "a"), (1, 5, "b"), (1, 8, "c"), (1, 9, "d")]})
    assert db.why("low", (1, 5)).dnf() == {frozenset({("q", (1, 5, "a"))}), frozenset({("q", (1, 5, "b"))})}
    assert "(min; 2 other candidates)" in str(db.why("low", (1, 5)))
    assert db.why("high", (1, 9)).dnf() == {frozenset({("q", (1, 9, "d"))})}


def test_aggregates_in_bodies_and_several_in_a_head_are_shown_in_the_users_words():
    db = hw.connect()
    db.define("""
        deg(X, N) :- node(X), N = count : { link(X, _) }.
        both(X, min<Y>, max<Y>) :- link(X, Y).
    """)
    db.apply(insert={"node": [(1,), (9,)], "link": [(1, 2), (1, 3)]})
    assert str(db.why("deg", (1, 2)).proof()).splitlines()[1:] == [
        "├─ node(1)",
        "└─ 2 = count : { link(1, _) }  by deg#1  (count of 2 bindings)",
        "   ├─ link(1, 2)",
        "   └─ link(1, 3)",
    ]
    assert str(db.why("deg", (9, 0)).proof()).splitlines()[1:] == ["├─ node(9)", "└─ no link(9, _)"]
    shown = str(db.why("both", (1, 2, 3)))
    assert "2 = min : { link(1, Y) }" in shown and "3 = max : { link(1, Y) }" in shown
    everything = str(db.why("both", (1, 2, 3)).to_json()) + shown
    assert "~" not in everything.replace("both~", "")


def test_parts_inside_parts_have_the_variables_of_the_rule():
    db = hw.connect()
    db.define("q(X) :- a(X), c(Y,Z), b(Y,_), e(Z,_). a(1). c(2,3). b(2,9). e(3,8).")
    shown = str(db.why("q", (1,)).graph).splitlines()
    assert shown[1] == "  by q#1: a(1), c(Y, Z), b(Y, _), e(Z, _)"
    db.apply(delete={"e": [(3, 8)]})
    assert "no c(Y, Z), b(Y, _), e(Z, _)" in str(db.why_not("q", (1,)))


def test_a_row_given_to_a_view_is_given():
    db = hw.connect()
    db.define('reach("x", "y"). ' + REACH)
    db.apply(insert={"link": [("x", "y")]})
    why = db.why("reach", ("x", "y"))
    assert why.dnf() == {frozenset({("reach", ("x", "y"))}), frozenset({("link", ("x", "y"))})}
    assert {row.kind for row in why.graph.rows} == {"view", "given", "base"}


def test_a_base_row_is_its_own_reason():
    why = reach("ab").why("link", ("a", "b"))
    assert str(why) == 'link("a", "b")  a base row: it was inserted'
    assert why.dnf() == {frozenset({("link", ("a", "b"))})}


def test_a_row_that_needs_nothing_always_holds():
    db = hw.connect()
    db.define("one(X) :- X = 1.")
    why = db.why("one", (1,))
    assert why.dnf() == {frozenset()}
    assert "it always holds" in str(why)


def test_an_explanation_outlives_later_versions():
    db = reach("ab", "bc")
    why = db.why("reach", ("a", "c"))
    before = (str(why.proof()), why.to_json())
    db.apply(delete={"link": [("a", "b"), ("b", "c")]}, insert={"link": [("q", "r")]})
    assert (str(why.proof()), why.to_json()) == before


@pytest.mark.parametrize("strategy", sorted({*STRATEGIES, "absorption-eager"}))
def test_every_strategy_is_explained_alike(strategy: str):
    db = hw.connect(strategy=strategy)
    db.define(REACH)
    db.apply(insert={"link": [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")]})
    db.apply(delete={"link": [("a", "c")]})
    assert db.why("reach", ("a", "c")).dnf() == {frozenset({("link", ("a", "b")), ("link", ("b", "c"))})}


def test_asking_leaves_the_statistics_of_versions_alone():
    db = reach("ab", "bc")
    db.why("reach", ("a", "c"))
    db.why_not("reach", ("c", "a"))
    changes = db.apply(insert={"link": [("c", "d")]})
    assert not [event for event in changes.statistics.events if event.code == "indexed"]


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("relation", "row", "code", "hint"),
    [
        ("nope", ("a", "b"), "unknown-relation", "there are"),
        ("reach", ("a",), "wrong-arity", ""),
        ("reach", (1, 2), "wrong-type", ""),
        ("reach", "ab", "wrong-type", "a tuple"),
        ("reach", ("b", "a"), "row-not-there", "why_not"),
        ("reach", ("b", "never seen"), "row-not-there", "why_not"),
    ],
)
def test_what_cannot_be_asked(relation, row, code, hint):
    with pytest.raises(hw.HeadwaterError) as refused:
        reach("ab").why(relation, row)
    assert refused.value.code == code
    assert hint in (refused.value.hint or "")


def test_a_best_row_that_improved_itself_rests_on_those_it_displaced():
    db = hw.connect()
    db.define("q(x: int). p(max<X>) :- q(X). p(max<Y>) :- p(X), Y = min(X + 1, 9). r(X) :- p(X).")
    db.apply(insert={"q": [(7,), (1,)]})
    why = db.why("r", (9,))
    assert [str(step.fact) for step in why.proof().steps] == ["p(7)", "p(8)", "p(9)", "r(9)"]
    assert str(why.dnf()) == "q(7)" and not why.exact
    assert db["p"].rows() == [(9,)]
    with pytest.raises(hw.DataError):
        db.why("p", (8,))


@pytest.mark.parametrize(
    "rule",
    [
        "p(X) :- a(X), b(_, _).",
        "p(X) :- a(X), b(Y, Z), a(Z).",
        "p(X) :- a(X), N = count : { b(X, _) }, N > 0.",
        "p(X) :- (a(X) ; b(X, _)), (b(X, _) ; b(_, X)), (a(X) ; b(X, X)).",
        "p(X) :- a(X). p(X) :- p(X), b(_, _), p(Y), b(Y, _).",
    ],
)
def test_names_that_no_text_has_are_not_in_the_data(rule):
    db = hw.connect()
    db.define(rule, insert={"a": [(1,), (2,)], "b": [(1, 2), (2, 1)]})
    for row in db["p"]:
        why = db.why("p", row)
        for shown in (json.dumps(why.to_json()), str(why), why.graph.dot(), why.graph.svg()):
            assert "~" not in shown
        parts = [one for one in why.to_json()["graph"]["rows"] if one["kind"] == "part"]
        assert all(one["relation"] is None and one["text"] for one in parts)
