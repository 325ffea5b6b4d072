"""Simulated networks for tests: a text on some nodes, changes while messages are under way, what must come out."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from headwater.language.datalog import parse
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.counting import counting
from headwater.networks.annotated.dred import dred
from headwater.networks.annotated.ranked import ranked
from headwater.networks.annotated.relative import relative
from headwater.networks.annotated.scheme import SchemeMaker
from headwater.networks.annotated.shipping import BOUNDED, EAGER, LAZY, timed, windowed
from headwater.networks.orders.iterations import SemiNaive, buffered
from headwater.networks.orders.pipelined import Pipelined
from headwater.networks.runtime.directory import Directory, Hashed
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import NodePlan, plan_nodes
from headwater.networks.transports.simulator.links import LinkQuality, alike
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.values.functions import Functions

Row = tuple[Any, ...]
Change = tuple[bool, str, Row]
"""Whether a row comes or goes, its relation, and the row."""

SCHEMES: dict[str, SchemeMaker] = {
    "absorption, eager": absorption(EAGER),
    "absorption, W = 2": absorption(windowed(2)),
    "absorption, timed": absorption(timed(0.05)),
    "absorption, nearest first": absorption(timed(0.05, nearest_first=True)),
    "absorption, lazy": absorption(LAZY),
    "absorption, bounded": absorption(BOUNDED),
    "relative, lazy": relative(LAZY),
    "relative, eager": relative(EAGER),
    "relative, timed": relative(timed(0.05)),
    "dred": dred(),
    "dred with requests": dred(requests=True),
    "ranked": ranked(),
    "counting": counting(),
}
"""All schemes that come to rest."""
ORDERS = {"PSN": Pipelined, "BSN": buffered, "SN": SemiNaive}
MOST_MESSAGES = 100_000


@lru_cache(maxsize=64)
def planned(text: str) -> NodePlan:
    """What nodes run for a text."""
    return plan_nodes(compile_program(check(parse(text), Functions())))


def network(text: str, scheme: SchemeMaker, directory: Directory | int = 3, **options: Any) -> Simulator:
    """Nodes that run a text."""
    nodes = Hashed(directory) if isinstance(directory, int) else directory
    return Simulator(planned(text), nodes, scheme, **{"most_messages": MOST_MESSAGES, **options})


def random_network(
    text: str, scheme: SchemeMaker, chance: random.Random, order: str | None = None
) -> Simulator:
    """One to five nodes, with latencies that vary more or less, in one of the orders."""
    jitter = chance.choice([0.0, 0.02, 0.2])
    return network(
        text,
        scheme,
        chance.choice([1, 2, 3, 5]),
        order=ORDERS[order or chance.choice(list(ORDERS))],
        links=alike(LinkQuality(0.01, jitter=jitter)),
        seed=chance.randrange(1 << 30),
        measure=False,
    )


def follow(net: Simulator, changes: Iterable[Change], chance: random.Random) -> None:
    """Make all changes, most of them while what follows from earlier ones is under way; then let it come to rest."""
    for comes, relation, row in changes:
        (net.insert if comes else net.delete)(relation, row)
        if chance.random() < 0.5:
            net.steps(chance.randrange(20))
        elif chance.random() < 0.05:
            net.run()
    net.run()


def assert_rows(net: Simulator, expected: Mapping[str, Iterable[Row]], what: str) -> None:
    for relation, rows in expected.items():
        found, wanted = net.rows(relation), set(rows)
        assert found == wanted, f"{what}: {relation} has {found - wanted} and lacks {wanted - found}"
