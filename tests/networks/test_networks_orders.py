"""Loo et al. 2006, theorems 1 to 4: whatever the order of evaluation, the same rows, and no inference twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from random_schedules import FIRST_SEED

from headwater.language.datalog import parse
from headwater.networks.annotated.absorption import Absorption, absorption
from headwater.networks.annotated.dred import dred
from headwater.networks.annotated.scheme import Host, Scheme, SchemeMaker
from headwater.networks.annotated.shipping import BOUNDED, LAZY
from headwater.networks.orders.iterations import SemiNaive, buffered
from headwater.networks.orders.order import EvaluationOrder
from headwater.networks.orders.pipelined import Pipelined
from headwater.networks.runtime.directory import Hashed
from headwater.networks.runtime.row_table import Entry, Row
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import NodePlan, plan_nodes
from headwater.networks.strands.strand import ALL_STAMPS, Firing, Strand
from headwater.networks.transports.simulator.links import LinkQuality, alike
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.values.functions import Functions

ORDERS: dict[str, Callable[[], EvaluationOrder]] = {
    "SN": SemiNaive,
    "BSN": buffered,
    "BSN of 2": lambda: buffered(2),
    "PSN": Pipelined,
}
PROGRAMS = {
    "linear": "r(X, Y) :- e(X, Y). r(X, Y) :- e(X, Z), r(Z, Y).",
    "non-linear": "r(X, Y) :- e(X, Y). r(X, Y) :- r(X, Z), r(Z, Y).",
    "itself": "r(X, Y) :- e(X, Y). r(X, Y) :- r(X, Y), r(Y, X), r(X, X).",
    "mutual": "p(X, Y) :- e(X, Y). q(X, Y) :- p(X, Z), e(Z, Y). p(X, Y) :- q(X, Z), f(Z, Y), p(Y, X).",
    "same generation": "s(X, Y) :- e(P, X), e(P, Y). s(X, Y) :- e(A, X), s(A, B), e(B, Y).",
    "three": "r(X, Y) :- e(X, Z), e(Z, U), e(U, Y), f(X, Y). t(X) :- r(X, X), e(X, 1), f(_, X).",
}
Inference = tuple[int, int, tuple[Row, ...]]


class Recording:
    """A scheme that takes note of all inferences of its node."""

    def __init__(self, host: Host, maker: SchemeMaker, seen: Counter[Inference]):
        self._scheme = maker(host)
        self._number = host.number
        self._seen = seen

    def derived(self, strand: Strand, row: Row, entries: Sequence[Entry | None], news: Any) -> None:
        self._seen[self._number, strand.rule, tuple(entry.row for entry in entries if entry)] += 1
        self._scheme.derived(strand, row, entries, news)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheme, name)


def recording(maker: SchemeMaker, seen: Counter[Inference]) -> SchemeMaker:
    def make(host: Host) -> Scheme:
        return Recording(host, maker, seen)  # type: ignore[return-value]

    return make


def planned(text: str) -> NodePlan:
    declared = ".decl e(x: number, y: number)\n.decl f(x: number, y: number)\n"
    return plan_nodes(compile_program(check(parse(declared + text), Functions())))


def rows(chance: random.Random) -> list[tuple[str, Row]]:
    return [
        (chance.choice("eef"), (chance.randrange(4), chance.randrange(4)))
        for _ in range(chance.randrange(4, 14))
    ]


def possible(net: Simulator) -> set[Inference]:
    """All inferences that there are: rules run from the rows of their heads, over what nodes hold in the end."""
    found: set[Inference] = set()
    for node in net.nodes:
        for relation, strands in enumerate(net.plan.deriving):
            heads = {row for other in net.nodes for row in other.tables[relation].rows}
            for strand in strands:

                def take(_: Row, entries: list[Entry | None], node=node, strand=strand) -> None:
                    found.add((node.number, strand.rule, tuple(entry.row for entry in entries if entry)))

                firing = Firing(node.tables, take)
                for row in heads:
                    strand.fire(firing, row, None, ALL_STAMPS)
    return found


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_theorems_1_and_2(program, order):
    """The fixpoint of semi-naive evaluation, each inference once, on one node and on several."""
    plan = planned(PROGRAMS[program])
    for seed in range(FIRST_SEED, FIRST_SEED + 12):
        chance = random.Random(seed)
        given = rows(chance)
        seen: Counter[Inference] = Counter()
        net = Simulator(
            plan,
            Hashed(chance.choice([1, 1, 3])),
            recording(dred(), seen),
            order=ORDERS[order],
            links=alike(LinkQuality(0.01, jitter=0.05)),
            seed=seed,
        )
        for relation, row in given:
            net.insert(relation, row)
            net.steps(chance.choice([0, 1, 5]))
        net.run()
        reference = Simulator(plan, Hashed(1), dred(), order=SemiNaive)
        for relation, row in given:
            reference.insert(relation, row)
        reference.run()
        for name in plan.program.views:
            assert net.rows(name) == reference.rows(name), (name, seed)
        assert set(seen.values()) <= {1}, f"seed {seed}: an inference twice"
        assert set(seen) == possible(net), f"seed {seed}"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("nodes", [1, 4], ids=["theorem 3, one node", "theorem 4, links first in first out"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_theorems_3_and_4(program, nodes, order):
    """After bursts of changes during evaluation, what evaluation from scratch gives."""
    plan = planned(PROGRAMS[program])
    for seed in range(FIRST_SEED, FIRST_SEED + 6):
        chance = random.Random(seed)
        net = Simulator(
            plan,
            Hashed(nodes),
            absorption(chance.choice([LAZY, BOUNDED])),
            order=ORDERS[order],
            links=alike(LinkQuality(0.01, jitter=0.05)),
            seed=seed,
        )
        there: set[tuple[str, Row]] = set()
        for _ in range(3):
            for change in rows(chance):
                if change in there or chance.random() < 0.3 and there:
                    change = chance.choice(sorted(there))
                    there.discard(change)
                    net.delete(*change)
                else:
                    there.add(change)
                    net.insert(*change)
                net.steps(chance.choice([0, 1, 5]))
        net.run()
        scratch = Simulator(plan, Hashed(1), absorption(LAZY))
        for relation, row in sorted(there):
            scratch.insert(relation, row)
        scratch.run()
        for name in plan.program.views:
            assert net.rows(name) == scratch.rows(name), (name, seed)
        assert all(isinstance(node.scheme, Absorption) for node in net.nodes)
