"""What every node of a network is told before it begins: the program, what rows carry, the order of evaluation.

Data that can be sent: a process that is to be a node makes the same plan of it as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from headwater.language.datalog import parse
from headwater.networks.annotated.named import SCHEMES
from headwater.networks.annotated.scheme import SchemeMaker
from headwater.networks.orders.iterations import SemiNaive
from headwater.networks.orders.order import EvaluationOrder
from headwater.networks.orders.pipelined import Pipelined
from headwater.networks.runtime.directory import Directory
from headwater.networks.runtime.node import NetworkNode
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import NodePlan, plan_nodes
from headwater.rules.check import check
from headwater.values import arguments
from headwater.values.functions import Functions

ANNOTATIONS: Mapping[str, str] = {
    "absorption": "absorption-bounded",
    "absorption-lazy": "absorption",
    "absorption-eager": "absorption-eager",
    "relative": "relative",
    "relative-eager": "relative-eager",
    "support": "ranked",
    "dred": "dred",
    "counting": "counting",
}
"""What rows carry, by the names that users have for it, as a scheme."""
ORDERS: Mapping[str, Callable[[], EvaluationOrder]] = {
    "psn": Pipelined,
    "bsn": lambda: SemiNaive(together=False),
    "sn": SemiNaive,
}
"""In which order a node evaluates, by name: pipelined, buffered and plain semi-naive."""


@dataclass(frozen=True)
class NodeSettings:
    """A program by its text, a scheme and an order by their names."""

    text: str
    source: str = "<text>"
    scheme: str = "absorption"
    order: str = "psn"

    @classmethod
    def of_fields(cls, fields: tuple[Any, ...]) -> NodeSettings:
        """Those that were sent as `fields`."""
        return cls(*fields)

    def fields(self) -> tuple[Any, ...]:
        """What they consist of, to be sent."""
        return astuple(self)

    def checked(self) -> NodeSettings:
        """These, if what they name is there."""
        arguments.one_of("scheme", self.scheme, SCHEMES)
        arguments.one_of("order", self.order, ORDERS)
        return self

    def plan(self, functions: Functions) -> NodePlan:
        """What every node runs."""
        return plan_nodes(
            compile_program(check(parse(self.text, self.source), functions, network=True)), functions
        )

    def scheme_maker(self) -> SchemeMaker:
        """What rows carry, for one node after another."""
        return SCHEMES[self.scheme]()

    def node(self, number: int, plan: NodePlan, directory: Directory) -> NetworkNode:
        """A node that holds nothing yet."""
        return NetworkNode(number, plan, directory, self.scheme_maker(), ORDERS[self.order])
