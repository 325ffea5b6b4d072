"""Columns of base relations come and go: rows keep their other values, rules that do not look at them stay right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headwater as hw

TEXT = """
link(src: string, dst: string).
reach(X, Y) :- link(X, Y).
reach(X, Y) :- link(X, Z), reach(Z, Y).
lone(X) :- link(X, Y), !link(Y, _), N = count : { link(X, _) }, N < 3.
"""
LINKS = [("a", "b"), ("b", "c")]


@pytest.fixture
def db() -> Any:
    with hw.connect() as db:
        db.define(TEXT, insert={"link": LINKS})
        yield db


def refused(call: Any) -> hw.HeadwaterError:
    with pytest.raises(hw.HeadwaterError) as caught:
        call()
    return caught.value


def everything(db: Any) -> Any:
    return db.version, db.texts, db.rules.rows(), {name: sorted(db[name].rows()) for name in db.relations}


def test_a_column_comes_with_a_default_and_goes(db: Any):
    views = set(db["reach"].rows()), set(db["lone"].rows())
    changes = db.add_column("link", "cost: int", default=7)
    assert list(changes) == [] and changes.version == 2
    assert set(db["link"].rows()) == {("a", "b", 7), ("b", "c", 7)} and db["link"].columns == (
        "src",
        "dst",
        "cost",
    )
    assert (set(db["reach"].rows()), set(db["lone"].rows())) == views
    assert db.apply(insert={"link": [("c", "d", 1), ("c", "d", 2)]})["reach"].counts == (3, 0)
    assert db.add_rule("dear(X, Y) :- link(X, Y, C), C > 1.")["dear"].counts == (3, 0)
    error = refused(lambda: db.drop_column("link", "cost"))
    assert error.code == "still-read" and "<text>:1:26" in error.message
    db.drop_rule("dear#1")
    db.drop_column("link", "cost")
    assert set(db["link"].rows()) == {*LINKS, ("c", "d")} and len(db["link"]) == 3
    assert db.apply(delete={"link": [("c", "d")]})["reach"].counts == (0, 3)


def test_a_column_in_the_middle_goes(db: Any):
    db.define(
        't(a: int, b: string, c: int). t(1, "x", 2). t(1, "y", 2). s(A, C) :- t(A, _, C). u(A) :- t(A, B, _).'
    )
    db.drop_column("t", "b")
    assert db["t"].rows() == [(1, 2)] and db["s"].rows() == [(1, 2)] and db["t"].columns == ("a", "c")
    assert db.rules.rows()[-1][1] == "u(A) :- t(A, _)."


def test_columns_that_take_nulls_need_no_default(db: Any):
    db.define(".add column link(note: string?)")
    assert set(db["link"].rows()) == {("a", "b", None), ("b", "c", None)}
    db.define('.add column link(kind: string = "road")')
    assert ("a", "b", None, "road") in db["link"]
    db.define("empty(x: int).")
    db.add_column("empty", "y: int")
    assert db.apply(insert={"empty": [(1, 2)]})["empty"].counts == (1, 0)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_columns_are_there_after_a_restart(tmp_path: Path, checkpoint: bool):
    with hw.connect(tmp_path) as db:
        db.define(TEXT + 'link("x", "y").', insert={"link": LINKS})
        if checkpoint:
            db.checkpoint()
        db.add_column("link", "cost: float", default=1.5)
        db.add_column("link", "kind: string?")
        db.drop_column("link", "cost")
        if checkpoint:
            db.checkpoint()
        before = everything(db)
    with hw.connect(tmp_path) as db:
        assert everything(db) == before and ("x", "y", None) in db["link"]
        db.apply(insert={"link": [("y", "z", "way")]})
        assert ("x", "z") in db["reach"]
        text = TEXT.replace("dst: string", "dst: string, kind: string?")
        for read in ("X, Y", "X, Z", "Y, _", "X, _"):
            text = text.replace(f"link({read})", f"link({read}, _)")
        assert not db.difference(text + 'link("x", "y", null).')


def test_columns_on_nodes():
    with hw.connect(run="threads", nodes=2, replicate=0) as db:
        db.define(TEXT, insert={"link": LINKS})
        db.add_column("link", "cost: int", default=7)
        db.apply(insert={"link": [("c", "d", 1)]})
        assert set(db["link"].rows()) == {("a", "b", 7), ("b", "c", 7), ("c", "d", 1)}
        assert ("a", "d") in db["reach"] and len(db["reach"]) == 6
        db.drop_column("link", "cost")
        assert db.apply(delete={"link": [("b", "c")]})["reach"].counts == (0, 4)


def test_keys_go_with_their_columns():
    with hw.connect() as db:
        db.define(
            "materialize(m, infinity, infinity, keys(2)). m(a: int, k: int, v: int).",
            insert={"m": [(1, 2, 3)]},
        )
        assert refused(lambda: db.drop_column("m", "k")).code == "still-read"
        db.drop_column("m", "a")
        assert db.apply(insert={"m": [(2, 9)]})["m"].counts == (1, 1) and db["m"].rows() == [(2, 9)]


@pytest.mark.parametrize(
    "call, code",
    [
        (lambda db: db.add_column("link", "cost: int"), "no-default"),
        (lambda db: db.add_column("link", "src: int", default=1), "duplicate-column"),
        (lambda db: db.add_column("link", "cost", default=1), "syntax"),
        (lambda db: db.add_column("link", "cost: nothing", default=1), "unknown-type"),
        (lambda db: db.add_column("link", "cost: int", default="x"), "wrong-type"),
        (lambda db: db.add_column("link", "a: int, b: int", default=1), "syntax"),
        (lambda db: db.add_column("reach", "cost: int", default=1), "not-declared"),
        (lambda db: db.add_column("nothing", "cost: int", default=1), "unknown-relation"),
        (lambda db: db.drop_column("link", "cost"), "unknown-column"),
        (lambda db: db.drop_column("link", "src"), "still-read"),
        (lambda db: db.drop_column("link", "src, dst"), "wrong-type"),
        (lambda db: db.define(".add column link(c: int = 1)\nlink(a, b)."), "unsupported"),
    ],
)
def test_refusals(db: Any, call: Any, code: str):
    before = everything(db)
    assert refused(lambda: call(db)).code == code
    assert everything(db) == before
    assert db.apply(insert={"link": [("c", "d")]})["reach"].counts == (3, 0)


def test_a_view_has_the_columns_of_its_rules(db: Any):
    db.define("two(x: string, y: string). two(X, Z) :- link(X, Y), link(Y, Z).")
    error = refused(lambda: db.add_column("two", "n: int", default=1))
    assert error.code == "not-a-base-relation" and "<text>:1:28" in error.message
