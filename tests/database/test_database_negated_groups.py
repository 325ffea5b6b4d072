"""Negated groups, under inserts and deletes, beside the same question asked in Python."""

from __future__ import annotations

import random

import pytest

import headwater

VALUES = range(5)

CASES = [
    ("q(X), !(r(X, Y), s(Y))", lambda q, r, s: {x for x in q if not any(a == x and y in s for a, y in r)}),
    ("q(X), !(s(Y), Y < X)", lambda q, r, s: {x for x in q if not any(y < x for y in s)}),
    ("q(X), !(r(X, _) ; s(X))", lambda q, r, s: {x for x in q if x not in {a for a, _ in r} | s}),
    ("q(X), !(s(Y), !(r(X, Y)))", lambda q, r, s: {x for x in q if all((x, y) in r for y in s)}),
    ("q(X), !(X = range(0, 3))", lambda q, r, s: {x for x in q if x not in range(3)}),
    ("q(X), !(X < 3)", lambda q, r, s: {x for x in q if x >= 3}),
    ("q(X), !(r(_, Y), s(Y))", lambda q, r, s: {x for x in q if not any(y in s for _, y in r)}),
    ("q(X), (!(r(X, Y), s(Y)), X > 1 ; s(X), !(X + 1 = 3))", lambda q, r, s: {
        x for x in q
        if (x > 1 and not any(a == x and y in s for a, y in r)) or (x in s and x != 2)
    }),
    ("q(X), X = count : { q(Y), !(r(Y, Z), s(Z)) }", lambda q, r, s: {
        x for x in q if x == sum(not any(a == y and z in s for a, z in r) for y in q)
    }),
]  # fmt: skip


@pytest.mark.parametrize("body, answer", CASES, ids=[body for body, _ in CASES])
def test_a_negated_group_follows_changes(body, answer):
    rng = random.Random(body)
    database = headwater.connect()
    database.define(
        f".decl q(x: number)\n.decl r(x: number, y: number)\n.decl s(x: number)\n.decl p(x: number)\np(X) :- {body}."
    )
    held: dict[str, set[tuple[int, ...]]] = {"q": set(), "r": set(), "s": set()}
    for _ in range(20):
        insert: dict[str, set[tuple[int, ...]]] = {"q": set(), "r": set(), "s": set()}
        delete: dict[str, set[tuple[int, ...]]] = {"q": set(), "r": set(), "s": set()}
        for name, width in (("q", 1), ("r", 2), ("s", 1)):
            for _ in range(2):
                row = tuple(rng.choice(VALUES) for _ in range(width))
                (delete if row in held[name] else insert)[name].add(row)
            held[name] = held[name] - delete[name] | insert[name]
        database.apply(
            insert={name: sorted(rows) for name, rows in insert.items()},
            delete={name: sorted(rows) for name, rows in delete.items()},
        )
        q, s = ({x for (x,) in held[name]} for name in ("q", "s"))
        assert {x for (x,) in database["p"]} == answer(q, held["r"], s)
