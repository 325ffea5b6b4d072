"""What checked rules mean, compared with clingo on random data: negation, aggregates, disjunction."""

from __future__ import annotations

import random

import clingo
import pytest
from rules_evaluator import evaluate

from headwater.language.datalog import parse
from headwater.rules.check import check
from headwater.values.functions import Functions

HEADER = """
    .decl node(x: number)
    .decl link(x: number, y: number)
    .decl cost(x: number, y: number, c: number)
"""

# name, our text, clingo's text; the relation compared is `p`
CASES = [
    (
        "negation of a projection",
        "p(x) :- node(x), !link(x, _), !link(_, x).",
        "p(X) :- node(X), not link(X, _), not link(_, X).",
    ),
    (
        "negation of anything at all",
        "p(x) :- node(x), !link(_, _).",
        "some :- link(_, _). p(X) :- node(X), not some.",
    ),
    (
        "negation of an expression",
        "p(x) :- node(x), !node(x + 1).",
        "p(X) :- node(X), not node(X + 1).",
    ),
    (
        "count, zero included",
        "p(x, n) :- node(x), n = count : { link(x, _) }.",
        "p(X, N) :- node(X), N = #count { Y : link(X, Y) }.",
    ),
    (
        "count of all, zero included",
        "p(n) :- n = count : { link(_, _) }.",
        "p(N) :- N = #count { X, Y : link(X, Y) }.",
    ),
    (
        "count with a variable from outside",
        "p(x, n) :- node(x), n = count : { node(y), y < x }.",
        "p(X, N) :- node(X), N = #count { Y : node(Y), Y < X }.",
    ),
    (
        "sum of an expression over rows, zero included",
        "p(x, s) :- node(x), s = sum c * 2 : { cost(x, _, c) }.",
        "p(X, S) :- node(X), S = #sum { C * 2, Y, C : cost(X, Y, C) }.",
    ),
    (
        "sum of equal values counts each row",
        "p(s) :- s = sum c : { cost(_, _, c) }.",
        "p(S) :- S = #sum { C, X, Y : cost(X, Y, C) }.",
    ),
    (
        "min and max give no row for an empty group",
        "p(x, a, b) :- node(x), a = min c : { cost(x, _, c) }, b = max c : { cost(x, _, c) }.",
        "p(X, A, B) :- node(X), cost(X, _, _), A = #min { C : cost(X, _, C) },"
        " B = #max { C : cost(X, _, C) }.",
    ),
    (
        "an aggregate as an operand",
        "p(x) :- node(x), 1 < count : { link(x, _) } + count : { link(_, x) }.",
        "p(X) :- node(X), N = #count { Y : link(X, Y) }, M = #count { Y : link(Y, X) }, 1 < N + M.",
    ),
    (
        "nested aggregates",
        "p(x, n) :- node(x), n = count : { link(x, y), 1 < count : { link(y, _) } }.",
        "deg(Y, N) :- node(Y), N = #count { Z : link(Y, Z) }."
        "p(X, N) :- node(X), N = #count { Y : link(X, Y), deg(Y, M), M > 1 }.",
    ),
    (
        "nested aggregates that both look outside",
        "p(x, n) :- node(x), n = count : { link(x, y), 0 = count : { link(y, z), z > x } }.",
        "deg(X, Y, N) :- node(X), node(Y), N = #count { Z : link(Y, Z), Z > X }."
        "p(X, N) :- node(X), N = #count { Y : link(X, Y), deg(X, Y, 0) }.",
    ),
    (
        "one aggregate inside another's condition",
        "p(x, m) :- node(x), n = count : { link(x, _) }, m = count : { node(y), y < n }.",
        "p(X, M) :- node(X), N = #count { Y : link(X, Y) }, M = #count { Y : node(Y), Y < N }.",
    ),
    (
        "a disjunction inside an aggregate counts a row once",
        "p(x, n) :- node(x), n = count : { node(y), (link(x, y) ; link(y, x) ; y = x) }.",
        "near(X, Y) :- link(X, Y). near(X, Y) :- link(Y, X). near(X, X) :- node(X)."
        "p(X, N) :- node(X), N = #count { Y : node(Y), near(X, Y) }.",
    ),
    (
        "a disjunction under a count in the head counts a row once",
        "p(x, count<y>) :- node(x), (link(x, y) ; link(y, x)).",
        "near(X, Y) :- link(X, Y). near(X, Y) :- link(Y, X)."
        "p(X, N) :- node(X), near(X, _), N = #count { Y : near(X, Y) }.",
    ),
    (
        "a negated disjunction side by side with tests",
        "p(x, y) :- (link(x, y), !link(y, x) ; cost(x, y, c), c > 2), x != y.",
        "p(X, Y) :- link(X, Y), not link(Y, X), X != Y. p(X, Y) :- cost(X, Y, C), C > 2, X != Y.",
    ),
    (
        "several aggregates in one head",
        "p(x, count<y>, max<c>, sum<c>) :- cost(x, y, c).",
        "p(X, N, M, S) :- cost(X, _, _), N = #count { Y, C : cost(X, Y, C) }, M = #max { C : cost(X, _, C) },"
        " S = #sum { C, Y : cost(X, Y, C) }.",
    ),
    (
        "equalities in any order",
        "p(x, w) :- w = v + 1, v = u * 2, u = x, link(x, y), y = z, node(z).",
        "p(X, X * 2 + 1) :- link(X, Y), node(Y).",
    ),
    (
        "an argument computed from another premise",
        "p(x) :- node(x), link(x + 1, x).",
        "p(X) :- node(X), link(X + 1, X).",
    ),
    (
        "aggregates below negation and recursion",
        "p(x, y) :- big(x), link(x, y). p(x, z) :- p(x, y), link(y, z), !big(z)."
        ".decl big(x: number) big(x) :- node(x), 1 < count : { link(x, _) }.",
        "big(X) :- node(X), 1 < #count { Y : link(X, Y) }."
        "p(X, Y) :- big(X), link(X, Y). p(X, Z) :- p(X, Y), link(Y, Z), not big(Z).",
    ),
    (
        "a generator, also where its value is known",
        "p(x, y) :- node(x), y = range(0, x), link(y, _).",
        "p(X, Y) :- node(X), Y = 0..X-1, link(Y, _).",
    ),
    (
        "a rule that is written twice counts once",
        "p(x, count<y>) :- link(x, y). p(x, count<y>) :-  link(x, y).",
        "p(X, N) :- link(X, _), N = #count { Y : link(X, Y) }.",
    ),
    (
        "rules that are equal up to names are two rules",
        "p(x, count<y>) :- link(x, y). p(u, count<v>) :- link(u, v). p(x, count<w>) :- link(x, w), link(x, w).",
        "p(X, 3 * N) :- link(X, _), N = #count { Y : link(X, Y) }.",
    ),
    (
        "many disjunctions, with tests, negation and a variable of one alternative",
        "p(x, y) :- (link(x, y) ; cost(x, y, _)), (x < y ; link(y, z), z <= x), (!link(y, x) ; cost(_, x, c), c > 1),"
        " (node(x + 1) ; node(y + 1)), n = count : { link(_, y) }, (n = 0 ; n > 1).",
        "g(X, Y) :- link(X, Y). g(X, Y) :- cost(X, Y, _). h(X, Y) :- g(X, Y), X < Y."
        "h(X, Y) :- g(X, Y), link(Y, Z), Z <= X. k(X, Y) :- h(X, Y), not link(Y, X)."
        "k(X, Y) :- h(X, Y), cost(_, X, C), C > 1. m(X, Y) :- k(X, Y), node(X + 1). m(X, Y) :- k(X, Y), node(Y + 1)."
        "p(X, Y) :- m(X, Y), N = #count { Z : link(Z, Y) }, N != 1.",
    ),
    (
        "rows that only have to be there",
        "p(x) :- node(x), link(_, _), cost(_, y, c), c > y.",
        "some :- link(_, _). dear :- cost(_, Y, C), C > Y. p(X) :- node(X), some, dear.",
    ),
    (
        "independent parts, given the head and given a variable",
        "p(x) :- link(x, y), link(y, a), node(a), link(y, b), cost(b, _, _), cost(x, _, _), !link(b, b).",
        "p(X) :- link(X, Y), link(Y, A), node(A), link(Y, B), cost(B, _, _), cost(X, _, _), not link(B, B).",
    ),
    (
        "independent parts under min",
        "p(x, min<c>) :- cost(x, _, c), link(_, x), link(x, _), node(_).",
        "p(X, M) :- cost(X, _, _), link(_, X), link(X, _), M = #min { C : cost(X, _, C) }.",
    ),
    (
        "independent parts in a recursion",
        "p(x, y) :- link(x, y), cost(y, _, _). p(x, z) :- p(x, y), p(_, x), link(y, z), link(z, _), cost(y, _, _).",
        "p(X, Y) :- link(X, Y), cost(Y, _, _)."
        "p(X, Z) :- p(X, Y), p(_, X), link(Y, Z), link(Z, _), cost(Y, _, _).",
    ),
]


def _random_data(seed):
    rng = random.Random(seed)
    nodes = range(rng.choice([0, 3, 5]))
    pairs = [(x, y) for x in nodes for y in nodes]
    links = rng.sample(pairs, rng.randint(0, len(pairs) // 2))
    costs = {(x, y, rng.randint(1, 3)) for x, y in rng.sample(pairs, rng.randint(0, len(pairs) // 2))}
    return {"node": {(x,) for x in nodes}, "link": set(links), "cost": costs}


def _clingo(program, data):
    control = clingo.Control(["--warn=none"])
    facts = "".join(f"{r}({','.join(map(str, row))})." for r, rows in data.items() for row in rows)
    control.add("base", [], facts + program)
    control.ground([("base", [])])
    found = set()
    control.solve(
        on_model=lambda model: found.update(
            tuple(arg.number for arg in symbol.arguments)
            for symbol in model.symbols(atoms=True)
            if symbol.name == "p"
        )
    )
    return found


@pytest.mark.parametrize(("text", "program"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_checked_rules_mean_what_clingo_says(text, program):
    columns = text.split("p(")[1].split(") :-")[0].count(",") + 1
    declared = f".decl p({', '.join(f'c{i}: number' for i in range(columns))})"
    checked = check(parse(HEADER + declared + "\n" + text), Functions())
    for seed in range(40):
        data = _random_data(seed)
        assert evaluate(checked, data)["p"] == _clingo(program, data), seed
