"""Views with absorption provenance on nodes that do not wait for each other: after every version the same as in one
process and as clingo says; versions are undone, nodes are killed, and `why` is answered from what nodes hold.

Nodes are threads here, or processes where they are killed; messages, streams and nodes are those of Spark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

import pytest
from cases_loader import FUNCTIONS, Case, load_cases
from hypothesis import HealthCheck, given, settings
from nodes_in_processes import Processes, kill
from oracle_clingo import solve
from oracle_lockstep import Lockstep, examples
from oracle_programs import RandomProgram
from oracle_strategies import Version, dense_programs, programs, streams
from test_cases import apply_whole, rows_of

import headwater as hw
from headwater.annotations.dnf_or_bdd import DnfOrBdd
from headwater.database import Database
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.named import SCHEMES
from headwater.networks.annotated.shipping import EAGER
from headwater.nodes.nodes import Nodes
from headwater.nodes.where import start_nodes

COMMON = settings(
    deadline=None,
    database=None,
    derandomize="HEADWATER_ORACLE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def threads() -> Iterator[Nodes]:
    with start_nodes(3, run="threads", functions=FUNCTIONS) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def two() -> Iterator[Nodes]:
    with start_nodes(2, run="threads") as nodes:
        yield nodes


@pytest.fixture(scope="module")
def other() -> Iterator[Nodes]:
    with start_nodes(2, run="threads") as nodes:
        yield nodes


def follow(program: RandomProgram, stream: list[Version], *nodes: Nodes) -> None:
    strategies = ("absorption", "relative", "absorption-eager")
    runs: dict[str, dict[str, Any]] = {
        f"{each.size} nodes, {strategy}": {"run": "threads", "nodes": each, "strategy": strategy}
        for each, strategy in zip(nodes, strategies, strict=False)
    }
    with closing(Lockstep(program.text(), ["absorption"], runs, program.tables)) as lockstep:
        for version in stream:
            lockstep.follow(
                version, lambda state: solve(program, {name: state[name] for name in program.base})
            )


@settings(COMMON, max_examples=examples(8))
@given(programs(limited=True), streams())
def test_recursive_programs(
    threads: Nodes, two: Nodes, other: Nodes, program: RandomProgram, stream: list[Version]
):
    follow(program, stream, threads, two, other)


@settings(COMMON, max_examples=examples(6))
@given(dense_programs(), streams())
def test_much_changes_at_once(threads: Nodes, program: RandomProgram, stream: list[Version]):
    follow(program, stream, threads)


@pytest.mark.parametrize("case", list(load_cases()), ids=str)
def test_cases(threads: Nodes, case: Case):
    with hw.connect(run="threads", nodes=threads, strategy="absorption", functions=FUNCTIONS) as db:
        db.define(case.text)
        for number, (version, expected) in enumerate(zip(case.versions, case.expected, strict=True), 1):
            apply_whole(db, version)
            assert rows_of(db, case) == expected, f"version {number}"


# ---------------------------------------------------------------------- why

PARTS = """
    part(whole: string, part: string, n: int). broken(part: string).
    uses(X, Y) :- part(X, Y, _).
    uses(X, Y) :- uses(X, Z), uses(Z, Y).
    needs(X, count<Y>) :- uses(X, Y).
    affected(X) :- broken(X).
    affected(X) :- uses(X, Y), affected(Y).
    safe(X) :- part(X, _, _), !affected(X).
    deepest(X, max<N>) :- part(X, _, N).
    deepest(X, max<N>) :- part(X, Z, _), deepest(Z, N).
"""
"""A bill of materials: none of the papers' programs."""
VIEWS = ("uses", "needs", "affected", "safe", "deepest")


def materials(seed: int, versions: int) -> Iterator[dict[str, Any]]:
    random = Random(seed)
    names = [f"p{number}" for number in range(9)]
    there: set[tuple[str, str, int]] = set()
    for _ in range(versions):
        new = {(*random.sample(names, 2), random.randrange(5)) for _ in range(random.randrange(1, 6))}
        gone = set(random.sample(sorted(there), min(len(there), random.randrange(4)))) - new
        there = (there | new) - gone
        names_broken = [(name,) for name in random.sample(names, 2)]
        yield {
            "insert": {"part": sorted(new), "broken": names_broken[:1]},
            "delete": {"part": sorted(gone), "broken": names_broken[1:]},
        }


def same(db: Database, one: Database) -> None:
    for view in VIEWS:
        assert set(db[view].rows()) == set(one[view].rows()), view


@pytest.mark.parametrize("strategy", ["absorption", "absorption-eager", "support"])
def test_why_is_answered_from_what_nodes_hold_as_in_one_process(threads: Nodes, strategy: str):
    """Derivations, proofs, minimal explanations and notes; ranked nodes answer in the same way."""
    one = hw.connect()
    one.define(PARTS)
    with hw.connect(run="threads", nodes=threads, strategy=strategy) as db:
        db.define(PARTS)
        for change in materials(1, 4):
            db.apply(**change)
            one.apply(**change)
        same(db, one)
        for view in VIEWS:
            for row in sorted(one[view].rows())[::3]:
                found, expected = db.why(view, row), one.why(view, row)
                assert found.dnf() == expected.dnf(), (view, row)
                assert found.exact == expected.exact
                assert len(found.graph.derivations) == len(expected.graph.derivations)
                assert found.proof().size == expected.proof().size
        with pytest.raises(hw.DataError) as refused:
            db.why("uses", ("p1", "nothing"))
        assert refused.value.code == "row-not-there"
        base = sorted(one["part"].rows())[0]
        assert db.why("part", base).dnf() == one.why("part", base).dnf()


# ---------------------------------------------------------------------- what is undone, defined, kept


def test_a_version_that_fails_leaves_no_trace(threads: Nodes):
    with hw.connect(run="threads", nodes=threads, strategy="absorption") as db:
        db.define(PARTS + "share(X, Q) :- needs(X, N), quota(X, D), Q = N / D.")
        db.apply(insert={"part": [("a", "b", 1), ("b", "c", 2)], "quota": [("a", 2)]})
        before = {view: set(db[view].rows()) for view in (*VIEWS, "share", "part", "quota")}
        for _ in range(2):
            with pytest.raises(hw.EvaluationError, match="zero"):
                db.apply(insert={"part": [("c", "a", 3)], "quota": [("b", 0)]})
            assert {view: set(db[view].rows()) for view in before} == before
        changes = db.apply(insert={"part": [("c", "d", 3)]})
        assert set(changes["uses"].inserted) == {("a", "d"), ("b", "d"), ("c", "d")}
        assert db["share"].rows() == [("a", 1)]


def test_diagrams_without_room_are_refused_and_leave_no_trace(
    threads: Nodes, monkeypatch: pytest.MonkeyPatch
):
    """Eagerly, all derivations of all rows are kept; how many there are is the program's affair."""
    small = partial(absorption, EAGER, algebra=lambda: DnfOrBdd(1 << 9, most_terms=4))
    monkeypatch.setitem(SCHEMES, "absorption-eager", small)
    with hw.connect(run="threads", nodes=threads, strategy="absorption-eager") as db:
        db.define("reach(X, Y) :- link(X, Y). reach(X, Z) :- reach(X, Y), reach(Y, Z).")
        db.apply(insert={"link": [(1, 2), (2, 3)]})
        with pytest.raises(hw.EvaluationError) as refused:
            db.apply(insert={"link": [(x, y) for x in range(7) for y in range(7) if x != y]})
        assert refused.value.code == "out-of-nodes" and '"absorption"' in str(refused.value)
        assert set(db["reach"].rows()) == {(1, 2), (2, 3), (1, 3)}
        assert db.apply(insert={"link": [(3, 4)]})["reach"].inserted
        assert len(db["reach"].rows()) == 6


def test_what_if_and_refused_definitions_leave_no_trace(threads: Nodes):
    with hw.connect(run="threads", nodes=threads, strategy="absorption") as db:
        db.define(PARTS)
        db.apply(insert={"part": [("a", "b", 1), ("b", "c", 2)]})
        tried = db.what_if(delete={"part": [("b", "c", 2)]})
        assert set(tried["uses"].deleted) == {("a", "c"), ("b", "c")}
        assert len(db["uses"]) == 3
        with pytest.raises(hw.EvaluationError):
            db.define("bad(X, Y) :- part(X, _, N), Y = 1 / (N - 1).")
        assert "bad" not in db.relations and len(db["uses"]) == 3
        assert set(db.apply(insert={"part": [("c", "d", 4)]})["deepest"].inserted) == {
            ("a", 4), ("b", 4), ("c", 4),
        }  # fmt: skip


def test_rules_come_and_go(threads: Nodes):
    with hw.connect(run="threads", nodes=threads, strategy="absorption") as db:
        db.define("reach(X, Y) :- link(X, Y).")
        db.apply(insert={"link": [("a", "b"), ("b", "c")]})
        added = db.define("r2: reach(X, Y) :- link(X, Z), reach(Z, Y). back(Y, X) :- reach(X, Y).")
        assert added["reach"].inserted == [("a", "c")] and len(added["back"].inserted) == 3
        dropped = db.drop_rule("r2")
        assert [event.reason for event in db.statistics.events if event.code == "recomputed"] == [
            "new-network"
        ]
        assert dropped["reach"].deleted == [("a", "c")] and dropped["back"].deleted == [("c", "a")]
        assert not list(db.keep("back", "virtual")) and len(db["back"].rows()) == 2
        assert len(db.keep("back", "stored")["back"].inserted) == 2


def test_recursion_without_end_is_broken_off_and_undone(threads: Nodes):
    with hw.connect(run="threads", nodes=threads, strategy="absorption", max_rounds=1) as db:
        db.define("n(x: int). m(X) :- n(X). m(Y) :- m(X), Y = X + 1, X != 0.")
        with pytest.raises(hw.EvaluationError) as refused:
            db.apply(insert={"n": [(1,)]})
        assert refused.value.code == "no-fixpoint"
        assert db["m"].rows() == [] and db["n"].rows() == []
        db.apply(insert={"n": [(0,)]})
        assert db["m"].rows() == [(0,)]


def test_ctrl_c_breaks_a_version_off_and_undoes_it(threads: Nodes):
    with hw.connect(run="threads", nodes=threads, strategy="absorption") as db:
        db.define("n(x: int). m(X) :- n(X). m(Y) :- m(X), Y = X + 1, X != 0.")
        db.apply(insert={"n": [(0,)]})
        timer = Timer(0.5, threads.interrupts.note)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            db.apply(insert={"n": [(1,)]})
        timer.join()
        assert db["m"].rows() == [(0,)]
        db.apply(insert={"n": [(-2,)]})
        assert set(db["m"].rows()) == {(-2,), (-1,), (0,)}


def test_rows_that_tell_types_in_a_version_that_fails_leave_no_trace(threads: Nodes):
    """The network begins anew for the types, and again for what they were before."""
    with hw.connect(run="threads", nodes=threads, strategy="absorption") as db:
        db.define("p(X, Y) :- a(X), b(Y). q(X, Z) :- p(X, Y), d(Y), Z = 10 / Y.")
        db.apply(insert={"a": [("x",)]})
        with pytest.raises(hw.EvaluationError):
            db.apply(insert={"b": [(0,)], "d": [(0,)]})
        assert db["p"].rows() == [] and db["a"].rows() == [("x",)]
        changes = db.apply(insert={"b": [(5,)], "d": [(5,)]})
        assert changes["q"].inserted == [("x", 2)] and changes["p"].inserted == [("x", 5)]


def test_active_rules_act_in_the_same_version(threads: Nodes):
    with hw.connect(run="threads", nodes=threads, strategy="absorption") as db:
        db.define("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y). seen(x: string).")
        db.define("on +reach(X, X) do insert seen(X).")
        changes = db.apply(insert={"link": [("a", "b"), ("b", "a")]})
        assert set(changes["seen"].inserted) == {("a",), ("b",)}


def test_states_are_opened_again_on_nodes_and_in_one_process(two: Nodes, tmp_path: Path):
    with hw.connect(tmp_path, run="threads", nodes=two, strategy="absorption") as db:
        db.define(PARTS)
        for number, change in enumerate(materials(2, 5)):
            db.apply(**change)
            if number == 2:
                db.checkpoint()
        rows = {view: set(db[view].rows()) for view in VIEWS}
    with hw.connect(tmp_path, run="threads", nodes=two, strategy="absorption-eager") as db:
        assert {view: set(db[view].rows()) for view in VIEWS} == rows
        db.checkpoint()
    for strategy in ("support", "absorption"):
        with hw.connect(tmp_path, strategy=strategy) as db:
            assert {view: set(db[view].rows()) for view in VIEWS} == rows


def test_options_that_do_not_go_together_are_refused():
    with pytest.raises(hw.DataError, match="absorption"):
        hw.connect(run="auto", strategy="absorption")


# ---------------------------------------------------------------------- nodes that are lost


def test_nodes_are_killed_between_versions_and_in_the_middle_of_them():
    one = hw.connect()
    one.define(PARTS)
    hosting = Processes()
    with Nodes(hosting, 2) as nodes, hw.connect(run="threads", nodes=nodes, strategy="absorption") as db:
        db.define(PARTS)
        meeting = nodes.coordinator.meeting
        for number, change in enumerate(materials(3, 8)):
            if number == 2:
                kill(meeting.processes[0])
            if number == 3:
                kill(meeting.processes[1])
                text = "both(X) :- affected(X), deepest(X, _)."
                added = db.define(text)
                expected_rows = set(one.define(text)["both"].inserted)
                assert set(added["both"].inserted if "both" in added else []) == expected_rows
            if number == 5:
                network: Any = db.runner.network
                settle = network._settle

                def killing(settle=settle, network=network) -> None:
                    network._settle = settle
                    kill(meeting.processes[1])
                    settle()

                network._settle = killing
            before = {view: set(db[view].rows()) for view in VIEWS}
            changes = db.apply(**change)
            expected = one.apply(**change)
            same(db, one)
            for view in VIEWS:
                came, went = (
                    (set(changes[view].inserted), set(changes[view].deleted))
                    if view in changes
                    else (set(), set())
                )
                assert (before[view] | came) - went == set(one[view].rows())
                if view in expected:
                    assert (came, went) == (set(expected[view].inserted), set(expected[view].deleted))
        assert nodes.losses >= 3
