"""Random programs on nodes: after every version the same as in one process, and as clingo says.

Nodes are threads here, so that hundreds of runs are affordable; messages, streams and engines are those of Spark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from oracle_clingo import solve
from oracle_lockstep import Lockstep, examples
from oracle_programs import RandomProgram
from oracle_strategies import Version, dense_programs, programs, streams

from headwater.nodes.where import start_nodes

OPTIONS: dict[str, tuple[int, dict[str, Any]]] = {
    "2 nodes, small relations everywhere": (2, {}),
    "3 nodes, all split": (3, {"replicate": 0}),
    "2 nodes, all split, dred, all is sent": (2, {"replicate": 0, "strategy": "dred", "rank_filter": False}),
}
RUNS: dict[str, dict[str, Any]] = {}


@pytest.fixture(scope="module", autouse=True)
def running_nodes() -> Iterator[None]:
    with ExitStack() as stack:
        for name, (nodes, options) in OPTIONS.items():
            nodes = stack.enter_context(start_nodes(nodes, run="threads"))
            RUNS[name] = {"run": "threads", "nodes": nodes, **options}
        yield


COMMON = settings(
    deadline=None,
    database=None,
    derandomize="HEADWATER_ORACLE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


def follow(program: RandomProgram, stream: list[Version]) -> None:
    with closing(Lockstep(program.text(), ["support"], RUNS, program.tables)) as lockstep:
        for version in stream:
            lockstep.follow(
                version, lambda state: solve(program, {name: state[name] for name in program.base})
            )


@settings(COMMON, max_examples=examples(10))
@given(programs(limited=True), streams())
def test_recursive_programs(program: RandomProgram, stream: list[Version]):
    follow(program, stream)


@settings(COMMON, max_examples=examples(8))
@given(dense_programs(), streams())
def test_much_changes_at_once(program: RandomProgram, stream: list[Version]):
    follow(program, stream)


@settings(COMMON, max_examples=examples(8))
@given(programs(recursion=False, limited=True), streams())
def test_programs_without_recursion(program: RandomProgram, stream: list[Version]):
    follow(program, stream)
