"""Classification of an ontology in EL: a taxonomy with conjunctions and existentials, as medical ones have them.

The rules are those of the usual calculus on normalised axioms. `isa(A, B)`: A is a kind of B. `both(A, B, C)`: what
is A and B is C. `some(A, R, B)`: every A has an R that is B. `any(R, A, B)`: what has an R that is A is B.
"""

from __future__ import annotations

import random

from benchmarks.workloads.workload import RecursiveWorkload, Row

RULES = """
kind(X, X) :- class(X).
kind(X, Z) :- kind(X, Y), isa(Y, Z).
kind(X, C) :- kind(X, A), kind(X, B), both(A, B, C).
has(X, R, B) :- kind(X, A), some(A, R, B).
kind(X, C) :- has(X, R, Y), kind(Y, A), any(R, A, C).
"""
NEMO = """
kind(?x, ?x) :- class(?x) .
kind(?x, ?z) :- kind(?x, ?y), isa(?y, ?z) .
kind(?x, ?c) :- kind(?x, ?a), kind(?x, ?b), both(?a, ?b, ?c) .
has(?x, ?r, ?b) :- kind(?x, ?a), some(?a, ?r, ?b) .
kind(?x, ?c) :- has(?x, ?r, ?y), kind(?y, ?a), any(?r, ?a, ?c) .
"""
LOCAL = 0.95
"""How often a parent is taken from the classes just before: taxonomies are deep, and mostly trees."""

DEFINED = 0.3
"""How often what has such a role is of a kind by that."""


def ontology(classes: int, seed: int) -> RecursiveWorkload:
    """About two parents a class, and fewer conjunctions and existentials than classes: 1.96 and 0.61 each.

    >>> small = ontology(100, 1)
    >>> len(small.base["class"]), len(small.base["isa"]), len(small.base["both"]), len(small.base["some"])
    (100, 196, 61, 61)
    """
    choose = random.Random(seed)
    roles = [f"role-{number}" for number in range(max(3, classes // 600))]
    names = [f"concept/{number:06d}" for number in range(classes)]

    def above(number: int) -> int:
        if choose.random() < LOCAL:
            return choose.randrange(max(0, number // 3 - 5), max(1, number // 3 + 1))
        return choose.randrange(max(1, number))

    isa: dict[Row, None] = {}
    while len(isa) < classes * 196 // 100:
        number = choose.randrange(1, classes)
        isa[names[number], names[min(above(number), number - 1)]] = None
    both: dict[Row, None] = {}
    some: dict[Row, None] = {}
    any_: dict[Row, None] = {}
    while len(both) < classes * 61 // 100:
        number = choose.randrange(2, classes)
        both[names[above(number)], names[choose.randrange(number)], names[above(above(number))]] = None
    while len(some) < classes * 61 // 100:
        number, other = choose.randrange(classes // 60, classes), choose.randrange(classes // 2, classes)
        role = choose.choice(roles)
        some[names[number], role, names[other]] = None
        if choose.random() < DEFINED:
            any_[role, names[other], names[above(above(number))]] = None
    base: dict[str, list[Row]] = {
        "class": [(name,) for name in names],
        "isa": list(isa),
        "both": list(both),
        "some": list(some),
        "any": list(any_),
    }
    return RecursiveWorkload(
        "ontology",
        RULES,
        base,
        ("kind", "has"),
        "Nemo",
        NEMO,
        "isa",
        choose.sample(list(isa), min(200, len(isa))),
    )
