"""Changes under way at once, messages in any order that keeps channels first in first out: the view is right.

Each schedule is a stream of insertions and deletions; between two of them some messages are delivered, from
channels taken at random. Only in the end everything is. That is when the view is compared.
"""

from __future__ import annotations

import os
import random

import pytest
from simulated_oracle import best, closure, regions

from headwater.annotations.bdd import BDD
from headwater.networks.simulated.absorption import EAGER, LAZY, AbsorptionCluster
from headwater.networks.simulated.aggregate_selection import by_cost, by_cost_and_hops, by_hops
from headwater.networks.simulated.channels import RowMessage
from headwater.networks.simulated.dred import DRedCluster
from headwater.networks.simulated.queries import path, reachable, region
from headwater.networks.simulated.relative import RelativeCluster

SCHEDULES = 10_000
FIRST_SEED = int(os.environ.get("HEADWATER_SEED", 0))
BATCHES = (LAZY, LAZY, EAGER, 3)


def stream(cluster, chance: random.Random, base, changes: int) -> set:
    """Apply random changes, delivering a few messages after each; return the base rows that are left."""
    there: set = set()
    for _ in range(changes):
        if there and chance.random() < 0.4:
            row = chance.choice(sorted(there))
            there.discard(row)
            cluster.delete([row])
        else:
            row = chance.choice(base)
            there.add(row)
            cluster.insert([row])
        cluster.channels.deliver(cluster.handle, chance.randrange(6))
    return there


LINKS = [(x, y) for x in range(5) for y in range(5) if (x + 2 * y) % 5]


@pytest.mark.parametrize("part", range(4))
def test_reachability(part):
    """Four times 2,500 schedules over 3 to 5 nodes."""
    in_flight = 0
    for seed in range(part * SCHEDULES // 4, (part + 1) * SCHEDULES // 4):
        chance = random.Random(FIRST_SEED + seed)
        cluster = AbsorptionCluster(
            reachable(), chance.randint(3, 5), choices=chance, batch=chance.choice(BATCHES)
        )
        there = stream(cluster, chance, LINKS, changes=16)
        in_flight += cluster.channels.waiting() > 0
        cluster.run()
        assert cluster.view() == closure(there), f"schedule {seed}"
        for row in cluster.view():
            assert cluster.provenance(row), f"schedule {seed}"
    assert in_flight > SCHEDULES // 4 // 2, "most streams end with messages under way"


NEAR = {0: [1, 2], 1: [0, 3], 2: [0, 3], 3: [1, 2, 4], 4: [3, 5], 5: [4]}
SEEDS = {7: 0, 8: 4}


def test_regions():
    for seed in range(600):
        chance = random.Random(FIRST_SEED + seed)
        cluster = AbsorptionCluster(region(SEEDS, NEAR), 3, choices=chance, batch=chance.choice(BATCHES))
        there = stream(cluster, chance, [(sensor,) for sensor in NEAR], changes=14)
        cluster.run()
        assert cluster.view() == regions({row[0] for row in there}, SEEDS, NEAR), f"schedule {seed}"


PRICED = [(x, y, 1 + (3 * x + 5 * y) % 7) for x in range(4) for y in range(4) if x != y]


@pytest.mark.parametrize(
    ("selection", "by_price", "by_length"),
    [(by_cost(), True, False), (by_hops(), False, True), (by_cost_and_hops(), True, True)],
    ids=["cost", "hops", "cost and hops"],
)
def test_best_paths(selection, by_price, by_length):
    for seed in range(250):
        chance = random.Random(FIRST_SEED + seed)
        cluster = AbsorptionCluster(
            path(), 3, selection=selection, choices=chance, batch=chance.choice(BATCHES), limit=50_000
        )
        there = stream(cluster, chance, PRICED, changes=10)
        cluster.run()
        found = cluster.view()
        for wanted, measure, weight in ((by_price, 3, lambda link: link[2]), (by_length, 4, lambda link: 1)):
            if wanted:
                least: dict = {}
                for row in found:
                    least[row[:2]] = min(row[measure], least.get(row[:2], row[measure]))
                assert least == best(there, weight), f"schedule {seed}"
        for row in found:
            assert {(a, b) for a, b in zip(row[2], row[2][1:], strict=False)} <= {link[:2] for link in there}


@pytest.mark.parametrize("kind", [DRedCluster, RelativeCluster])
@pytest.mark.parametrize("name", ["reachable", "region"])
def test_the_others_one_deletion_after_the_other(kind, name):
    """Delete-and-rederive and relative provenance need all nodes at rest in between."""
    query, base = (reachable(), LINKS) if name == "reachable" else (region(SEEDS, NEAR), [(s,) for s in NEAR])
    for seed in range(250):
        chance = random.Random(FIRST_SEED + seed)
        cluster = kind(query, 3, choices=chance)
        there: set = set()
        for _ in range(10):
            there_now = sorted(there)
            gone = [row for row in there_now if chance.random() < 0.25]
            new = chance.sample(base, chance.randrange(4))
            cluster.delete(gone)
            cluster.insert(new)
            cluster.run()
            there = (there - set(gone)) | set(new)
            expected = (
                closure(there) if name == "reachable" else regions({row[0] for row in there}, SEEDS, NEAR)
            )
            assert cluster.view() == expected, f"schedule {seed}"


def test_diagrams_and_terms_ship_the_same_messages():
    for seed in range(40):
        logs = []
        for annotation in ({}, {"annotation": lambda: BDD(nodes=1 << 12)}):
            chance = random.Random(FIRST_SEED + seed)
            cluster = AbsorptionCluster(reachable(), 3, choices=chance, batch=LAZY, **annotation)
            cluster.channels.log = []
            there = stream(cluster, chance, LINKS, changes=10)
            cluster.run()
            assert cluster.view() == closure(there)
            logs.append([(a, b, message.kind, message.row) for a, b, message in cluster.channels.log])
        assert logs[0] == logs[1], f"schedule {seed}"


def test_what_arrives_after_its_base_row_is_gone_is_ignored():
    """A derivation sent before its sender heard of the deletion: the tombstone tells."""
    cluster = AbsorptionCluster(reachable(), 2, place=lambda key: key % 2)
    cluster.insert([(0, 1)])
    cluster.run()
    node = cluster.nodes[1]
    late = RowMessage("view", (1, 0), node.annotation.encode(cluster.provenance((0, 1))))
    cluster.delete([(0, 1)])
    cluster.run()
    node.handle(late)
    cluster.run()
    assert cluster.view() == set()


def test_a_row_that_comes_again_has_another_variable():
    cluster = AbsorptionCluster(reachable(), 2, place=lambda key: key % 2)
    seen = []
    for _ in range(3):
        cluster.insert([(0, 1)])
        cluster.run()
        seen.append(cluster.provenance((0, 1)))
        cluster.delete([(0, 1)])
        cluster.run()
    assert len(set(seen)) == 3
    assert cluster.nodes[0].tombstones == cluster.nodes[1].tombstones == {0, 2, 4}
