"""What links cost, by metric: latency, hops, reliability, a random number (loo-2006 section 6.1).

Reliability is a cost that adds up: the more of what is sent gets lost on a way, the more it costs. What a link loses
grows with its latency and is drawn from the seed, as the overlays of `topologies/overlay` have it.

>>> from headwater.networks.topologies.topology import Link, Topology
>>> network = Topology(("a", "b"), (Link("a", "b", 50),))
>>> link_costs(network, ("latency", "hops"), seed=0)
{('a', 'b'): (50, 1), ('b', 'a'): (50, 1)}
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from headwater.networks.topologies.topology import Topology
from headwater.values import arguments

METRICS = ("latency", "hops", "reliability", "random")
MOST_RANDOM = 100
LOSS_OF_A_MS = 1 / 2000
"""How much is lost on average for a millisecond of latency."""
STEPS_OF_LOSS = 10_000

Ends = tuple[str, str]
Costs = tuple[int, ...]


def link_costs(topology: Topology, metrics: Sequence[str], seed: int) -> dict[Ends, Costs]:
    """A cost by each metric, for each direction of each link; the same both ways where links lead both ways."""
    found: dict[Ends, list[int]] = {(source, target): [] for source, target, _ in topology.rows()}
    for metric in metrics:
        cost = _COSTS[arguments.one_of("metric", metric, METRICS)]
        chance = random.Random(seed)
        drawn: dict[Ends, int] = {}
        for source, target, latency in topology.rows():
            known = None if topology.directed else drawn.get((target, source))
            drawn[source, target] = cost(latency, topology.parts_of_ms, chance) if known is None else known
        for ends, value in drawn.items():
            found[ends].append(value)
    return {ends: tuple(costs) for ends, costs in found.items()}


def _reliability(latency: int, parts_of_ms: int, chance: random.Random) -> int:
    loss = min(0.99, latency / parts_of_ms * LOSS_OF_A_MS * chance.uniform(0.5, 1.5))
    return max(1, math.ceil(-math.log(1 - loss) * STEPS_OF_LOSS))


_COSTS: dict[str, Callable[[int, int, random.Random], int]] = {
    "latency": lambda latency, parts_of_ms, chance: latency,
    "hops": lambda latency, parts_of_ms, chance: 1,
    "reliability": _reliability,
    "random": lambda latency, parts_of_ms, chance: chance.randint(1, MOST_RANDOM),
}
