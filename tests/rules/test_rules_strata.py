"""Strata: what depends on what, in which order, and what is recursive."""

from __future__ import annotations

import random

import networkx
import pytest

from headwater.language.datalog import parse
from headwater.rules.check import check
from headwater.rules.strata import components, reachable
from headwater.values.functions import Functions


def _strata(text):
    checked = check(parse(text), Functions())
    return [(stratum.relations, stratum.recursive) for stratum in checked.strata]


@pytest.mark.parametrize(
    ("text", "strata"),
    [
        ("p(X) :- q(X).", [(("p",), False)]),
        ("c(X) :- b(X). b(X) :- a(X).", [(("b",), False), (("c",), False)]),
        ("r(X, Y) :- l(X, Y). r(X, Y) :- l(X, Z), r(Z, Y).", [(("r",), True)]),
        (
            "even(X) :- zero(X). even(X) :- odd(Y), next(Y, X). odd(X) :- even(Y), next(Y, X)."
            "n(X) :- e(X), !odd(X).",
            [(("even", "odd"), True), (("n",), False)],
        ),
        ("n(X) :- l(X, _), !r(X). r(X) :- s(X).", [(("r",), False), (("n",), False)]),
        ("sp(X, min<C>) :- s(X, C). sp(X, min<C>) :- sp(Y, D), l(Y, X, E), C = D + E.",
         [(("sp",), True)]),
        ("q(1).", []),
    ],
)  # fmt: skip
def test_relations_are_put_into_strata(text, strata):
    assert _strata(text) == strata


def test_each_stratum_reads_only_base_relations_and_earlier_strata():
    checked = check(
        parse(
            """
            a(X) :- b(X), !c(X, _). c(X, Y) :- d(X, Y), N = count : { e(X, Y) }, N > 1.
            e(X, Y) :- d(X, Y), b(Y). e(X, Y) :- e(X, Z), d(Z, Y). f(X, count<Y>) :- c(X, Y), a(Y).
            """
        ),
        Functions(),
    )
    seen = {name for name, info in checked.relations.items() if info.base}
    for stratum in checked.strata:
        allowed = seen | set(stratum.relations)
        for rule in stratum.rules:
            assert {item.relation for item in rule.body if hasattr(item, "relation")} <= allowed
        seen = allowed
    assert seen == set(checked.relations)


def test_components_agree_with_networkx_on_random_graphs():
    rng = random.Random(1)
    for _ in range(200):
        size = rng.randint(1, 12)
        graph = {str(i): [str(rng.randrange(size)) for _ in range(rng.randint(0, 3))] for i in range(size)}
        found = components(graph)
        theirs = networkx.DiGraph((a, b) for a, targets in graph.items() for b in targets)
        theirs.add_nodes_from(graph)
        assert {frozenset(c) for c in found} == {
            frozenset(c) for c in networkx.strongly_connected_components(theirs)
        }
        home = {name: i for i, members in enumerate(found) for name in members}
        assert all(home[b] <= home[a] for a, targets in graph.items() for b in targets)
        for name in graph:
            expected = {b for a in graph[name] for b in {a, *networkx.descendants(theirs, a)}}
            assert reachable(graph, name) == expected


def test_a_chain_of_thousands_of_relations_needs_no_deep_recursion():
    graph = {str(i): [str(i + 1)] for i in range(5000)} | {"5000": []}
    assert components(graph)[0] == ("5000",)
