"""A database on nodes, as a user sees it: definitions, states, errors, moves. Nodes are threads."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight
import pytest

import headwater as hw
from headwater.database import Database
from headwater.events import MovedToNodes, Repartitioned
from headwater.nodes.where import start_nodes
from headwater.values.sources import keeping_nulls

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
CHAIN = [("a", "b"), ("b", "c"), ("c", "d")]
ALL = {(x, y) for x in "abcd" for y in "abcd" if x < y}


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    with start_nodes(3, run="threads", functions={"twice": (lambda n: 2 * n, ["int"], "int")}) as nodes:
        yield nodes


def on_nodes(nodes: Any, path: Path | None = None, **options: Any) -> Database:
    return hw.connect(path, run="threads", nodes=nodes, **options)


# ------------------------------------------------------------------ states


@pytest.mark.parametrize("replicate", [0, 100])
def test_a_state_written_by_nodes_opens_in_one_process_and_on_other_nodes(
    nodes: Any, tmp_path: Path, replicate: int
):
    with on_nodes(nodes, tmp_path, replicate=replicate) as db:
        db.define(REACH)
        db.apply(insert={"link": CHAIN})
        db.checkpoint()
        db.apply(insert={"link": [("d", "e")]})
    with hw.connect(tmp_path) as db:
        assert len(db["reach"]) == 10 and ("a", "e") in db["reach"]
        db.apply(delete={"link": [("d", "e")]})
        db.checkpoint()
    with hw.connect(tmp_path, run="threads", nodes=2, replicate=replicate) as db:
        assert set(db["reach"].rows()) == ALL
        assert db.apply(delete={"link": [("b", "c")]})["reach"].counts == (0, 4)
        db.checkpoint()
    with on_nodes(nodes, tmp_path, replicate=replicate) as db:
        assert set(db["reach"].rows()) == {("a", "b"), ("c", "d")}


def test_what_a_checkpoint_holds_is_not_derived_again(nodes: Any, tmp_path: Path):
    with on_nodes(nodes, tmp_path, strict=False) as db:
        db.define(REACH)
        db.apply(insert={"link": CHAIN})
        db.checkpoint()
        first = {file.name for file in (tmp_path / "segments").iterdir()}
        db.apply(insert={"other": [(1,)]})
        db.checkpoint()
        kept = first & {file.name for file in (tmp_path / "segments").iterdir()}
        assert kept, "segments of relations that did not change are kept"
    with on_nodes(nodes, tmp_path) as db:
        assert db.apply(insert={"link": [("x", "y")]}).statistics.derivations == 1


def test_a_relation_that_outgrows_every_node_is_split(nodes: Any):
    with on_nodes(nodes, replicate=4) as db:
        db.define(REACH)
        db.apply(insert={"link": CHAIN})
        assert "  link: on every node" in db.explain().lines
        changes = db.apply(insert={"link": [("d", "e"), ("e", "f")]})
        assert Repartitioned(("link",)) in changes.statistics.events
        assert any(line.startswith("  link: split by") for line in db.explain().lines)
        assert set(changes["reach"].inserted) == {(x, y) for x in "abcde" for y in "ef" if x < y}
        assert len(db["reach"]) == 15


def test_auto_moves_when_the_state_outgrows_its_budget(nodes: Any, tmp_path: Path):
    with hw.connect(tmp_path, run="auto", nodes=nodes, budget=50_000) as db:
        db.define(REACH)
        db.apply(insert={"link": CHAIN})
        assert not db.explain().lines[0].startswith("runs on")
        links = [(f"n{i}", f"n{i + 1}") for i in range(60)]
        changes = db.apply(insert={"link": links})
        moved = changes.statistics.events[-1]
        assert isinstance(moved, MovedToNodes) and (moved.version, moved.budget) == (3, 50_000)
        assert "outgrew the budget of 50,000" in db.explain().lines[0]
        assert len(db["reach"]) == 6 + 60 * 61 // 2
        assert db.apply(delete={"link": [links[30]]})["reach"].counts == (0, 31 * 30)


# ------------------------------------------------------------------ definitions


def test_rules_can_be_added_while_there_are_rows(nodes: Any):
    with on_nodes(nodes, replicate=0) as db:
        db.apply(insert={"link": CHAIN})
        assert db.define(REACH)["reach"].counts == (6, 0)
        assert db.define("reach(X, Y) :- back(Y, X).")["reach"].counts == (0, 0)
        assert db.apply(insert={"back": [("a", "d")]})["reach"].counts == (4, 0)
        changes = db.define("far(X, count<Y>) :- reach(X, Y). loop(X) :- reach(X, X), !quiet(X).")
        assert sorted(changes["far"].inserted) == [("a", 4), ("b", 3), ("c", 2), ("d", 1)]
        assert db["loop"].rows() == [("a",)]


def test_a_base_relation_that_gets_rules_keeps_its_rows(nodes: Any):
    with on_nodes(nodes, replicate=0) as db:
        db.apply(insert={"link": [(n, n + 1) for n in range(10)]})
        db.define("link(X, Y) :- more(X, Y).")
        db.apply(insert={"more": [(50, 51)]})
        assert len(db["link"]) == 11


def test_keys_lifetimes_and_sizes(nodes: Any):
    text = """
        cost(k: string, v: int). materialize(cost, infinity, infinity, keys(1)).
        seen(x: int). materialize(seen, 10, infinity, keys(1)).
        last(x: int). materialize(last, infinity, 2, keys(1)).
        total(sum<V>) :- cost(_, V). there(X) :- seen(X). recent(X) :- last(X).
    """
    for replicate in (0, 100):
        with on_nodes(nodes, replicate=replicate) as db:
            db.define(text)
            db.apply(insert={"cost": [("a", 1), ("b", 2)], "seen": [(1,), (2,)], "last": [(1,), (2,)]})
            changes = db.apply(insert={"cost": [("a", 5)], "last": [(3,)]})
            assert (changes["total"].inserted, changes["total"].deleted) == ([(7,)], [(3,)])
            assert sorted(db["recent"].rows()) == [(2,), (3,)]
            db.advance(5)
            db.apply(insert={"seen": [(2,)]})
            assert sorted(db.advance(12)["there"].deleted) == [(1,)]


@pytest.mark.parametrize("replicate", [0, 100])
def test_lifetimes_and_sizes_survive_on_other_nodes(nodes: Any, tmp_path: Path, replicate: int):
    text = """
        seen(x: int). materialize(seen, 10, infinity, keys(1)).
        last(x: int). materialize(last, infinity, 2, keys(1)).
        there(X) :- seen(X). recent(X) :- last(X). number(count<X>) :- seen(X).
    """
    with on_nodes(nodes, tmp_path, replicate=replicate) as db:
        db.define(text)
        db.apply(insert={"seen": [(1,), (2,), (3,)], "last": [(1,), (2,)]})
        db.advance(4)
        db.apply(insert={"seen": [(2,), (7,)], "last": [(9,)]})
        db.checkpoint()
    with hw.connect(tmp_path, run="threads", nodes=2, replicate=replicate) as db:
        assert (sorted(db["recent"].rows()), db["number"].rows()) == ([(2,), (9,)], [(4,)])
        assert sorted(db.advance(11)["there"].deleted) == [(1,), (3,)]
        db.apply(insert={"last": [(12,)]})
    with hw.connect(tmp_path) as db:
        assert (sorted(db["recent"].rows()), db["number"].rows()) == ([(9,), (12,)], [(2,)])
        assert sorted(db.advance(15)["there"].deleted) == [(2,), (7,)]


def test_python_functions_run_on_nodes(nodes: Any):
    with on_nodes(nodes, replicate=0, functions={"twice": (lambda n: 2 * n, ["int"], "int")}) as db:
        db.define("double(X, Y) :- n(X), Y = twice(X).")
        db.apply(insert={"n": [(n,) for n in range(9)]})
        assert sorted(db["double"].rows()) == [(n, 2 * n) for n in range(9)]
        with pytest.raises(hw.DataError) as refused:
            db.register("late", lambda n: n, returns="int")
        assert refused.value.code == "nodes-are-running"


# ------------------------------------------------------------------ what goes wrong


def test_an_error_on_one_node_takes_the_version_back_on_all(nodes: Any):
    with on_nodes(nodes, replicate=0) as db:
        db.define("n(x: int). share(X, Y) :- n(X), Y = 12 / X. all(X) :- share(X, _).")
        db.apply(insert={"n": [(1,), (2,), (3,)]})
        with pytest.raises(hw.EvaluationError) as refused:
            db.apply(insert={"n": [(0,), (4,), (6,), (7,), (8,)]})
        assert refused.value.code == "division-by-zero" and "share" in str(refused.value)
        assert sorted(db["all"].rows()) == [(1,), (2,), (3,)] and db.version == 2
        db.apply(insert={"n": [(4,)]}, delete={"n": [(1,)]})
        assert sorted(db["all"].rows()) == [(2,), (3,), (4,)]


def test_a_recursion_without_end_is_stopped_on_all_nodes(nodes: Any):
    with on_nodes(nodes, replicate=0, max_rounds=40) as db:
        db.define("up(X) :- start(X). up(Y) :- up(X), Y = X + 1.")
        with pytest.raises(hw.EvaluationError) as refused:
            db.apply(insert={"start": [(1,)]})
        assert refused.value.code == "no-fixpoint"
        assert len(db["up"]) == 0


def test_what_only_an_engine_of_this_process_has_is_refused(nodes: Any):
    with on_nodes(nodes) as db:
        db.define(REACH)
        db.apply(insert={"link": CHAIN})
        assert db.what_if(delete={"link": [("b", "c")]})["reach"].counts == (0, 4)
        assert set(db["reach"].rows()) == ALL and db.version == 2
        assert len(db.why("reach", ("a", "c")).dnf()) == 1
        with pytest.raises(hw.DataError) as refused:
            _ = db.engine
        assert refused.value.code == "on-nodes" and refused.value.hint


def test_values_that_nodes_have_made_are_found_before_they_were_read(nodes: Any):
    """Strings and labelled nulls that come from rules: this process has not seen them."""
    with on_nodes(nodes) as db:
        db.define('.decl s(x: string) r(X, ?f(X)) :- s(X). t(Y) :- s(X), Y = X + "!".')
        db.apply(insert={"s": [("a",), ("b",)]})
        assert ("a", hw.LabelledNull("f", ("a",))) in db["r"] and ("b!",) in db["t"]
        assert db["r"].where(**{db["r"].columns[1]: hw.LabelledNull("f", ("b",))}).rows()[0][0] == "b"
        assert ("a", hw.LabelledNull("f", ("c",))) not in db["r"] and ("c!",) not in db["t"]


def test_nodes_have_a_memory_budget_each(nodes: Any):
    with on_nodes(nodes, memory="4 MB") as db:
        db.define(REACH)
        db.apply(insert={"link": CHAIN})
        with pytest.raises(hw.OutOfMemory) as refused:
            db.apply(insert={"link": [(f"n{i}", f"n{i + 1}") for i in range(1000)]})
        assert refused.value.code == "out-of-memory" and "of 4.0 MB" in str(refused.value)
        assert set(db["reach"].rows()) == ALL and db.version == 2
        assert db.apply(delete={"link": [("b", "c")]})["reach"].counts == (0, 4)


def test_nodes_serve_one_database_at_a_time(nodes: Any):
    with on_nodes(nodes), pytest.raises(hw.DataError) as refused:
        on_nodes(nodes)
    assert refused.value.code == "nodes-in-use"
    forgotten = on_nodes(nodes)
    forgotten.apply(insert={"link": CHAIN})
    del forgotten
    gc.collect()
    with on_nodes(nodes) as db:
        assert "link" not in db


@pytest.mark.parametrize(
    "options",
    [{"run": "moon"}, {"run": "threads", "nodes": 0}, {"run": "auto", "budget": -1}, {"run": "threads", "mode": "r"},
     {"run": "auto", "strategy": "relative"}, {"run": "threads", "replicate": "few"}],
)  # fmt: skip
def test_options_that_make_no_sense(options: dict[str, Any]):
    with pytest.raises(hw.DataError) as refused:
        hw.connect(**options)
    assert refused.value.code == "unknown-option"


def test_a_strangers_connection_is_refused(nodes: Any):
    address = nodes.coordinator.meeting.address
    members = nodes.coordinator.meeting.wait(0).members.values()
    for where in (address, *(member.address for member in members)):
        for headers in ([], [(b"headwater-secret", b"guess")]):
            with flight.connect(where) as client, pytest.raises(flight.FlightUnauthenticatedError):
                options = flight.FlightCallOptions(headers=headers)
                writer, reader = client.do_exchange(flight.FlightDescriptor.for_path("node"), options=options)
                reader.read_chunk()
    with on_nodes(nodes) as db:
        db.apply(insert={"link": CHAIN})
        assert len(db["link"]) == 3


def test_ctrl_c_takes_the_version_back_on_all_nodes(nodes: Any):
    with on_nodes(nodes, replicate=0) as db:
        db.define("up(X) :- start(X). up(Y) :- up(X), Y = X + 1, Y < 400000.")
        interrupts = db.runner.interrupts
        threading.Thread(target=lambda: (time.sleep(0.7), interrupts.note())).start()
        with pytest.raises(KeyboardInterrupt):
            db.apply(insert={"start": [(1,)]})
        assert len(db["up"]) == 0 and len(db["start"]) == 0
        db.apply(insert={"start": [(399_990,)]})
        assert len(db["up"]) == 10


SATURATING = """
    q(n: int, x: int). f(a: int, b: int).
    p(N, max<X>) :- q(N, X).
    p(M, max<Y>) :- p(N, X), f(N, M), Y = min(X + 1, 12).
"""
OSCILLATING = "q(n: int, x: int). p(N, max<X>) :- q(N, X). p(N, max<Y>) :- p(N, X), Y = 10 - X."


def test_values_that_improve_themselves_across_nodes(tmp_path: Path):
    with hw.connect(tmp_path, run="threads", nodes=3, replicate=0, max_rounds=1000) as db:
        db.define(SATURATING)
        db.apply(insert={"q": [(0, 7)], "f": [(n, (n + 1) % 5) for n in range(5)]})
        assert sorted(db["p"].rows()) == [(n, 12) for n in range(5)]
        changes = db.apply(insert={"q": [(2, 20)]})
        assert (changes["p"].inserted, changes["p"].deleted) == ([(2, 20)], [(2, 12)])
        assert changes.statistics.strata[0].iterated
        db.checkpoint()
    with hw.connect(tmp_path, run="threads", nodes=2, max_rounds=1000) as db:
        db.apply(delete={"q": [(0, 7), (2, 20)]})
        assert db["p"].rows() == []


def test_what_oscillates_is_refused_on_nodes():
    with hw.connect(run="threads", nodes=3, replicate=0, max_rounds=1000) as db:
        db.define(OSCILLATING)
        db.apply(insert={"q": [(n, 6) for n in range(9)]})
        with pytest.raises(hw.EvaluationError) as refused:
            db.apply(insert={"q": [(9, 3)]})
        assert refused.value.code == "oscillation"
        assert sorted(db["p"].rows()) == [(n, 6) for n in range(9)]


def test_a_closed_database_is_refused_at_once(nodes: Any):
    """Its nodes are free: another database may be on them by then."""
    db = on_nodes(nodes)
    db.define(REACH)
    db.apply(insert={"link": CHAIN})
    db.close()
    for ask in (lambda: len(db["reach"]), lambda: db["reach"].rows(), lambda: ("a", "b") in db["reach"]):
        with pytest.raises(hw.HeadwaterError) as refused:
            ask()
        assert refused.value.code == "closed"


@pytest.mark.parametrize("replicate", [0, 100])
def test_nodes_know_which_columns_take_nulls(nodes: Any, replicate: int):
    """What the first rows told, or somebody wanted kept, makes counts leave nulls out on nodes, too."""
    texts = ("n(K, count<V>) :- m(K, V).", "m(k: string, v: int). n(K, count<V>) :- m(K, V).")
    first = [("a", 1), ("a", None), ("b", None)]
    for text, rows in ((texts[0], first), (texts[1], first[:1]), (texts[0], first[:1])):
        with on_nodes(nodes, replicate=replicate) as db:
            db.define(text)
            db.apply(insert={"m": rows})
            db.apply(insert={"m": keeping_nulls(pa.table({"k": ["a", "a", "b"], "v": [1, None, None]}))})
            assert sorted(db["n"].rows()) == [("a", 1), ("b", 0)]
            db.apply(delete={"m": [("a", None)]}, insert={"m": [("c", None)]})
            assert sorted(db["n"].rows()) == [("a", 1), ("b", 0), ("c", 0)]
