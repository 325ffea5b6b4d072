"""Random schedules: streams of changes, places of relations, networks and orders, all drawn from a seed."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from itertools import product
from typing import Any

from oracle_strategies import BASE, DOMAIN

from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.shipping import BOUNDED, EAGER, LAZY, Shipping, timed, windowed
from headwater.networks.orders.iterations import SemiNaive, buffered
from headwater.networks.orders.pipelined import Pipelined
from headwater.networks.runtime.directory import Hashed
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.transports.simulator.links import LinkQuality, alike
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.checked import Checked, RelationInfo

Change = tuple[bool, str, tuple[int, ...]]

FIRST_SEED = int(os.environ.get("HEADWATER_SEED", 0))
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


SHIPPINGS = [LAZY, LAZY, BOUNDED, BOUNDED, EAGER, windowed(3), timed(2.0), timed(2.0, nearest_first=True)]
