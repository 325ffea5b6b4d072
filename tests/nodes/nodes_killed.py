"""A program of its own: a stream of changes on nodes of a real Spark, some of which are killed. Called by the tests.

    python nodes_killed.py nodes            # kills a worker, stops another, kills an executor with all in it
    python nodes_killed.py driver STATE     # applies the rest of the stream to a state; is to be killed from outside
    python nodes_killed.py check STATE      # compares a state and its change feed with what they should be

The stream is the same each time. Whoever subscribes to a view is owed, version by version, what happened to it:
that is the feed that pipelines publish.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
from quick_java import quick

import headwater as hw
from headwater.database import Database
from headwater.spark.session import spark_session

TEXT = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
STEPS = 40
Pair = tuple[int, int]


def stream() -> Iterator[tuple[list[Pair], list[Pair], frozenset[Pair]]]:
    """Deletes, inserts, and all links after them."""
    rng = random.Random(11)
    links: set[Pair] = set()
    for _ in range(STEPS):
        gone = rng.sample(sorted(links), min(len(links), rng.randrange(4)))
        new = [(rng.randrange(20), rng.randrange(20)) for _ in range(rng.randrange(1, 5))]
        links = (links - set(gone)) | set(new)
        yield gone, new, frozenset(links)


def closure(links: frozenset[Pair]) -> set[Pair]:
    graph = nx.DiGraph(list(links))
    return {(x, y) for x in graph for z in graph.successors(x) for y in {z} | nx.descendants(graph, z)}


def compare_feed(db: Database, after: list[set[Pair]], first_version: int) -> None:
    """The feed leads from one state to the next: nothing is missing, and nothing is there twice."""
    known: set[Pair] = set()
    versions = []
    for owed in db.owed("feed"):
        versions.append(owed.version)
        assert owed.table is not None
        for row in owed.table.to_pylist():
            pair = (row["X"], row["Y"])
            if row["_change_type"] == "insert":
                assert pair not in known, f"{pair} inserted twice, in version {owed.version}"
                known.add(pair)
            else:
                known.remove(pair)
        if owed.version >= first_version:
            assert known == after[owed.version - first_version], f"version {owed.version}"
    assert versions == sorted(set(versions))
    assert known == set(db["reach"].rows()) == after[-1]


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def kill_nodes() -> None:
    """Kill a worker in step 10, stop one in step 15, kill an executor in step 25; everything goes on."""
    spark = spark_session("local-cluster[2,2,1024]", conf=quick())
    after = [closure(links) for _, _, links in stream()]
    with (
        hw.start_nodes(2, spark=spark, patience=5.0) as nodes,
        hw.connect(run="spark", nodes=nodes, replicate=0) as db,
    ):
        db.define(TEXT)
        db.subscribe("feed", "reach")
        first = db.version + 1
        meeting = db.runner.nodes.coordinator.meeting
        for step, (gone, new, _) in enumerate(stream()):
            started = time.monotonic()
            if step == 10:
                os.kill(meeting.processes[0], signal.SIGKILL)
            if step == 15:
                os.kill(meeting.processes[1], signal.SIGSTOP)
            if step == 20:
                db.checkpoint()
            if step == 25:
                node = meeting.processes[1]
                os.kill(parent(parent(node)), signal.SIGKILL)  # node, pyspark's daemon, executor
                while Path(f"/proc/{node}").exists() and time.monotonic() < started + 30:
                    time.sleep(0.05)
            db.apply(delete={"link": gone}, insert={"link": new})
            assert set(db["reach"].rows()) == after[step], step
            if step in (10, 15, 25):
                print(f"recovered in {time.monotonic() - started:.1f} s", flush=True)
        assert db.runner.nodes.losses >= 3
        compare_feed(db, after, first)
    print(f"{STEPS} versions, {sum(map(len, after))} rows compared", flush=True)


def drive(state: str) -> None:
    """Go on with the stream from wherever the state is, and say where that was and each version done."""
    spark = spark_session("local[3]", conf=quick())
    with hw.connect(state, run="spark", spark=spark, nodes=2, replicate=0) as db:
        if not db.texts:
            db.define(TEXT)
        db.subscribe("feed", "reach")
        print(f"open at {db.version}", flush=True)
        for step, (gone, new, _) in enumerate(stream()):
            if step + 2 > db.version:
                db.apply(delete={"link": gone}, insert={"link": new})
                print(f"done {db.version}", flush=True)
            if step == 12:
                db.checkpoint()
    print("all done", flush=True)


def check(state: str) -> None:
    """In one process, with no Spark."""
    after = [closure(links) for _, _, links in stream()]
    with hw.connect(state) as db:
        assert db.version == STEPS + 1, db.version
        compare_feed(db, after, 2)
    print("the same", flush=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    what, *rest = sys.argv[1:]
    {"nodes": kill_nodes, "driver": drive, "check": check}[what](*rest)
