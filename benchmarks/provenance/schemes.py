"""The schemes of the comparison: ways of maintaining a view across nodes, and ranked support in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from benchmarks.provenance.workloads import Workload
from headwater.database import Database
from headwater.errors import DataError
from headwater.networks.simulated.absorption import EAGER, LAZY, AbsorptionCluster
from headwater.networks.simulated.aggregate_selection import BestOf
from headwater.networks.simulated.channels import Row
from headwater.networks.simulated.cluster import Measures, SimulatedCluster
from headwater.networks.simulated.dred import DRedCluster
from headwater.networks.simulated.relative import RelativeCluster

SLICE = 1000
"""How many messages are delivered between two looks at the clock."""


class Scheme(Protocol):
    """Somebody who maintains a view, on so many nodes."""

    name: str
    nodes: int

    def change(self, insert: Sequence[Row], delete: Sequence[Row], patience: float) -> bool:
        """Apply changes, deletes one after the other; return whether the view converged in so many CPU seconds."""
        ...

    def measures(self) -> Measures:
        """What it has cost so far."""
        ...

    def answer(self) -> set[Row]:
        """The rows of the view."""
        ...


class OnNodes:
    """A cluster of simulated nodes."""

    def __init__(self, cluster: SimulatedCluster, name: str = ""):
        self.cluster = cluster
        self.name = name or cluster.name
        self.nodes = cluster.channels.nodes

    def change(self, insert: Sequence[Row], delete: Sequence[Row], patience: float) -> bool:
        """All insertions at once, then each deletion in isolation."""
        end = time.process_time() + patience
        self.cluster.insert(insert)
        if not self._settle(end):
            return False
        for row in delete:
            self.cluster.delete([row])
            if not self._settle(end):
                return False
        return True

    def _settle(self, end: float) -> bool:
        channels = self.cluster.channels
        while channels.waiting():
            channels.deliver(self.cluster.handle, SLICE)
            if time.process_time() > end:
                return False
        self.cluster.run()
        return True

    def measures(self) -> Measures:
        """What it has cost so far."""
        return self.cluster.measures()

    def answer(self) -> set[Row]:
        """The rows of the view."""
        return self.cluster.view()


class RankedSupport:
    """Headwater's default, in one process: no messages, no provenance. Also what answers are compared with."""

    name = "ranked support"
    nodes = 1

    def __init__(self, workload: Workload):
        self.database = Database()
        self.database.define(workload.program)
        self.database.apply(insert=dict(workload.facts))

    def change(self, insert: Sequence[Row], delete: Sequence[Row], patience: float) -> bool:
        """All insertions in one version, then a version for each deletion."""
        self.database.apply(insert={"base": list(insert)})
        for row in delete:
            self.database.apply(delete={"base": [row]})
        return True

    def measures(self) -> Measures:
        """Rows, and the bytes allocated for them."""
        relations = self.database.engine.workspace.relations
        return Measures(len(self.database["answer"]), 0, 0, 0.0, sum(r.nbytes for r in relations.values()))

    def answer(self) -> set[Row]:
        """The rows of the view."""
        return set(self.database["answer"].rows())


Make = Callable[[Workload, int], Scheme]


def dred(workload: Workload, nodes: int) -> Scheme:
    """Delete and rederive."""
    return OnNodes(DRedCluster(workload.query, nodes))


def relative_lazy(workload: Workload, nodes: int) -> Scheme:
    """Relative provenance."""
    return OnNodes(RelativeCluster(workload.query, nodes))


def absorption_eager(workload: Workload, nodes: int) -> Scheme:
    """Absorption provenance, every derivation shipped."""
    return OnNodes(AbsorptionCluster(workload.query, nodes, batch=EAGER))


def absorption_lazy(workload: Workload, nodes: int) -> Scheme:
    """Absorption provenance, derivations shipped as needed."""
    return OnNodes(AbsorptionCluster(workload.query, nodes, batch=LAZY))


def ranked_support(workload: Workload, nodes: int) -> Scheme:
    """One process, whatever the number of nodes."""
    return RankedSupport(workload)


def selecting(name: str, selection: BestOf | None) -> Make:
    """Absorption provenance, lazy, with aggregate selection."""
    return lambda workload, nodes: OnNodes(
        AbsorptionCluster(workload.query, nodes, batch=LAZY, selection=selection),
        name,
    )


ALL: tuple[Make, ...] = (dred, relative_lazy, absorption_eager, absorption_lazy, ranked_support)


def compare(scheme: str, what: str, ours: Iterable[Row], expected: Iterable[Row]) -> int:
    """How many rows were compared; raises where they differ."""
    left, right = set(ours), set(expected)
    if left != right:
        raise DataError(
            "wrong-answer",
            f"{scheme}, {what}: {len(left - right):,} rows too many and {len(right - left):,} missing",
        )
    return len(left)
