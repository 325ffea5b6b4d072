"""Random programs on nodes: after every version the same as in one process, and as clingo says.

Nodes are threads here, so that hundreds of runs are affordable; messages, streams and engines are those of Spark.
"""

from __future__ import annotations

from contextlib import closing

from hypothesis import HealthCheck, given, settings
from oracle_clingo import solve
from oracle_lockstep import Lockstep, examples
from oracle_programs import RandomProgram
from oracle_strategies import Version, dense_programs, programs, streams

NODES = {
    "2 nodes, small relations everywhere": {"run": "threads", "nodes": 2},
    "3 nodes, all split": {"run": "threads", "nodes": 3, "replicate": 0},
    "2 nodes, all split, dred": {"run": "threads", "nodes": 2, "replicate": 0, "strategy": "dred"},
}
COMMON = settings(
    deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)  # fmt: skip


def follow(program: RandomProgram, stream: list[Version]) -> None:
    with closing(Lockstep(program.text(), ["support"], NODES)) as lockstep:
        for version in stream:
            delete, insert = version.resolved(lockstep.state)
            lockstep.apply(
                delete, insert, lambda state: solve(program, {name: state[name] for name in program.base})
            )


@settings(COMMON, max_examples=examples(40))
@given(programs(), streams())
def test_recursive_programs(program: RandomProgram, stream: list[Version]):
    follow(program, stream)


@settings(COMMON, max_examples=examples(15))
@given(dense_programs(), streams())
def test_much_changes_at_once(program: RandomProgram, stream: list[Version]):
    follow(program, stream)


@settings(COMMON, max_examples=examples(15))
@given(programs(recursion=False), streams())
def test_programs_without_recursion(program: RandomProgram, stream: list[Version]):
    follow(program, stream)
