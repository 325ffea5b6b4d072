"""When a recursive relation may keep only its best rows, and that nothing is lost by it."""

from __future__ import annotations

import random

import networkx
import pytest
from rules_evaluator import evaluate

from headwater.language.datalog import parse
from headwater.rules.check import check
from headwater.rules.checked import Selection
from headwater.values.functions import Functions

LINK = "link(s: int, d: int, c: int).\n"
PATHS = """
    path(X, Y, P, C, L) :- link(X, Y, C), P = [X, Y], L = 1.
    path(X, Y, P, C, L) :- link(X, Z, C0), path(Z, Y, P1, C1, L1),
                           C = C0 + C1, P = f_concat([X], P1), L = 1 + L1.
"""
COST = "cost(X, Y, min<C>) :- path(X, Y, P, C, L).\n"
BEST = "best(X, Y, P, C) :- path(X, Y, P, C, L), cost(X, Y, C).\n"
WIDE = """
    path(X, Y, P, B) :- link(X, Y, B), P = [X, Y].
    path(X, Y, P, B) :- link(X, Z, B0), path(Z, Y, P1, B1), B = min(B0, B1), P = f_concat([X], P1).
    width(X, Y, max<B>) :- path(X, Y, P, B).
"""


def _selections(text):
    return check(parse(LINK + text), Functions()).relations["path"].selections


@pytest.mark.parametrize(
    ("text", "selections"),
    [
        (PATHS + COST, [Selection((0, 1), 3, "min")]),
        (PATHS + COST + BEST, [Selection((0, 1), 3, "min")]),
        (PATHS + COST + BEST + "hops(X, Y, min<L>) :- path(X, Y, P, C, L).",
         [Selection((0, 1), 3, "min"), Selection((0, 1), 4, "min")]),
        # one end fixed
        (PATHS + "cost(Y, min<C>) :- path(1, Y, P, C, L).", [Selection((0, 1), 3, "min")]),
        # the aggregate in a body
        (PATHS + "near(X, Y, M) :- link(X, Y, _), M = min C : { path(X, Y, _, C, _) }.",
         [Selection((0, 1), 3, "min")]),
        # bounds that better values meet as well
        (PATHS.replace("L = 1 + L1", "L = 1 + L1, C < 100, 100 > C1") + COST, [Selection((0, 1), 3, "min")]),
        # the value only, and it never decreases
        (WIDE, [Selection((0, 1), 3, "max")]),
        # the right-recursive and the left-recursive rule
        ("path(X, Y, C) :- link(X, Y, C). path(X, Y, C) :- path(X, Z, C1), link(Z, Y, C2), C = C1 + C2 * 2."
         "cost(X, Y, min<C>) :- path(X, Y, C).", [Selection((0, 1), 2, "min")]),
    ],
)  # fmt: skip
def test_it_applies(text, selections):
    assert list(_selections(text)) == selections


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("nobody aggregates", PATHS),
        ("asked for by output", PATHS + COST + ".output path"),
        ("asked for by printsize", PATHS + COST + ".printsize path"),
        ("asked for by a query", PATHS + COST + "?- path(X, Y, P, C, L)."),
        ("another reader", PATHS + COST + "via(X, P) :- path(X, _, P, _, _)."),
        ("joined on the group alone", PATHS + COST + "b(X, P) :- path(X, Y, P, C, _), cost(X, Y, _)."),
        ("joined on part of the group", PATHS + COST + "b(X, P) :- path(X, Y, P, C, _), cost(X, _, C)."),
        ("read under a negation", PATHS + COST + "b(X) :- link(X, Y, C), !path(X, Y, _, C, _)."),
        ("counted", PATHS + COST + "n(X, count<P>) :- path(X, _, P, _, _)."),
        ("aggregated with a condition", PATHS + "cost(X, Y, min<C>) :- path(X, Y, P, C, L), L > 2."),
        ("a group without the column that is joined", PATHS + "cost(Y, min<C>) :- path(X, Y, P, C, L)."),
        ("rows whose value never decreases, but rows are asked for",
         WIDE + "b(X, Y, P) :- path(X, Y, P, B), width(X, Y, B)."),
        ("a value that falls", PATHS.replace("C = C0 + C1", "C = C0 - C1") + COST),
        ("a value that is multiplied by who knows what", PATHS.replace("C = C0 + C1", "C = C0 * C1") + COST),
        ("a value from another column", PATHS.replace("C = C0 + C1", "C = C0 + L1") + COST),
        ("a value that is not passed on", PATHS.replace("C = C0 + C1", "C = C0") + COST),
        ("a bound from below", PATHS.replace("L = 1 + L1", "L = 1 + L1, C > 3") + COST),
        ("a test of the path", PATHS.replace("L = 1 + L1", "L = 1 + L1, !f_member(P1, X)") + COST),
        ("a join on what is carried", PATHS.replace("L = 1 + L1", "L = 1 + L1, ok(L1)") + COST),
        ("a value that must agree", PATHS.replace("link(X, Z, C0)", "link(X, Z, C0), C1 = C0") + COST),
        ("two premises", PATHS.replace("link(X, Z, C0)", "path(X, Z, P0, C0, L0)") + COST),
        ("recursion through another relation",
         "path(X, Y, C) :- link(X, Y, C). path(X, Y, C) :- hop(X, Y, C)."
         "hop(X, Y, C) :- link(X, Z, C1), path(Z, Y, C2), C = C1 + C2. cost(X, Y, min<C>) :- path(X, Y, C)."),
        ("joined on another column", PATHS + COST + "b(X) :- cost(X, Y, C), path(X, Y, P, D, C)."),
    ],
)  # fmt: skip
def test_it_does_not_apply(why, text):
    assert _selections(text) == (), why


def test_it_says_so():
    (note,) = check(parse(PATHS + COST), Functions()).notes
    assert note.startswith("path keeps only rows that are best for cost")


def _random_links(rng, nodes, acyclic):
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if (a < b if acyclic else a != b)]
    return {
        (a, b, rng.randint(1, 4)) for a, b in rng.sample(pairs, min(len(pairs), rng.randint(1, 3 * nodes)))
    }


VIEWS = PATHS + COST + BEST + (
    "hops(X, Y, min<L>) :- path(X, Y, P, C, L). few(X, Y, P, L) :- hops(X, Y, L), path(X, Y, P, C, L).\n"
)  # fmt: skip


def test_without_cycles_nothing_changes_but_the_rows_of_the_relation_itself():
    pruned = check(parse(LINK + VIEWS), Functions())
    whole = check(parse(LINK + VIEWS + ".output path"), Functions())
    assert pruned.relations["path"].selections and not whole.relations["path"].selections
    rng = random.Random(7)
    for _ in range(30):
        links = {"link": _random_links(rng, 5, acyclic=True)}
        ours, theirs = evaluate(pruned, links), evaluate(whole, links)
        for view in ("cost", "best", "hops", "few"):
            assert ours[view] == theirs[view]
        assert ours["path"] <= theirs["path"]


def test_a_widest_path_has_the_right_width_without_cycles():
    pruned = check(parse(LINK + WIDE), Functions())
    whole = check(parse(LINK + WIDE + ".output path"), Functions())
    rng = random.Random(9)
    for _ in range(30):
        links = {"link": _random_links(rng, 5, acyclic=True)}
        assert evaluate(pruned, links)["width"] == evaluate(whole, links)["width"]


def test_with_cycles_it_ends_and_agrees_with_networkx():
    checked = check(parse(LINK + VIEWS), Functions())
    rng = random.Random(8)
    for _ in range(20):
        links = _random_links(rng, 5, acyclic=False)
        graph = networkx.DiGraph()
        graph.add_weighted_edges_from(links)
        expected = {
            (a, b, cost)
            for a, lengths in networkx.all_pairs_dijkstra_path_length(graph)
            for b, cost in lengths.items()
            if a != b
        }
        rows = evaluate(checked, {"link": links})
        assert {row for row in rows["cost"] if row[0] != row[1]} == expected
        for a, b, path, _ in rows["best"]:
            if a != b:
                assert list(path) in list(networkx.all_shortest_paths(graph, a, b, weight="weight"))
