"""Links that flap: whether what nodes hold grows with the number of deletions that they have seen."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass

from benchmarks.provenance.measuring import FigureStage
from benchmarks.provenance.schemes import ABSORPTION_LAZY, CentralView, OnNodes, compare
from benchmarks.provenance.workloads import links
from headwater.networks.annotated.absorption import Absorption

NODES = 4
LINKS = 16
"""Of the network, as many are there: enough for cycles, and few enough for many flaps."""


@dataclass(frozen=True)
class Held:
    """What all nodes hold after so many flaps: variables that were ever needed, tombstones, bytes."""

    flaps: int
    variables: int
    tombstones: int
    state: int


@dataclass(frozen=True)
class Flaps:
    """A run: each flap deletes a link and inserts it again, some of them before the nodes are at rest."""

    flaps: int
    samples: tuple[Held, ...]


def measure_flaps(stage: FigureStage) -> Flaps | None:
    """10,000 flaps, or a few if quick; as kept, if they were made before."""
    flaps = 200 if stage.quick else 10_000
    name = f"{flaps} flaps"
    kept = stage.kept.read(name)
    if kept is not None:
        stage.compared += len(kept["samples"])
        return Flaps(flaps, tuple(Held(**sample) for sample in kept["samples"]))
    if stage.kept.found_only:
        return None
    found = _flap(stage, flaps)
    stage.kept.write(name, asdict(found))
    return found


def _flap(stage: FigureStage, flaps: int) -> Flaps:
    workload = links(1, True, 0.0, 0)
    facts = workload.facts[:LINKS]
    view, reference = OnNodes(workload, ABSORPTION_LAZY, NODES), CentralView(workload)
    view.change(facts, (), stage.patience)
    reference.change(facts, ())
    chance = random.Random(0)
    samples = []
    for number in range(1, flaps + 1):
        relation, row = chance.choice(facts)
        view.network.delete(relation, row)
        if chance.random() < 0.5:
            view.network.run()
        view.network.insert(relation, row)
        view.network.run()
        if number % (flaps // 10) == 0:
            stage.told(f"flaps: {number:,}")
            compare("absorption lazy", f"{number} flaps", view.answer(), reference.answer())
            stage.compared += 1
            samples.append(_held(view, number))
    return Flaps(flaps, tuple(samples))


def _held(view: OnNodes, flaps: int) -> Held:
    schemes = [node.scheme for node in view.network.nodes]
    assert all(isinstance(scheme, Absorption) for scheme in schemes)
    return Held(
        flaps,
        sum(scheme.own.given for scheme in schemes if isinstance(scheme, Absorption)),
        sum(len(scheme.tombstones) for scheme in schemes if isinstance(scheme, Absorption)),
        view.state(),
    )
