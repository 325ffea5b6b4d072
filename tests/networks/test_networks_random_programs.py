"""Random programs on asynchronous nodes, with changes in flight: in the end all is as clingo has it.

A *schedule* is a stream of insertions and deletions over one to five nodes: where rows live, how long messages take,
how many arrive between two changes, in which order nodes evaluate and how they ship are drawn from a seed. Programs
are those of `tests/oracle`: non-linear and mutual recursion, several base relations, constants, wildcards, negation
and aggregates between strata, min and max inside recursion. The rows are compared when all is quiet.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from itertools import product
from typing import Any

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_demand import RECURSIONS, Recursion, versions
from oracle_lockstep import FIGURES
from oracle_programs import RandomProgram
from oracle_strategies import BASE, DOMAIN, dense_programs, programs

from headwater.language.datalog import parse
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.shipping import BOUNDED, EAGER, LAZY, Shipping, timed, windowed
from headwater.networks.orders.iterations import SemiNaive, buffered
from headwater.networks.orders.pipelined import Pipelined
from headwater.networks.runtime.directory import Hashed
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import NodePlan, plan_nodes
from headwater.networks.transports.simulator.links import LinkQuality, alike
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.rules.checked import Checked, RelationInfo
from headwater.values.functions import Functions

Change = tuple[bool, str, tuple[int, ...]]

PARTS = 4
FIRST_SEED = int(os.environ.get("HEADWATER_SEED", 0))
PROGRAMS = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", 63))
"""Of each part: together, with the streams and schedules of each, more than 10,000 schedules."""
STREAMS, SCHEDULES = 4, 10
"""Streams of changes for each program, and schedules for each stream."""
MOST_MESSAGES = 20_000
ORDERS = (Pipelined, Pipelined, Pipelined, SemiNaive, buffered, lambda: buffered(2))
FULL = {name: list(product(range(DOMAIN), repeat=arity)) for name, arity in BASE.items()}


def stream(chance: random.Random) -> tuple[list[Change], dict[str, set[tuple[int, ...]]]]:
    """Some changes that follow each other closely, and what is there in the end."""
    there: dict[str, set[tuple[int, ...]]] = {name: set() for name in BASE}
    changes: list[Change] = []
    for _ in range(chance.choice([6, 14, 24])):
        name = chance.choice(list(BASE))
        if there[name] and chance.random() < 0.4:
            row = chance.choice(sorted(there[name]))
            there[name].discard(row)
            changes.append((False, name, row))
        else:
            row = chance.choice(FULL[name])
            there[name].add(row)
            changes.append((True, name, row))
    return changes, there


def places(checked: Checked, chance: random.Random) -> dict[str, int | None] | None:
    """Where relations live: as it would be chosen, or anywhere that they can."""
    if chance.random() < 0.5:
        return None
    return {name: _place(info, chance) for name, info in checked.relations.items()}


def _place(info: RelationInfo, chance: random.Random) -> int | None:
    allowed = list(range(info.arity))
    if info.selections:
        allowed = list(info.selections[0].group)
    elif info.aggregate is not None:
        allowed.remove(info.aggregate.position)
    return chance.choice(allowed) if allowed and chance.random() < 0.9 else None


def simulated(plan: NodePlan, shipping: Shipping, chance: random.Random, **quality: Any) -> Simulator:
    """A network of some size, with latencies that vary more or less."""
    fifo = quality.get("fifo", True)
    return Simulator(
        plan,
        Hashed(chance.randint(1, 5)),
        absorption(shipping, reclaim_every=chance.choice([1, 2, 8, None]) if fifo else None),
        order=chance.choice(ORDERS),
        links=alike(LinkQuality(0.1, chance.choice([0, 1, 5]), **quality)),
        seed=chance.randrange(1 << 30),
        rest=chance.choice([0, 0, 0.5, 3]),
        measure=False,
        most_messages=MOST_MESSAGES,
    )


def follow(net: Simulator, changes: list[Change], chance: random.Random) -> None:
    """Make the changes while what follows from earlier ones is under way; then come to rest."""
    for comes, relation, row in changes:
        (net.insert if comes else net.delete)(relation, row)
        net.steps(chance.choice([0, 0, 1, 3, 8, 30]))
    net.run()


def assert_same(net: Simulator, expected: Mapping[str, frozenset[Any]], what: str) -> None:
    for relation, rows in expected.items():
        found = net.rows(relation)
        assert found == rows, f"{what}: {relation} has also {found - rows}, lacks {rows - found}"


def schedules(program: RandomProgram, seed: int, shippings: list[Shipping], **quality: Any) -> None:
    """Run all schedules of a program."""
    chance = random.Random(seed)
    checked = check(parse(program.text()), Functions())
    plans = [plan_nodes(compile_program(checked, places(checked, chance))) for _ in range(2)]
    for number in range(STREAMS):
        changes, there = stream(chance)
        expected = solve(program, there)
        for again in range(SCHEDULES):
            shipping = chance.choice(shippings)
            net = simulated(chance.choice(plans), shipping, chance, **quality)
            follow(net, changes, chance)
            assert_same(net, expected, f"stream {number}, schedule {again}, {shipping.name}: {changes}")
            FIGURES["schedules of random programs"] += 1


SHIPPINGS = [LAZY, LAZY, BOUNDED, BOUNDED, EAGER, windowed(3), timed(2.0)]


@pytest.mark.parametrize("part", range(PARTS))
def test_any_program(part):
    @hypothesis.seed(FIRST_SEED + part)
    @settings(max_examples=PROGRAMS, derandomize=False)
    @given(programs(), st.integers(0, 1 << 30))
    def run(program: RandomProgram, seed: int) -> None:
        schedules(program, seed * PARTS + part, SHIPPINGS)

    run()


@settings(max_examples=max(PROGRAMS // 8, 5))
@given(dense_programs(), st.integers(0, 1 << 30))
def test_rows_with_many_derivations(program, seed):
    schedules(program, seed, [LAZY, BOUNDED])


@settings(max_examples=max(PROGRAMS // 8, 5))
@given(programs(), st.integers(0, 1 << 30))
def test_messages_in_any_order_and_twice(program, seed):
    """First in, first out is needed for using variables again, and for nothing else."""
    schedules(program, seed, [LAZY, BOUNDED], fifo=False, duplicates=0.1)


@pytest.mark.parametrize("recursion", RECURSIONS, ids=lambda recursion: recursion.name)
def test_aggregates_that_a_recursion_asks_for(recursion: Recursion):
    checked = check(parse(recursion.text), Functions())
    for seed in range(FIRST_SEED, FIRST_SEED + 6):
        chance = random.Random(seed)
        plan = plan_nodes(compile_program(checked, places(checked, chance)))
        net = simulated(plan, chance.choice(SHIPPINGS), chance)
        there: dict[str, set[tuple[int, ...]]] = {"seed": set(), "point": set(), "hole": set()}
        changes: list[Change] = []
        for delete, insert in versions(seed, 4):
            for comes, rows_of in ((False, delete), (True, insert)):
                for name, rows in rows_of.items():
                    changes += [(comes, name, row) for row in rows]
                    there[name] = there[name] | set(rows) if comes else there[name] - set(rows)
        follow(net, changes, chance)
        assert_same(
            net, recursion.solve({name: frozenset(rows) for name, rows in there.items()}), str(changes)
        )
