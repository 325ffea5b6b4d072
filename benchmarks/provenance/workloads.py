"""The workloads of liu-2008 section 7.1: links of transit-stub networks, and sensors on a grid."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

from headwater.networks.simulated.channels import Row
from headwater.networks.simulated.queries import LinearQuery, path, reachable, region
from headwater.networks.transit_stub import transit_stub


@dataclass(frozen=True)
class Workload:
    """A query, its base rows in the order of insertion, and which of them are deleted later, one by one.

    `program` says the same in rules, with base rows in `base` and the answer in `answer`.
    """

    query: LinearQuery
    rows: tuple[Row, ...]
    gone: tuple[Row, ...]
    program: str
    facts: tuple[tuple[str, tuple[Row, ...]], ...] = ()


REACHABLE = """
  base(x: string, y: string).
  answer(X, Y) :- base(X, Y).
  answer(X, Y) :- base(X, Z), answer(Z, Y).
"""
REGION = """
  base(x: int). seed(x: int, region: int). near(x: int, y: int).
  answer(X, R) :- base(X), seed(X, R).
  answer(Y, R) :- answer(X, R), base(X), near(X, Y).
"""
PATHS = """
  base(x: string, y: string, c: int).
  answer(X, Y, min<C>) :- base(X, Y, C).
  answer(X, Y, min<C>) :- base(X, Z, A), answer(Z, Y, B), C = A + B.
"""


def links(transit: int, dense: bool, share: float, seed: int) -> Workload:
    """Reachability over a network; a share of its links is deleted."""
    rows = [row[:2] for row in addressed(transit, dense, seed)]
    chance = random.Random(seed + 1)
    chance.shuffle(rows)
    return Workload(reachable(), tuple(rows), tuple(chance.sample(rows, round(share * len(rows)))), REACHABLE)


def priced_links(transit: int, dense: bool, share: float, seed: int) -> Workload:
    """Best paths over a network with latencies; a share of its links is deleted."""
    rows = addressed(transit, dense, seed)
    chance = random.Random(seed + 1)
    chance.shuffle(rows)
    return Workload(path(), tuple(rows), tuple(chance.sample(rows, round(share * len(rows)))), PATHS)


def sensors(side: int, seed: int, spacing: int = 10, reach: int = 20, seeds: int = 5) -> Workload:
    """Regions on a grid of side × side sensors: seeds and half of all are triggered, then let go again."""
    places = dict(enumerate(product(range(side), repeat=2)))
    limit = (reach / spacing) ** 2

    def close(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 < limit

    near = {i: tuple(j for j, b in places.items() if i != j and close(a, b)) for i, a in places.items()}
    chance = random.Random(seed)
    main = chance.sample(sorted(places), seeds)
    others = chance.sample([i for i in places if i not in main], len(places) // 2 - seeds)
    rows: tuple[Row, ...] = tuple((i,) for i in (*main, *others))
    gone = tuple((i,) for i in chance.sample(others, len(others)))
    regions = dict(enumerate(main))
    return Workload(
        region(regions, near),
        rows,
        gone,
        REGION,
        (
            ("seed", tuple((sensor, number) for number, sensor in regions.items())),
            ("near", tuple((i, j) for i, found in near.items() for j in found)),
        ),
    )


def addressed(transit: int, dense: bool, seed: int) -> list[tuple[str, str, int]]:
    """Links in both directions. Nodes are named by addresses, as in a network: annotations that name rows grow
    with the names, those that number base rows do not."""
    network = transit_stub(transit, dense=dense, seed=seed)
    address = {name: f"192.168.{i // 250}.{i % 250 + 1}" for i, name in enumerate(network.nodes)}
    return [(address[a], address[b], cost) for a, b, cost in network.rows()]
