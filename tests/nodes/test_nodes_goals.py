"""Questions by goal over rows on nodes: the same answers, and only rows that are asked for are brought."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_goals import goals
from oracle_lockstep import examples
from oracle_programs import RandomProgram
from oracle_strategies import programs, streams

import headwater as hw
from headwater.events import Scanned
from headwater.nodes.where import start_nodes

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
LINKS = [("a", "b"), ("b", "c"), ("c", "d"), ("x", "y")]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    with start_nodes(3, run="threads") as nodes:
        yield nodes


@pytest.fixture
def db(nodes: Any) -> Iterator[Any]:
    with hw.connect(run="threads", nodes=nodes, replicate=0) as db:
        db.define(f"link(src: string, dst: string). blocked(node: string). {REACH}")
        db.apply(insert={"link": LINKS, "blocked": [("c",)]})
        yield db


def test_rows_are_brought_as_they_are_asked_for(db: Any):
    db.apply(insert={"link": [(f"p{i}", f"p{i + 1}") for i in range(50)]})
    answers = db.query(f"{REACH.replace('reach', 'far')} ?- far('a', X), !blocked(X).")
    assert sorted(answers.rows()) == [("b",), ("d",)]
    assert answers.statistics.looked == {"link": 3, "blocked": 1}
    assert not [event for event in answers.statistics.events if isinstance(event, Scanned)]
    answers = db.query("link(X, _), !blocked(X)")
    assert Scanned("link", ("~goal",)) in answers.statistics.events and len(answers) == 53


def test_stored_and_virtual_views(db: Any):
    expected = {("b",), ("c",), ("d",)}
    assert set(db.query("reach(a, X)").rows()) == expected
    assert set(db["reach"].where(X="a").rows()) == {("a", *row) for row in expected}
    db.keep("reach", "virtual")
    assert set(db.query("reach(a, X)").rows()) == expected and len(db["reach"]) == 7
    assert ("a", "d") in db["reach"] and ("d", "a") not in db["reach"]
    db.apply(delete={"link": [("b", "c")]})
    assert db.query("reach(a, X)").rows() == [("b",)]
    db.rename("link", "edge")
    db.keep("reach", "stored")
    assert len(db["reach"]) == 3 and set(db.relations) == {"edge", "blocked", "reach"}
    db.drop("blocked")
    assert db.relations.rows()[-1][:2] == ("reach", "view")


def test_nothing_is_left_behind(db: Any):
    before = db.version, len(db.codec.strings)
    assert db.query("link('never seen', X)").rows() == []
    assert db.query("reach(X, Y), Z = cat(X, Y), X = 'a'").columns == ("X", "Y", "Z")
    assert (db.version, len(db.codec.strings)) == before


@settings(max_examples=examples(10), deadline=None)
@given(st.data(), programs())
def test_random_programs(nodes: Any, data: st.DataObject, program: RandomProgram):
    derived = sorted(name for stratum in program.strata for name in stratum.relations)
    state: dict[str, set] = {name: set() for name in program.base}
    with hw.connect(run="threads", nodes=nodes, replicate=0) as db:
        db.define(program.text() + "\n" + "\n".join(f".kind {name} virtual" for name in derived) + "\n")
        for version in data.draw(streams(length=2)):
            db.apply(version.insert, version.delete)
            for name, gone in version.delete.items():
                state[name] -= set(gone)
            for name, come in version.insert.items():
                state[name] |= set(come)
        expected = solve(program, state)
        for goal in data.draw(st.lists(goals(program), min_size=1, max_size=3)):
            assert set(db.query(goal.text).rows()) == goal.answers(expected[goal.relation]), goal.text


def test_what_keeps_a_sum_from_overflowing_comes_first(nodes: Any):
    largest = 2**63 - 1
    with hw.connect(run="threads", nodes=nodes, replicate=0) as db:
        db.define("f(y: int). v(S) :- f(Y), Y < 5, S = Y + 1. .kind v virtual")
        db.apply(insert={"f": [(largest,), (3,)]})
        assert set(db.query("f(X), v(4)").rows()) == {(largest,), (3,)}


@pytest.mark.parametrize("replicate", [0, 1000])
def test_helpers_of_stored_views_are_read_too(nodes: Any, replicate: int):
    text = "n(a: int). t(a: int, b: int). {} :- n(_), t(Y, Y). {} :- t(X, Y), n(_). {} :- t(X, _), t(Y, _)."
    with hw.connect(run="threads", nodes=nodes, replicate=replicate) as db:
        db.define(text.format("s(Y)", "p(X, Y)", "q(X, Y)"))
        db.define(text[text.index("{}") :].format("s1(Y)", "p1(X, Y)", "q1(X, Y)"))
        for view in ("p1", "q1"):
            db.keep(view, "virtual")
        db.apply(insert={"t": [(4, 7), (5, 5), (6, 1)], "n": [(1,), (2,)]})
        for view in ("p", "q"):
            assert sorted(db[f"{view}1"].rows()) == sorted(db[view].rows()) != []


def test_rows_are_brought_by_what_is_asked_from_behind(db: Any):
    db.define("before(X, Y) :- link(X, Y). before(X, Y) :- link(X, Z), before(Z, Y). .kind before virtual")
    db.apply(insert={"link": [(f"p{i}", f"p{i + 1}") for i in range(50)]})
    answers = db.query("before(X, 'd')")
    assert set(answers.rows()) == {("a",), ("b",), ("c",)}
    assert answers.statistics.looked == {"link": 3}
