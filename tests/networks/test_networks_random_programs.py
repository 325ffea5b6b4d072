"""Random programs on asynchronous nodes, with changes in flight: in the end all is as clingo has it.

A *schedule* is a stream of insertions and deletions over one to five nodes: where rows live, how long messages take,
how many arrive between two changes, in which order nodes evaluate and how they ship are drawn from a seed. Programs
are those of `tests/oracle`: non-linear and mutual recursion, several base relations, constants, wildcards, negation
and aggregates between strata, min and max inside recursion. The rows are compared when all is quiet.
"""

from __future__ import annotations

import os
import random
from typing import Any

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_demand import RECURSIONS, Recursion, versions
from oracle_lockstep import FIGURES
from oracle_programs import RandomProgram
from oracle_strategies import dense_programs, programs
from random_schedules import FIRST_SEED, SHIPPINGS, Change, assert_same, follow, places, simulated, stream

from headwater.annotations.dnf_or_bdd import Drawing
from headwater.language.datalog import parse
from headwater.networks.annotated.absorption import Absorption
from headwater.networks.annotated.shipping import BOUNDED, EAGER, LAZY, Shipping
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import plan_nodes
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.values.functions import Functions

PARTS = 4
PROGRAMS = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", 63))
"""Of each part: together, with the streams and schedules of each, more than 10,000 schedules."""
STREAMS, SCHEDULES = 4, 10
"""Streams of changes for each program, and schedules for each stream."""


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
    for seed in range(FIRST_SEED, FIRST_SEED + 6):
        asked_for(recursion, seed)


def test_rows_with_too_many_derivations_to_list():
    """Eagerly on one node: a row has thousands of minimal terms, and a diagram of some thousand nodes."""
    net = asked_for(next(one for one in RECURSIONS if one.name == "grouped as well"), 90006)
    scheme = net.nodes[0].scheme
    assert isinstance(scheme, Absorption) and scheme.shipping is EAGER
    drawn = [entry.value for entry in net.nodes[0].tables[net.plan.numbers["o"]].rows.values()]
    assert any(isinstance(value, Drawing) for value in drawn)


def asked_for(recursion: Recursion, seed: int) -> Simulator:
    """Some versions of a recursion, one after the other, on a network of a seed."""
    checked = check(parse(recursion.text), Functions())
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
    assert_same(net, recursion.solve({name: frozenset(rows) for name, rows in there.items()}), str(changes))
    return net


@settings(max_examples=max(PROGRAMS // 4, 10))
@given(programs(), st.integers(0, 1 << 30))
def test_links_and_nodes_that_fail(program, seed):
    """Links fail and come back, parts are cut off, nodes are lost with all that they hold and begin again."""
    chance = random.Random(seed)
    checked = check(parse(program.text()), Functions())
    plan = plan_nodes(compile_program(checked, places(checked, chance)))
    changes, there = stream(chance)
    expected = solve(program, there)
    for number in range(SCHEDULES):
        shipping = chance.choice(SHIPPINGS)
        net = simulated(plan, shipping, chance, loss=chance.choice([0, 0.1]))
        fail(net, changes, chance)
        assert_same(net, expected, f"schedule {number}, {shipping.name}: {changes}")
        FIGURES["schedules with failures"] += 1


def fail(net: Simulator, changes: list[Change], chance: random.Random) -> None:
    """Make the changes while links and nodes fail; in the end all are there again."""
    nodes = range(len(net.nodes))
    for comes, relation, row in changes:
        (net.insert if comes else net.delete)(relation, row)
        net.steps(chance.choice([0, 1, 3, 30]))
        what = chance.randrange(8)
        down = sorted(net.faults.down_nodes)
        if what == 0 and len(nodes) > 1:
            net.fail_link(*chance.sample(nodes, 2))
        elif what == 1:
            half = chance.sample(nodes, len(nodes) // 2)
            net.partition(half, set(nodes) - set(half))
        elif what == 2:
            net.heal()
        elif what == 3 and len(down) < len(nodes) - 1:
            net.fail_node(chance.choice([node for node in nodes if node not in down]))
        elif what == 4 and down:
            net.restart_node(chance.choice(down))
    for node in sorted(net.faults.down_nodes):
        net.steps(chance.choice([0, 5]))
        net.restart_node(node)
    net.run()
    net.heal()
    net.run()
