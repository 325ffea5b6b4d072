"""A network in one process, in virtual time: a discrete-event simulator, the same for the same seed.

Every message is an event at the time of its arrival. Nodes share nothing; what they say is passed as it is, and
measured in the bytes that the codec would make of it. A node is idle when nothing has come for `rest` seconds. The
network is quiet when no event is left and no node has work that waited for that.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

from headwater.errors import DataError, EvaluationError
from headwater.networks.annotated.scheme import SchemeMaker
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.orders.order import EvaluationOrder
from headwater.networks.orders.pipelined import Pipelined
from headwater.networks.runtime.directory import Directory
from headwater.networks.runtime.message_codec import size_of
from headwater.networks.runtime.messages import Message
from headwater.networks.runtime.node import NetworkNode
from headwater.networks.runtime.row_table import Row
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.transports.simulator.links import LinkModel, LinkQuality, alike
from headwater.networks.transports.simulator.traffic import Traffic

_MESSAGE, _IDLE, _WAKE, _CALL = range(4)


class Simulator:
    """Nodes, links and a clock."""

    def __init__(
        self,
        plan: NodePlan,
        directory: Directory,
        scheme: SchemeMaker,
        *,
        order: Callable[[], EvaluationOrder] = Pipelined,
        links: LinkModel | None = None,
        seed: int = 0,
        rest: float = 0.0,
        measure: bool = True,
        most_messages: int | None = None,
    ):
        self.plan = plan
        self.directory = directory
        self.nodes = [
            NetworkNode(number, plan, directory, scheme, order) for number in range(directory.nodes)
        ]
        self.links = links or alike(LinkQuality())
        self.now = 0.0
        self.last_message = 0.0
        """When the last message arrived: the time of convergence, once all is quiet."""
        self.rest = rest
        self.measure = measure
        self.most_messages = most_messages
        self.traffic = Traffic()
        self._chance = random.Random(seed)
        self._events: list[tuple[float, int, int, Any]] = []
        self._sequence = 0
        self._arrival: dict[tuple[int, int], float] = {}
        self._resting: set[int] = set()
        for node in self.nodes:
            node.clock = lambda: self.now
        for relation, rows in plan.program.facts.items():
            for row in rows:
                self.insert(relation, row)

    # ------------------------------------------------------------------ changes

    def insert(self, relation: str, row: Row) -> None:
        """Insert a base row now, at the node where it lives; what follows is under way, not yet there."""
        node = self._owner(relation, row)
        node.insert(self.plan.program.given.get(relation, relation), row)
        self._take(node)

    def delete(self, relation: str, row: Row) -> None:
        """Delete a base row now."""
        node = self._owner(relation, row)
        node.delete(self.plan.program.given.get(relation, relation), row)
        self._take(node)

    def at(self, time: float, call: Callable[[], None]) -> None:
        """Have something done at a time to come: a change, a failure."""
        self._push(time, _CALL, call)

    def _owner(self, relation: str, row: Row) -> NetworkNode:
        name = self.plan.program.given.get(relation, relation)
        number = self.plan.numbers.get(name)
        if number is None:
            raise DataError("unknown-relation", f"there is no relation {relation} in this network")
        home = self.nodes[0].home(number, row)
        if home is None:
            raise DataError("no-such-node", f"{relation}{row} lives at an address that no node has")
        return self.nodes[home]

    # ------------------------------------------------------------------ time

    def run(self, until: float | None = None) -> None:
        """Go on until all is quiet, or up to a time."""
        while True:
            while self._events and (until is None or self._events[0][0] <= until):
                self._step()
            if self._events or not self._quiet():
                break
        if until is not None:
            self.now = max(self.now, until)

    def steps(self, number: int) -> None:
        """Let a few events happen."""
        for _ in range(number):
            if not self._events:
                return
            self._step()

    def is_quiet(self) -> bool:
        """Whether no event is left."""
        return not self._events

    def _quiet(self) -> bool:
        stage = min(node.wants() for node in self.nodes)
        if stage is QuietStage.NOTHING:
            return False
        for node in self.nodes:
            node.quiet(stage)
            self._take(node)
        return True

    def _step(self) -> None:
        self.now, _, kind, what = heappop(self._events)
        if kind == _MESSAGE:
            sender, receiver, message = what
            node = self.nodes[receiver]
            self.last_message = self.now
            node.handle(sender, message)
            self._take(node)
        elif kind == _IDLE:
            number, received = what
            self._resting.discard(number)
            node = self.nodes[number]
            if node.received == received:
                node.idle()
            self._take(node)
        elif kind == _WAKE:
            self.nodes[what].woken()
            self._take(self.nodes[what])
        else:
            what()

    def _take(self, node: NetworkNode) -> None:
        """Send what a node has said, and see that it is told when it is idle."""
        if node.outbox:
            outbox, node.outbox = node.outbox, []
            for receiver, message in outbox:
                self._send(node.number, receiver, message)
        if node.wakes:
            for delay in node.wakes:
                self._push(self.now + delay, _WAKE, node.number)
            node.wakes = []
        if node.number not in self._resting and node.restless():
            self._resting.add(node.number)
            self._push(self.now + self.rest, _IDLE, (node.number, node.received))

    def _send(self, sender: int, receiver: int, message: Message) -> None:
        size = size_of(message) if self.measure else 0
        self.traffic.count(sender, receiver, type(message).__name__, size)
        if self.most_messages is not None and self.traffic.messages > self.most_messages:
            raise EvaluationError(
                "no-convergence", f"the network is not quiet after {self.most_messages:,} messages"
            )
        quality = self.links(sender, receiver)
        arrivals = quality.times(size, self._chance)
        if len(arrivals) != 1:
            self.traffic.lost += not arrivals
            self.traffic.duplicated += len(arrivals) > 1
        for delay in arrivals:
            time = self.now + delay
            if quality.fifo:
                time = self._arrival[sender, receiver] = max(time, self._arrival.get((sender, receiver), 0.0))
            self._push(time, _MESSAGE, (sender, receiver, message))

    def _push(self, time: float, kind: int, what: Any) -> None:
        self._sequence += 1
        heappush(self._events, (time, self._sequence, kind, what))

    # ------------------------------------------------------------------ what there is

    def rows(self, relation: str) -> set[Row]:
        """All rows of a relation, wherever they live."""
        return {row for node in self.nodes for row in node.rows(relation)}

    def view(self, relations: Iterable[str]) -> dict[str, set[Row]]:
        """The rows of several relations."""
        return {relation: self.rows(relation) for relation in relations}
