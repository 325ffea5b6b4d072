"""Nodes that are lost while they meet: at each step of it, a process is really killed.

The driver names the steps in its log. What has to happen: the loss is noticed because the process is gone, not
because time has passed; all nodes are started again; and the state is that of every acknowledged version.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from nodes_in_processes import AtStep, Processes, kill, listening
from oracle_lockstep import THOROUGH

import headwater as hw
from headwater.database import Database
from headwater.nodes.nodes import TRIES, Nodes
from headwater.nodes.threads import Threads

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
STEPS = [
    "node 0 has come",
    "node 1 has come",
    "all nodes have come",
    "all nodes have met",
    "nodes have loaded",
    "nodes have done a change again",
    "nodes have committed it again",
]
KILLED = [
    (step, victim) for place, step in enumerate(STEPS) for victim in (0, 1) if THOROUGH or victim == place % 2
]
"""At each step one of the nodes is killed; where there is time, the other one in another run."""
WAITED = "not all nodes have come; all are started again"


@contextmanager
def database(path: Path | None = None, **options: Any) -> Iterator[Database]:
    with Nodes(Processes(), 2, **options) as nodes, hw.connect(path, run="spark", nodes=nodes) as db:
        db.define(REACH)
        db.apply(insert={"link": [(1, 2), (2, 3)]})
        yield db


def processes(db: Database) -> list[int]:
    return db.runner.nodes.coordinator.meeting.processes


def kill_and_wait(process: int) -> None:
    """Until it is gone and somebody has buried it."""
    kill(process)
    while Path(f"/proc/{process}").exists():
        time.sleep(0.005)


@pytest.mark.parametrize(("step", "victim"), KILLED)
def test_a_node_is_killed_while_nodes_meet_again(step: str, victim: int, tmp_path: Path):
    with database(tmp_path) as db:
        db.checkpoint()
        db.apply(insert={"link": [(3, 4)]})

        def act() -> None:
            there = processes(db)
            kill(there[min(victim, len(there) - 1)])

        with listening(AtStep(step, act)) as handler:
            handler.active = True
            kill(processes(db)[victim])
            assert db.apply(insert={"link": [(4, 5)]})["reach"].counts == (4, 0)
        assert handler.times == 0 and WAITED not in handler.said
        assert len(db["reach"]) == 10


@pytest.mark.parametrize("victim", [0, 1] if THOROUGH else [1])
def test_a_node_is_killed_before_it_has_come(victim: int):
    with database() as db:
        hosting, killed = db.runner.nodes.hosting, []

        def started(there: list[int]) -> None:
            if not killed:
                killed.append(there[victim])
                kill_and_wait(there[victim])

        hosting.started = started
        with listening(AtStep("", lambda: None)) as handler:
            kill(processes(db)[0])
            assert db.apply(insert={"link": [(3, 4)]})["reach"].counts == (3, 0)
        assert killed and WAITED not in handler.said


def test_a_node_is_killed_with_a_version_open_and_again_while_that_is_sent_again(monkeypatch: Any):
    with database() as db:
        db.subscribe("feed", "reach")
        nodes = db.runner.nodes
        fetch = db.runner._fetch
        monkeypatch.setattr("headwater.nodes.node.MOST_ROWS_TOLD", 0)

        def lossy(name: str) -> Any:
            kill_and_wait(processes(db)[1])
            return fetch(name)

        monkeypatch.setattr(db.runner, "_fetch", lossy)
        step = "nodes have opened the present version again"
        with listening(AtStep(step, lambda: kill(processes(db)[0]))) as handler:
            handler.active = True
            db.apply(insert={"link": [(n, n + 1) for n in range(3, 200)]})
        assert nodes.losses >= 1 and handler.times == 0 and WAITED not in handler.said
        assert len(db["reach"]) == 199 * 200 // 2
        assert sum(owed.table.num_rows for owed in db.owed("feed")) == 199 * 200 // 2


@pytest.mark.parametrize("step", STEPS[2:5] if THOROUGH else STEPS[3:4])
def test_nodes_that_are_lost_again_and_again_are_given_up(step: str):
    with database() as db:
        with listening(AtStep(step, lambda: kill(processes(db)[1]), times=TRIES)) as handler:
            handler.active = True
            kill(processes(db)[0])
            with pytest.raises(hw.HeadwaterError) as refused:
                db.apply(insert={"link": [(3, 4)]})
        assert refused.value.code == "node-lost" and f"{TRIES} times in a row" in refused.value.message
        assert handler.times == 0 and WAITED not in handler.said
        with pytest.raises(hw.HeadwaterError) as refused:
            len(db["reach"])
        assert refused.value.code == "node-lost"


def test_nodes_that_never_meet_are_given_up_by_who_starts_them():
    """Each process dies before it comes: there is nothing to wait for."""
    with pytest.raises(hw.HeadwaterError) as refused:
        Nodes(Processes(lambda there: [kill_and_wait(process) for process in there]), 2)
    assert refused.value.code == "no-nodes" and "nodes ended with [-9, -9]" in refused.value.message


def test_a_node_that_cannot_be_one_says_why():
    with pytest.raises(hw.HeadwaterError) as refused:
        Nodes(Threads(), 2, functions={"f": (lambda n: n, ["no such type"], "int", False)})
    assert refused.value.code == "no-nodes" and "no such type" in refused.value.message


@pytest.mark.parametrize("size", [1, 2] if THOROUGH else [2])
def test_a_node_that_is_there_but_does_nothing(size: int):
    """Its process is stopped: it is noticed by its silence, killed, and replaced."""
    with Nodes(Processes(), size, patience=2.0) as nodes, hw.connect(run="spark", nodes=nodes) as db:
        db.define(REACH)
        db.apply(insert={"link": [(1, 2), (2, 3)]})
        os.kill(processes(db)[-1], signal.SIGSTOP)
        with listening(AtStep("", lambda: None)) as handler:
            assert db.apply(insert={"link": [(3, 4)]})["reach"].counts == (3, 0)
        assert any("no sign of life" in said for said in handler.said) and WAITED not in handler.said


def test_a_stopped_node_does_not_hold_up_the_end():
    with database() as db:
        stopped = processes(db)
        os.kill(stopped[1], signal.SIGSTOP)
    assert not any(Path(f"/proc/{process}").exists() for process in stopped)
