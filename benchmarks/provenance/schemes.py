"""The schemes of the comparison: ways of maintaining a view on nodes; and one process, to compare answers with."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from benchmarks.provenance.workloads import Fact, Row, Workload
from headwater.annotations.dnf_or_bdd import DnfOrBdd
from headwater.database import Database
from headwater.errors import DataError, EvaluationError
from headwater.language.datalog import parse
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.dred import dred
from headwater.networks.annotated.ranked import ranked
from headwater.networks.annotated.relative import relative
from headwater.networks.annotated.scheme import SchemeMaker
from headwater.networks.annotated.shipping import LAZY, timed
from headwater.networks.runtime.message_codec import row_size
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import NodePlan, plan_nodes
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.values.functions import Functions

EVERY_SECOND = timed(1.0)
"""The paper's eager propagation: once a second."""
NEAREST_EVERY_SECOND = timed(1.0, nearest_first=True)
"""The same, in an order: each second, rows that rest on base rows of fewest nodes."""
LISTED_TERMS = 8
"""With nodes that look after sub-networks, expressions of more terms are diagrams: their orders are good."""
DIAGRAM_NODES = 1 << 24
"""Of each query processing node; with a quarter of them there are networks that do not fit."""
SLICE = 500
"""Events between two looks at the clock."""


@dataclass(frozen=True)
class MeasuredScheme:
    """A way of maintaining a view, by name."""

    name: str
    maker: SchemeMaker
    by_subnetwork: bool = False
    """Whether each node looks after a part of the network; else rows are spread by a hash."""


DRED = MeasuredScheme("dred", dred())
RELATIVE_EAGER = MeasuredScheme("relative eager", relative(EVERY_SECOND))
RELATIVE_LAZY = MeasuredScheme("relative lazy", relative(LAZY))
ABSORPTION_EAGER = MeasuredScheme(
    "absorption eager", absorption(EVERY_SECOND, algebra=lambda: DnfOrBdd(DIAGRAM_NODES))
)
EAGER_BY_SUBNETWORK = MeasuredScheme(
    "absorption eager, by sub-network",
    absorption(NEAREST_EVERY_SECOND, algebra=lambda: DnfOrBdd(DIAGRAM_NODES, most_terms=LISTED_TERMS)),
    by_subnetwork=True,
)
ABSORPTION_LAZY = MeasuredScheme("absorption lazy", absorption(LAZY))
RANKED = MeasuredScheme("ranked", ranked())
ALL = (DRED, RELATIVE_EAGER, RELATIVE_LAZY, ABSORPTION_LAZY, RANKED, EAGER_BY_SUBNETWORK, ABSORPTION_EAGER)
SPREAD = tuple(scheme for scheme in ALL if not scheme.by_subnetwork)
"""Those of rows that have no sub-networks."""


@lru_cache(maxsize=16)
def planned(text: str) -> NodePlan:
    """What nodes run for a text."""
    return plan_nodes(compile_program(check(parse(text), Functions())))


class OnNodes:
    """A workload's view on simulated nodes."""

    def __init__(self, workload: Workload, scheme: MeasuredScheme, nodes: int):
        self.workload = workload
        self.nodes = nodes
        self.network = Simulator(
            planned(workload.program),
            workload.directory(nodes, scheme.by_subnetwork),
            scheme.maker,
            links=workload.links(nodes),
        )
        self.converging = 0.0
        """Simulated seconds from changes until the last message that they gave rise to, of all changes so far."""

    def change(self, insert: Sequence[Fact], delete: Sequence[Fact], patience: float) -> bool:
        """All insertions at once, then each deletion in isolation; whether it converged in so many CPU seconds."""
        end = time.process_time() + patience
        steps: list[tuple[Sequence[Fact], Sequence[Fact]]] = [(insert, ())] if insert else []
        steps += [((), (fact,)) for fact in delete]
        for new, gone in steps:
            started = self.network.now
            for relation, row in new:
                self.network.insert(relation, row)
            for relation, row in gone:
                self.network.delete(relation, row)
            if not self._settle(end):
                return False
            self.converging += max(0.0, self.network.last_message - started)
        return True

    def _settle(self, end: float) -> bool:
        while time.process_time() < end:
            if not self._stepped():
                return False
            if self.network.is_quiet():
                self.network.run(self.network.now)  # what waits until all nodes are at rest begins
                if self.network.is_quiet():
                    return True
        return False

    def _stepped(self) -> bool:
        """Let some events happen; whether diagrams had room."""
        try:
            self.network.steps(SLICE)
        except EvaluationError as error:
            if error.code == "out-of-nodes":
                return False
            raise
        return True

    def answer(self) -> set[Row]:
        """The rows of the view."""
        return self.network.rows(self.workload.answer)

    def provenance(self) -> float:
        """Bytes of annotation for each row of the view."""
        carried = rows = 0
        for node in self.network.nodes:
            for row in node.rows(self.workload.answer):
                entry = node.entry(self.workload.answer, row)
                carried += 0 if entry is None else node.scheme.carried(entry)
                rows += 1
        return carried / max(1, rows)

    def state(self) -> int:
        """Bytes that all nodes hold: rows with what they carry, and what schemes keep beside them."""
        total = 0
        for node in self.network.nodes:
            total += node.scheme.kept()
            for relation, table in enumerate(node.tables):
                for entry in table.rows.values():
                    total += row_size(relation, entry.row) + node.scheme.carried(entry)
        return total


class CentralView:
    """The same rules by Headwater's default, in one process: what answers are compared with."""

    def __init__(self, workload: Workload):
        self.workload = workload
        self.database = Database()
        self.database.define(workload.program)

    def change(self, insert: Sequence[Fact], delete: Sequence[Fact]) -> None:
        """All insertions in one version, all deletions in the next."""
        self.database.apply(insert=_by_relation(insert))
        self.database.apply(delete=_by_relation(delete))

    def answer(self) -> set[Row]:
        """The rows of the view."""
        return set(self.database[self.workload.answer].rows())


def _by_relation(facts: Iterable[Fact]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for relation, row in facts:
        found.setdefault(relation, []).append(row)
    return found


def compare(scheme: str, what: str, ours: Iterable[Row], expected: Iterable[Row]) -> int:
    """How many rows were compared; raises where they differ."""
    left, right = set(ours), set(expected)
    if left != right:
        raise DataError(
            "wrong-answer",
            f"{scheme}, {what}: {len(left - right):,} rows too many and {len(right - left):,} missing",
        )
    return len(left)
