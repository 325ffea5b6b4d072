"""Questions about rows on nodes: `why_not`, `depends` and `evaluate` answer what one process answers."""

from __future__ import annotations

import random
from typing import Any

import pytest

import headwater as hw

WAYS = [
    {"run": "threads", "nodes": 2},
    {"run": "threads", "nodes": 3, "strategy": "absorption"},
    {"run": "threads", "nodes": 2, "strategy": "relative"},
]
PROGRAM = """
link(a: string, b: string, c: int).
reach(X, Y) :- link(X, Y, _).
reach(X, Y) :- link(X, Z, _), reach(Z, Y).
cost(X, Y, min<C>) :- link(X, Y, C).
cost(X, Y, min<C>) :- link(X, Z, A), cost(Z, Y, B), C = A + B.
degree(X, count<Y>) :- link(X, Y, _).
node(X) :- link(X, _, _).
node(Y) :- link(_, Y, _).
cut(X, Y) :- node(X), node(Y), !reach(X, Y).
seen("a", "a").
seen(X, Y) :- reach(X, Y), X = Y.
"""
NAMES = "abcdef"


@pytest.fixture(params=WAYS, ids=lambda way: way.get("strategy", "ranked"))
def pair(request: Any):
    with hw.connect() as here, hw.connect(**request.param) as there:
        for db in (here, there):
            db.define(PROGRAM)
        yield here, there


def said(db: hw.Database, work: Any) -> Any:
    """What is answered, but for what was done to find it out. Which of several attempts comes nearest, and which
    repairs are found, depends on the order of rows: repairs are tried."""
    try:
        found = work(db).to_json()
    except hw.HeadwaterError as error:
        return error.code
    found.pop("notes", None)
    repairs = found.get("repairs", [])
    for repair in repairs:
        assert fixes(db, found["row"], repair)
    found["repairs"] = len(repairs)
    if "why_not" in found:
        found["why_not"] = found["why_not"]["note"], [way["rule"] for way in found["why_not"]["rules"]]
    return found


def fixes(db: hw.Database, row: Any, repair: Any) -> bool:
    """Whether a repair brings the row."""
    changes: dict[str, dict[str, list[Any]]] = {"insert": {}, "delete": {}}
    for what, rows in changes.items():
        for each in repair[what]:
            rows.setdefault(each["relation"], []).append(tuple(each["values"]))
    return tuple(row["values"]) in db.what_if(**changes)[row["relation"]].inserted


def code_of(db: hw.Database, work: Any) -> str:
    try:
        work(db)
    except hw.HeadwaterError as error:
        return error.code
    return ""


def test_random_changes(pair: tuple[hw.Database, hw.Database]):
    here, there = pair
    chance = random.Random(7)
    links: set[tuple[str, str, int]] = set()
    trust = {}
    for number in range(4):
        new = {(chance.choice(NAMES), chance.choice(NAMES), chance.randint(1, 9)) for _ in range(4)} - links
        gone = set(chance.sample(sorted(links), min(2, len(links))))
        links = (links | new) - gone
        for db in pair:
            db.apply(insert={"link": sorted(new)}, delete={"link": sorted(gone)})
            if not number:
                trust[db] = db.evaluate("reach", "viterbi", lambda relation, row: 1 / row[2])
        missing = [
            (name, (x, y, *rest))
            for name, rest in (("reach", ()), ("cut", ()), ("cost", (3,)))
            for x, y in [chance.sample(NAMES, 2)]
        ]
        missing.append(("degree", (chance.choice(NAMES), 7)))
        link = chance.choice(sorted(links))
        for each in missing:
            assert said(there, lambda db, each=each: db.why_not(*each)) == said(
                here, lambda db, each=each: db.why_not(*each)
            ), each
        for used in (("link", link), ("reach", link[:2])):
            assert said(there, lambda db, used=used: db.depends(*used)) == said(
                here, lambda db, used=used: db.depends(*used)
            ), used
        assert dict(trust[there].items()) == pytest.approx(dict(trust[here].items()))
        assert sorted(there["reach"].rows()) == sorted(here["reach"].rows())


def test_a_rule_more_is_known_to_the_next_question(pair: tuple[hw.Database, hw.Database]):
    for db in pair:
        db.apply(insert={"link": [("a", "b", 1)]})
        assert "cut" in str(db.why_not("cut", ("a", "b")))
        db.define("reach(X, X) :- node(X).")
        db.apply(insert={"link": [("b", "c", 1)]})
    here, there = pair
    for question in (lambda db: db.why_not("cut", ("a", "a")), lambda db: db.depends("link", ("a", "b", 1))):
        assert said(there, question) == said(here, question)


def test_rows_that_are_there_or_not_are_told_apart(pair: tuple[hw.Database, hw.Database]):
    here, there = pair
    for db in pair:
        db.apply(insert={"link": [("a", "b", 1)]})
    for work in (
        lambda db: db.why_not("reach", ("a", "b")),
        lambda db: db.depends("link", ("x", "y", 1)),
        lambda db: db.evaluate("nothing", "trust"),
        lambda db: db.evaluate("reach", "counting")[("b", "a")],
    ):
        assert code_of(there, work) == code_of(here, work) != ""
