"""What every node of a network is told before it begins: the program, what rows carry, the order of evaluation.

Data that can be sent: a process that is to be a node makes the same plan of it as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

from headwater.errors import DataError
from headwater.language.datalog import parse
from headwater.networks.annotated.named import ABSORPTIONS, SCHEMES
from headwater.networks.annotated.scheme import SchemeMaker
from headwater.networks.optimisations.goals import ANSWER, goal_on_nodes
from headwater.networks.orders.iterations import SemiNaive
from headwater.networks.orders.order import EvaluationOrder
from headwater.networks.orders.pipelined import Pipelined
from headwater.networks.runtime.directory import Directory
from headwater.networks.runtime.node import NetworkNode
from headwater.networks.runtime.sharing import MessageSharing
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.node_plan import NodePlan, plan_nodes
from headwater.rules.check import check
from headwater.rules.rewrites import REWRITES, Rewrites
from headwater.rules.rewrites.aggregate_selection import aggregate_selection, one_aggregate_selection
from headwater.values import arguments
from headwater.values.functions import Functions

ANNOTATIONS: Mapping[str, str] = {
    "absorption": "absorption-bounded",
    "absorption-lazy": "absorption",
    "absorption-eager": "absorption-eager",
    "absorption-timed": "absorption-timed",
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
    """A program by its text, a scheme and an order by their names, and optimisations.

    - `aggregate_selections`: of a recursion that is only asked for best rows, only those go on (section 5.1.1 of
      loo-2006); `multi_aggregates`: also where several aggregates ask for them (section 5.2).
    - `selection_period`: seconds for which best rows wait at a node before they go on: periodic aggregate selections.
    - `sharing_delay`: seconds for which messages wait for others to the same node, to go as one (section 5.2).
    - `goal`: what is asked for, so that no more is derived than it needs: magic sets and predicate reordering
      (section 5.1.2).
    - `deletions_along_links`: a deletion goes from neighbour to neighbour, not from its node to all (claim 1).
    - `service_time`: seconds that a simulated node takes for a message; others wait meanwhile.
    """

    text: str
    source: str = "<text>"
    scheme: str = "absorption"
    order: str = "psn"
    aggregate_selections: bool = True
    multi_aggregates: bool = True
    selection_period: float = 0.0
    sharing_delay: float = 0.0
    goal: str = ""
    deletions_along_links: bool = False
    service_time: float = 0.0

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
        if self.deletions_along_links and self.scheme not in ABSORPTIONS:
            message = f"deletions of {self.scheme} do not go along links: they are no messages of their own"
            raise DataError("annotation", message, hint='annotation="absorption", or without the option')
        return self

    def rewrites(self) -> Rewrites:
        """The rewrites of rules that are to be done."""
        if not self.aggregate_selections:
            return tuple(rewrite for rewrite in REWRITES if rewrite is not aggregate_selection)
        if not self.multi_aggregates:
            return tuple(
                one_aggregate_selection if rewrite is aggregate_selection else rewrite for rewrite in REWRITES
            )
        return REWRITES

    def plan(self, functions: Functions) -> NodePlan:
        """What every node runs."""
        program = parse(self.text, self.source)
        if not self.goal:
            return plan_nodes(
                compile_program(check(program, functions, network=True, rewrites=self.rewrites())), functions
            )
        found = goal_on_nodes(program, self.goal, functions, self.rewrites())
        local = compile_program(found.checked)
        return plan_nodes(replace(local, views={found.relation: local.views[ANSWER]}), functions)

    def prepare(self, node: NetworkNode) -> None:
        """Tell a node what it need know beside its plan."""
        node.selections.period = self.selection_period
        if self.sharing_delay:
            node.sharing = MessageSharing(self.sharing_delay)

    def scheme_maker(self) -> SchemeMaker:
        """What rows carry, for one node after another."""
        if self.deletions_along_links:
            return ABSORPTIONS[self.scheme](along_links=True)
        return SCHEMES[self.scheme]()

    def node(self, number: int, plan: NodePlan, directory: Directory) -> NetworkNode:
        """A node that holds nothing yet."""
        node = NetworkNode(number, plan, directory, self.scheme_maker(), ORDERS[self.order])
        self.prepare(node)
        return node
