"""Faults of nodes that were found by reading or by comparing: the smallest case for each.

A loss is a real one: new nodes take the place of those that are there, as after Spark has started the stage again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.database import Database
from headwater.errors import StoreError
from headwater.nodes import node
from headwater.nodes.messages.versions import FetchChange
from headwater.nodes.owners import Owners
from headwater.values.codec import Codec
from headwater.values.types import INT

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
LINKS = [(n, n + 1) for n in range(12)]


def on_nodes(path: Path | None = None, nodes: int = 2, **options: Any) -> Database:
    return hw.connect(path, run="threads", nodes=nodes, **options)


def lose_all(db: Database) -> None:
    """All nodes are replaced by new ones that hold nothing."""
    meeting = db.runner.nodes.coordinator.meeting
    before = meeting.wait(20)
    meeting.end(before, "they are lost")
    assert meeting.wait(20).identity > before.identity


@pytest.mark.parametrize("nodes", [1, 2])
def test_nodes_that_were_replaced_while_nobody_asked_are_loaded_first(tmp_path: Path, nodes: int):
    """A definition was accepted by nodes that held nothing, and the next checkpoint made that the state."""
    with on_nodes(tmp_path, nodes) as db:
        db.define(REACH)
        db.apply(insert={"link": LINKS[:2]})
        lose_all(db)
        db.define("two(X) :- link(X, _).")
        assert db.runner.nodes.losses == 1
        lose_all(db)
        assert sorted(db["two"].rows()) == [(0,), (1,)]
        lose_all(db)
        db.checkpoint()
    with hw.connect(tmp_path) as db:
        assert len(db["reach"]) == 3 and len(db["two"]) == 2


def test_a_checkpoint_that_failed_does_not_make_the_next_one_forget(tmp_path: Path, monkeypatch: Any):
    with on_nodes(tmp_path) as db:
        db.define(REACH)
        db.apply(insert={"link": LINKS[:2]})
        db.checkpoint()
        db.apply(insert={"link": LINKS[2:3]})

        def full(*args: Any, **options: Any) -> None:
            raise StoreError("disk-full", "no room")

        with monkeypatch.context() as patched:
            patched.setattr(db._durability.store, "write_checkpoint", full)
            with pytest.raises(StoreError):
                db.checkpoint()
        db.checkpoint()
    with hw.connect(tmp_path) as db:
        assert sorted(db["link"].rows()) == LINKS[:3] and len(db["reach"]) == 6


def test_a_loss_while_changes_are_fetched_sends_the_open_version_again(monkeypatch: Any):
    monkeypatch.setattr(node, "MOST_ROWS_TOLD", 0)
    with on_nodes() as db:
        db.define(REACH)
        db.apply(insert={"link": LINKS[:1]})
        db.subscribe("feed", "reach")
        nodes = db.runner.nodes
        ask, lost = nodes.ask, []

        def lossy(command: Any) -> Any:
            if isinstance(command, FetchChange) and not lost:
                lost.append(command)
                lose_all(db)
            return ask(command)

        monkeypatch.setattr(nodes, "ask", lossy)
        changes = db.apply(insert={"link": LINKS[1:2]})
        assert lost and nodes.losses == 1
        assert sorted(changes["reach"].inserted) == [(0, 2), (1, 2)]
        assert sorted(db["reach"].rows()) == [(0, 1), (0, 2), (1, 2)]
        assert [owed.table.num_rows for owed in db.owed("feed")] == [1, 2]


def test_a_loss_after_rows_have_moved(tmp_path: Path):
    """In one version, a relation outgrew every node and another one was heard of for the first time."""
    with on_nodes(replicate=10, strict=False) as db:
        db.define(REACH)
        db.apply(insert={"link": LINKS[:6]})
        db.apply(insert={"link": LINKS[6:], "fresh": [(1,)]})
        lose_all(db)
        assert (len(db["link"]), len(db["reach"]), len(db["fresh"])) == (12, 78, 1)
        db.apply(insert={"link": [(100, 101)]})
        assert len(db["reach"]) == 79


def test_four_premises_in_a_chain():
    """Both cuts of the rule had one name."""
    with on_nodes(replicate=0) as db:
        db.define("p(A, E) :- a(A, B), b(B, C), c(C, D), d(D, E).")
        db.apply(insert=dict.fromkeys("abcd", LINKS[:6]))
        assert sorted(db["p"].rows()) == [(0, 4), (1, 5), (2, 6)]


def test_a_copy_on_every_node_that_is_part_of_a_recursion(tmp_path: Path):
    """Its ranks differ from node to node; after reopening all nodes had those of the first, and a row stayed."""
    text = "p(X, Y) :- e(X, Y). p(X, Y) :- p(X, A), p(B, Y), f(A, B)."
    owners = Owners(Codec(), 2).of(np.arange(100), INT)
    second = np.flatnonzero(owners == 1)[:6].tolist()
    edges = list(zip(second, second[1:], strict=False))
    with hw.connect() as one, on_nodes(tmp_path) as db:
        for each in (one, db):
            each.define(text)
            each.apply(insert={"f": [(n, n) for n in second]})
            each.apply(insert={"e": edges})
        assert any("p is copied, to every node" in line for line in db.explain("p").lines)
        db.checkpoint()
        one.apply(delete={"e": [edges[1]]})
        expected = sorted(one["p"].rows())
    with on_nodes(tmp_path) as db:
        db.apply(delete={"e": [edges[1]]})
        assert sorted(db["p"].rows()) == expected


def test_a_view_that_moves_is_derived_anew():
    """It has rows though no base relation has any; the first large insert gives it another home."""
    with on_nodes(nodes=3, replicate=0) as db:
        db.define("p(X, Y) :- X = 1, Y = 2. p(X, Y) :- X = 3, Y = 7. p(X, Y) :- e(Y, X).")
        db.apply(insert={"e": [(2, 1), (7, 3), (2, 8)]})
        assert sorted(db["p"].rows()) == [(1, 2), (3, 7), (8, 2)]
        db.apply(delete={"e": [(2, 1), (2, 8)]})
        assert sorted(db["p"].rows()) == [(1, 2), (3, 7)]


def test_a_state_without_ranks_is_opened_alike_by_all_nodes(tmp_path: Path):
    """A node without a row of the view believed that it had been loaded, while the other derived it and waited."""
    with hw.connect(tmp_path, strategy="relative") as db:
        db.define("r(X, Y) :- e(X, Y). r(X, Y) :- r(Y, X).")
        db.apply(insert={"e": [(1, 1)]})
        db.checkpoint()
    with on_nodes(tmp_path) as db:
        assert db["r"].rows() == [(1, 1)]


def test_a_log_that_crosses_the_limit_can_be_opened_on_nodes(tmp_path: Path):
    with hw.connect(tmp_path) as db:
        db.define(REACH)
        db.apply(insert={"link": LINKS[:6]})
        db.apply(insert={"link": LINKS[6:]})
    with on_nodes(tmp_path, replicate=10) as db:
        assert len(db["reach"]) == 78
        assert len(db.what_if(insert={"link": [(20, 21)]})["reach"].inserted) == 1
        db.apply(insert={"link": [(20, 21)]})
        assert len(db["reach"]) == 79 and "  link: on every node" not in db.explain().lines


def test_facts_that_cross_the_limit_stay_where_they_are():
    with on_nodes(replicate=10) as db:
        db.define(REACH)
        db.apply(insert={"link": LINKS[:6]})
        db.define(" ".join(f"link({a}, {b})." for a, b in LINKS[6:]))
        assert len(db["reach"]) == 78
