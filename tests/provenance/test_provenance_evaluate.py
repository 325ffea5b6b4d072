"""`evaluate`: right at first, and right after every change of rows or of values."""

from __future__ import annotations

import random
import re
import zlib
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_lockstep import examples
from oracle_programs import RandomProgram
from oracle_strategies import BASE, Version, programs, streams
from provenance_cases import STRATEGIES, Case, cases, followed, positive

import headwater as hw
from headwater.annotations.equations import solve as solve_equations

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
Costs = dict[tuple[int, int], int]


def chance(*parts: Any) -> int:
    """A number that looks random and is the same in every run."""
    return zlib.crc32(repr(parts).encode())


def parts(shown: str) -> frozenset[frozenset[str]]:
    """Sums of products and sets of rows, whatever the order."""
    return frozenset(frozenset(re.findall(r"\w+\([^)]*\)|[\w.]+", term)) for term in shown.split(" + "))


def cheapest(costs: Costs) -> Costs:
    """The cheapest walk of one link or more between any two nodes, by networkx."""
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((a, b, cost) for (a, b), cost in costs.items())
    found: Costs = {}
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
    for (a, z), cost in costs.items():
        for b, rest in lengths[z].items():
            found[a, b] = min(found.get((a, b), cost + rest), cost + rest)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_cost_is_the_shortest_path_and_follows_rows_and_values(seed: int):
    rng = random.Random(seed)
    costs = {(rng.randrange(12), rng.randrange(12)): rng.randrange(1, 20) for _ in range(30)}
    db = hw.connect()
    db.define(REACH)
    db.apply(insert={"link": list(costs)})
    found = db.evaluate("reach", "tropical", {"link": costs})
    assert dict(found.items()) == cheapest(costs)
    for _ in range(25):
        action = rng.choice(["cost", "insert", "delete"])
        pair = rng.choice(sorted(costs)) if action != "insert" else (rng.randrange(12), rng.randrange(12))
        before = dict(found.items())
        if action == "delete":
            del costs[pair]
            db.apply(delete={"link": [pair]})
        else:
            costs[pair] = rng.randrange(1, 20)
            db.apply(insert={"link": [pair]})
            changed = found.update({"link": {pair: costs[pair]}})
            if action == "cost":
                assert changed == {
                    row: (before[row], now) for row, now in found.items() if now != before[row]
                }
        assert dict(found.items()) == cheapest(costs)


@settings(max_examples=examples(25))
@given(positive(), streams(length=4), st.sampled_from(STRATEGIES), st.integers(0, 2**32))
def test_trusted_rows_are_those_that_follow_from_trusted_rows(
    program: RandomProgram, stream: list[Version], strategy: str, seed: int
):
    """As green-2007, section 3.3, has it; clingo derives from the trusted rows alone, after every version."""

    def trusted(name: str, row: tuple) -> bool:
        return chance(name, row, seed) % 3 > 0

    views = [name for name in program.relations if name not in BASE]
    found: dict[str, Any] = {}
    for db, base in followed(program, stream, strategy):
        for view in views:
            found[view] = found.get(view) or db.evaluate(view, "trust", trusted)
        kept = {name: {row for row in rows if trusted(name, row)} for name, rows in base.items()}
        expected = solve(program, kept)
        for view in views:
            assert {row for row, value in found[view].items() if value} == expected[view]
            assert set(found[view]) == set(db[view].rows()) and len(found[view]) == len(db[view])


@settings(max_examples=examples(25))
@given(
    programs(),
    streams(length=4),
    st.sampled_from(["tropical", "viterbi", "clearance", "trust", "dnf", "lineage"]),
    st.integers(0, 2**32),
)
def test_what_is_kept_equals_what_is_evaluated_anew(
    program: RandomProgram, stream: list[Version], annotation: str, seed: int
):
    """Any program: through negation, aggregates, min and max."""

    def saying(version: int) -> Any:
        def said(name: str, row: tuple) -> Any:
            number = chance(name, row, seed, version if row[:1] == (0,) else 0) % 5
            return {
                "tropical": number,
                "viterbi": (number + 1) / 8,
                "clearance": ("public", "secret")[number % 2],
                "trust": number > 0,
            }.get(annotation)

        return said

    view = sorted(name for name in program.relations if name not in BASE)[-1]
    found = None
    for place, (db, _) in enumerate(followed(program, stream, "support")):
        if found is None:
            found = db.evaluate(view, annotation, saying(0))
        if place % 2:  # at times two versions are worked in at once
            found.update(saying(place))
            anew = db.evaluate(view, annotation, saying(place))
            assert {row: parts(found.show(row)) for row in found} == {
                row: parts(anew.show(row)) for row in anew
            }


@settings(max_examples=examples(15))
@given(cases(), st.sampled_from(["tropical", "viterbi", "clearance", "trust"]))
def test_best_first_gives_what_the_equations_give(case: Case, annotation: str):
    said = {
        "tropical": [0, 1, 5],
        "viterbi": [0, 0.5, 1],
        "clearance": ["public", "secret"],
        "trust": [True, False],
    }

    def value(name: str, row: tuple) -> Any:
        return said[annotation][chance(name, row, case.seed) % len(said[annotation])]

    for view in [name for name in case.program.relations if name not in BASE]:
        found = case.db.evaluate(view, annotation, value)._valuation
        base = {key: found.values[key] for key in found.graph.base}
        solved = solve_equations(found.equations(), found.annotation, base, found.rule)
        assert {**base, **solved} == found.values


def test_values_that_change_are_passed_on_only_as_far_as_they_matter():
    db = hw.connect()
    db.define(REACH)
    db.apply(insert={"link": [(n, n + 1) for n in range(50)] + [(0, 50)]})
    found = db.evaluate("reach", "tropical", {"link": lambda row: 1})
    assert found[0, 50] == 1 and len(found) == 51 * 50 // 2
    assert found.update({"link": {(0, 50): 40}}) == {(0, 50): (1, 40)}
    assert found.evaluated <= 3
    assert found.update({"link": {(0, 50): 100}}) == {(0, 50): (40, 50)}


def test_rules_carry_values_too():
    db = hw.connect()
    db.define("m1 p(X) :- q(X). m2 p(X) :- r(X).")
    db.apply(insert={"q": [(1,), (2,)], "r": [(2,)]})
    found = db.evaluate("p", "trust", rules={"m1": False})
    assert dict(found.items()) == {(1,): False, (2,): True}
    assert found.update(rules={"m1": True}) == {(1,): (False, True)}
    cost = db.evaluate("p", "tropical", {"q": 1, "r": 5}, rules={"m1": 10, "m2": 0})
    assert dict(cost.items()) == {(1,): 11, (2,): 5}


def test_confidence_and_clearance():
    db = hw.connect()
    db.define("p(X) :- q(X), r(X).")
    db.apply(insert={"q": [("a",)], "r": [("a",)]})
    assert db.evaluate("p", "viterbi", {"q": 0.5, "r": 0.5})["a",] == 0.25
    clearance = db.evaluate("p", "clearance", {"q": "secret", "r": "public"})
    assert clearance.show(("a",)) == "secret"


def test_rows_behind_numbers_are_named():
    db = hw.connect()
    db.define("p(X) :- q(X, _).")
    db.apply(insert={"q": [("a", 1), ("a", 2)]})
    found = db.evaluate("p", "dnf")
    assert sorted(found.show(("a",)).split(" + ")) == ['q("a", 1)', 'q("a", 2)']
    assert {found.fact(number).row for number in (0, 1)} == {("a", 1), ("a", 2)}


def test_a_new_definition_is_followed():
    db = hw.connect(strict=False)
    db.define("p(X) :- q(X).")
    db.apply(insert={"q": [(1,)], "r": [(2,)]})
    found = db.evaluate("p", "trust")
    db.define("p(X) :- r(X).")
    assert dict(found.items()) == {(1,): True, (2,): True}


def test_one_row_can_be_evaluated_without_the_view():
    db = hw.connect()
    db.define(REACH)
    db.apply(insert={"link": [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")]})
    why = db.why("reach", ("a", "c"))
    assert why.evaluate("tropical", {"link": {("a", "b"): 1, ("b", "c"): 1, ("a", "c"): 5}}) == 2
    assert why.evaluate("trust", {"link": {("a", "b"): False, ("a", "c"): False}}) is False


@pytest.mark.parametrize("annotation", ["counting", "polynomial"])
def test_what_does_not_end_on_cycles_is_refused_there_and_only_there(annotation: str):
    db = hw.connect()
    db.define(REACH)
    db.apply(insert={"link": [("a", "b"), ("b", "c"), ("a", "c")]})
    found = db.evaluate("reach", annotation)
    if annotation == "counting":
        assert found["a", "c"] == 2
    db.apply(insert={"link": [("c", "a")]})
    with pytest.raises(hw.errors.EvaluationError) as refused:
        found["a", "c"]
    assert refused.value.code == "diverges" and "circles" in refused.value.message
    with pytest.raises(hw.errors.EvaluationError):
        db.evaluate("reach", annotation)


def test_a_refused_evaluation_recovers_when_the_cycle_is_gone():
    db = hw.connect()
    db.define(REACH)
    db.apply(insert={"link": [("a", "b"), ("b", "a")]})
    db.apply(delete={"link": [("b", "a")]})
    found = db.evaluate("reach", "counting")
    db.apply(insert={"link": [("b", "a")]})
    with pytest.raises(hw.errors.EvaluationError):
        found["a", "b"]
    db.apply(delete={"link": [("b", "a")]})
    assert dict(found.items()) == {("a", "b"): 1}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"view": "nope", "annotation": "trust"}, "unknown-relation"),
        ({"view": "p", "annotation": "nope"}, "unknown-annotation"),
        ({"view": "p", "annotation": "tropical", "base": {"q": -1}}, "bad-annotation"),
        ({"view": "p", "annotation": "tropical", "base": 3}, "wrong-type"),
        ({"view": "p", "annotation": "trust", "limit": 1}, "too-many-derivations"),
    ],
)
def test_what_cannot_be_evaluated(arguments: dict[str, Any], code: str):
    db = hw.connect()
    db.define("p(X) :- q(X).")
    db.apply(insert={"q": [(1,), (2,)]})
    with pytest.raises(hw.HeadwaterError) as refused:
        db.evaluate(**arguments)
    assert refused.value.code == code


def test_a_refused_value_changes_nothing():
    db = hw.connect()
    db.define("p(X) :- q(X).")
    db.apply(insert={"q": [(1,)]})
    found = db.evaluate("p", "tropical", {"q": 3})
    with pytest.raises(hw.HeadwaterError):
        found.update({"q": "cheap"})
    assert found[1,] == 3
