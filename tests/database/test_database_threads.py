"""One thread at a time is inside a database, and nothing is called from inside a version."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

import headwater as hw
from headwater.database import Database

RULES = "p(X) :- e(X), held(X) = X. q(X, Y) :- p(X), p(Y)."


class Held:
    """A function for rules that stops in the middle of a version until it may go on."""

    def __init__(self) -> None:
        self.armed = False
        self.inside, self.go_on = threading.Event(), threading.Event()

    def __call__(self, value: int) -> int:
        if self.armed:
            self.inside.set()
            assert self.go_on.wait(60)
        return value


def database(held: Callable[[int], int], **options: Any) -> Database:
    db = hw.connect(functions={"held": (held, ["int"], "int")}, **options)
    db.define(RULES, insert={"e": [(1,)]})
    return db


@contextmanager
def applying(db: Database, held: Held) -> Iterator[Any]:
    """While another thread is in the middle of inserting a row."""
    held.armed = True
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(db.apply, insert={"e": [(2,)]})
        assert held.inside.wait(60)
        try:
            yield running
        finally:
            held.armed = False
            held.go_on.set()
        running.result(60)


CALLS: dict[str, Callable[[Database], object]] = {
    "apply": lambda db: db.apply(insert={"e": [(9,)]}),
    "define": lambda db: db.define("r(X) :- e(X)."),
    "advance": lambda db: db.advance(5),
    "what_if": lambda db: db.what_if(insert={"e": [(9,)]}),
    "subscribe": lambda db: db.subscribe("me", "p"),
    "unsubscribe": lambda db: db.unsubscribe("other"),
    "acknowledge": lambda db: db.acknowledge("other", 1),
    "checkpoint": lambda db: db.checkpoint(),
    "register": lambda db: db.register("g", abs, args=["int"], returns="int"),
    "close": lambda db: db.close(),
    "rows": lambda db: db["p"].rows(),
    "iter": lambda db: list(db["p"]),
    "len": lambda db: len(db["p"]),
    "contains": lambda db: (1,) in db["p"],
    "arrow": lambda db: db["p"].arrow(),
    "pandas": lambda db: db["p"].pandas(),
    "repr": lambda db: repr(db["p"]),
    "why": lambda db: db.why("p", (1,)),
    "why_not": lambda db: db.why_not("p", (7,)),
    "depends": lambda db: db.depends("e", (1,)),
    "evaluate": lambda db: db.evaluate("p", "counting"),
    "explain": lambda db: db.explain(),
    "nbytes": lambda db: db.nbytes,
    "types_if": lambda db: db.types_if({}),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_refused_while_another_thread_is_inside(call: str, tmp_path):
    held = Held()
    db = database(held, path=tmp_path / "state")
    db.subscribe("other", "p")
    with applying(db, held), pytest.raises(hw.DatabaseError) as caught:
        CALLS[call](db)
    assert caught.value.code == "in-use" and "threads='wait'" in str(caught.value)
    assert (sorted(db["p"].rows()), db.version) == ([(1,), (2,)], 2), "the one inside was not disturbed"
    CALLS[call](db)


def test_things_that_hold_on_to_the_database_are_refused_too():
    held = Held()
    db = database(held)
    evaluation = db.evaluate("p", "counting")
    why = db.why("p", (1,))
    changes = db.apply(insert={"e": [(5,)]})
    with applying(db, held):
        for read in (
            lambda: changes["q"].inserted,
            lambda: changes["q"].arrow(),
            lambda: evaluation[(1,)],
            lambda: list(evaluation),
            lambda: len(evaluation),
            lambda: evaluation.items(),
            lambda: evaluation.update({"e": {(1,): 2}}),
            why.proof,
        ):
            with pytest.raises(hw.DatabaseError, match="another thread"):
                read()
        assert changes["q"].counts == (3, 0), "known without looking"
    assert sorted(changes["q"].inserted) == [(1, 5), (5, 1), (5, 5)]


def test_changes_that_are_known_can_be_read_whatever_goes_on():
    held = Held()
    db = database(held)
    changes = db.apply(insert={"e": [(5,)]})
    assert len(changes["q"].inserted) == 3
    with applying(db, held):
        assert sorted(changes["q"].inserted) == [(1, 5), (5, 1), (5, 5)]


def test_what_is_committed_can_be_read_whatever_goes_on(tmp_path):
    held = Held()
    db = database(held, path=tmp_path / "state")
    db.subscribe("other", "p")
    with applying(db, held):
        assert [owed.version for owed in db.owed("other")] == [1]
        assert (db.version, db.marks, db.relations) == (1, {}, ("e", "p", "q"))


@pytest.mark.parametrize("call", CALLS)
def test_a_call_waits_if_it_is_to(call: str, tmp_path):
    held = Held()
    db = database(held, path=tmp_path / "state", threads="wait")
    db.subscribe("other", "p")
    with ThreadPoolExecutor(1) as pool:
        with applying(db, held):
            waiting = pool.submit(CALLS[call], db)
            assert not waiting.done()
        waiting.result(60)


def test_many_threads_that_wait_for_each_other_lose_nothing():
    db = hw.connect(threads="wait")
    db.define("reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), link(Z, Y).")

    def work(start: int) -> None:
        for i in range(start, start + 25):
            db.apply(insert={"link": [(i, i + 1)]})
            assert (i, i + 1) in db["reach"]
            db["reach"].rows()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(0, 100, 25)))
    assert (db.version, len(db["link"]), len(db["reach"])) == (101, 100, 5050)


@pytest.mark.parametrize("call", [name for name in CALLS if name != "close"] + ["close"])
@pytest.mark.parametrize("threads", ["refuse", "wait"])
def test_a_function_that_rules_call_may_not_use_the_database(call: str, threads: str, tmp_path):
    holder: list[Database] = []

    def calling(value: int) -> int:
        if value == 2:
            CALLS[call](holder[0])
        return value

    db = database(calling, path=tmp_path / "state", threads=threads)
    db.subscribe("other", "p")
    holder.append(db)
    with pytest.raises(hw.HeadwaterError, match="called from inside apply"):
        db.apply(insert={"e": [(2,)]})
    assert (db["p"].rows(), db.version) == ([(1,)], 1)
    assert db.apply(insert={"e": [(3,)]}).version == 2


def test_rows_to_insert_may_come_from_the_database_itself():
    db = database(Held())
    db.apply(insert={"e": ((x + 1,) for (x,) in db["p"] if (x + 1,) not in db["p"])})
    assert sorted(db["p"].rows()) == [(1,), (2,)]


def test_a_reading_call_may_read():
    """An annotation of the user's own that looks something up."""
    db = database(Held())
    seen = []
    db.evaluate("p", "counting", lambda relation, row: seen.append(len(db["e"])) or 1)
    assert seen == [1]
