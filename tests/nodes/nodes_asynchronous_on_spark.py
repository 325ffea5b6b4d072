"""A program of its own: a bill of materials with absorption provenance on nodes of a real Spark, some of which are
killed. Called by the tests.

    python nodes_asynchronous_on_spark.py 2 4

The numbers are how many nodes, once and then again. Rows after every version, and explanations, are compared with
those of one process.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from test_nodes_asynchronous import PARTS, VIEWS, materials, same

import headwater as hw
from headwater.nodes.where import start_nodes
from headwater.spark.session import spark_session

VERSIONS = 12


def run(spark: Any, size: int, strategy: str) -> None:
    one = hw.connect()
    one.define(PARTS)
    with (
        start_nodes(size, spark=spark) as nodes,
        hw.connect(run="spark", nodes=nodes, strategy=strategy) as db,
    ):
        db.define(PARTS)
        meeting = nodes.coordinator.meeting
        for number, change in enumerate(materials(size, VERSIONS)):
            started = time.monotonic()
            if number == 4:
                os.kill(meeting.processes[0], signal.SIGKILL)
            if number == 8:
                kill_while_it_works(db.runner.network, meeting.processes[-1])
            changes, expected = db.apply(**change), one.apply(**change)
            same(db, one)
            for view in VIEWS:
                assert (view in changes) == (view in expected), (number, view)
                if view in changes:
                    assert set(changes[view].inserted) == set(expected[view].inserted), (number, view)
                    assert set(changes[view].deleted) == set(expected[view].deleted), (number, view)
            if number in (4, 8):
                print(f"recovered in {time.monotonic() - started:.1f} s", flush=True)
        assert nodes.losses >= 2, nodes.losses
        asked = 0
        for view in VIEWS:
            for row in sorted(one[view].rows())[::4]:
                found, expected_why = db.why(view, row), one.why(view, row)
                assert found.graph.summary() == expected_why.graph.summary()
                terms, expected_terms = found.dnf(), expected_why.dnf()
                if expected_terms.complete:  # else there are too many of them to find all
                    assert set(terms) <= set(expected_terms), (view, row)
                    assert terms == expected_terms or not terms.complete, (view, row)
                    asked += 1
        assert asked >= 5
        exported = {tuple(row) for row in db["uses"].spark().collect()}
        assert exported == set(one["uses"].rows())
    print(
        f"{size} nodes, {strategy}: {VERSIONS} versions the same, {asked} explanations the same", flush=True
    )


def kill_while_it_works(network: Any, process: int) -> None:
    """Kill a worker when the next change has been sent, and before the network is quiet."""
    settle = network._settle

    def killing() -> None:
        network._settle = settle
        os.kill(process, signal.SIGKILL)
        settle()

    network._settle = killing


def main() -> None:
    sizes = list(map(int, sys.argv[1:]))
    spark = spark_session(f"local[{max(sizes) + 1}]")
    for size, strategy in zip(sizes, ("absorption", "absorption-eager"), strict=False):
        run(spark, size, strategy)


if __name__ == "__main__":
    main()
