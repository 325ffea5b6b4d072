"""What the variables of a program may point to, with fields: Andersen's analysis of random methods."""

from __future__ import annotations

import random

from benchmarks.workloads.workload import RecursiveWorkload, Row

RULES = """
points(V, H) :- alloc(V, H).
points(V, H) :- assign(V, W), points(W, H).
field(H, F, G) :- store(V, F, W), points(V, H), points(W, G).
points(V, G) :- fetch(V, W, F), points(W, H), field(H, F, G).
"""
NEMO = """
points(?v, ?h) :- alloc(?v, ?h) .
points(?v, ?h) :- assign(?v, ?w), points(?w, ?h) .
field(?h, ?f, ?g) :- store(?v, ?f, ?w), points(?v, ?h), points(?w, ?g) .
points(?v, ?g) :- fetch(?v, ?w, ?f), points(?w, ?h), field(?h, ?f, ?g) .
"""
METHOD = 12
"""Variables of a method: most assignments stay within one."""


def points_to(variables: int, seed: int) -> RecursiveWorkload:
    """A statement of each kind for some of the variables; calls are assignments between methods.

    >>> sorted((name, len(rows)) for name, rows in points_to(120, 1).base.items())
    [('alloc', 40), ('assign', 120), ('fetch', 30), ('store', 30)]
    """
    choose = random.Random(seed)
    fields = [f"field{number}" for number in range(max(4, variables // 200))]

    def variable() -> int:
        return choose.randrange(variables)

    def near(one: int) -> int:
        start = one - one % METHOD
        return (
            variable() if choose.random() < 0.15 else start + choose.randrange(min(METHOD, variables - start))
        )

    kinds: dict[str, dict[Row, None]] = {"alloc": {}, "assign": {}, "store": {}, "fetch": {}}
    while len(kinds["alloc"]) < variables // 3:
        kinds["alloc"][variable(), len(kinds["alloc"])] = None
    while len(kinds["assign"]) < variables:
        one = variable()
        kinds["assign"][one, near(one)] = None
    while len(kinds["store"]) < variables // 4:
        one = variable()
        kinds["store"][one, choose.choice(fields), near(one)] = None
    while len(kinds["fetch"]) < variables // 4:
        one = variable()
        kinds["fetch"][one, near(one), choose.choice(fields)] = None
    assigned = list(kinds["assign"])
    return RecursiveWorkload(
        "points-to", RULES, {name: list(rows) for name, rows in kinds.items()}, ("points", "field"), "Nemo", NEMO,
        "assign", choose.sample(assigned, min(200, len(assigned))),
    )  # fmt: skip
