"""A network in one process, in virtual time: a discrete-event simulator, the same for the same seed.

Every message is an event at the time of its arrival. Nodes share nothing; what they say is passed as it is, and
measured in the bytes that the codec would make of it. A node takes `service` seconds for each message, one after
the other; of those that came as one, for each. It is idle when nothing has come for `rest` seconds, and nothing
waits. The network is quiet when no event is left and no node has work that waited for that.

Ctrl-C is acted on between two events, and whoever runs the network again goes on where it was. An error in the middle
of one, of a rule say, leaves a node that nobody can trust: then nothing is run any more.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from typing import Any

from headwater.errors import EvaluationError
from headwater.maintain.interrupts import Interrupts
from headwater.networks.annotated.scheme import SchemeMaker
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.orders.order import EvaluationOrder
from headwater.networks.orders.pipelined import Pipelined
from headwater.networks.runtime.directory import Directory
from headwater.networks.runtime.given_to_nodes import GivenToNodes
from headwater.networks.runtime.message_codec import size_of
from headwater.networks.runtime.messages import Message, SharedMessage
from headwater.networks.runtime.node import NetworkNode
from headwater.networks.runtime.row_table import Row
from headwater.networks.runtime.watching import WatchedRow
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.transports.simulator.collecting import fewer_collections
from headwater.networks.transports.simulator.faults import Faults
from headwater.networks.transports.simulator.links import LinkModel, LinkQuality, alike
from headwater.networks.transports.simulator.onlooker import STEPS_BETWEEN_LOOKS, looking_on
from headwater.networks.transports.simulator.traffic import Traffic
from headwater.rules.checked import Kind

_MESSAGE, _IDLE, _WAKE, _CALL, _SERVED = range(5)
_TIMES = (_WAKE, _CALL)
"""Events that are under way to nobody: times that will come."""
SECONDS_TO_END_AN_EVENT = 2.0
"""How long Ctrl-C waits for the end of what a node is doing."""

Told = Callable[[float, int, int, Message, int], None]
"""Whoever wants to know of every message: when it is sent, by whom to whom, and its bytes."""


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
        service: float = 0.0,
        measure: bool = True,
        most_messages: int | None = None,
        told: Told | None = None,
        made: Callable[[NetworkNode], None] = lambda node: None,
    ):
        self.plan = plan
        self.directory = directory
        self.scheme = scheme
        self.order = order
        self.seed = seed
        self.now = 0.0
        self.made = made
        """Called for each node when it begins."""
        self.faults = Faults(directory.nodes)
        self.given = GivenToNodes(plan, directory)
        """The base rows of nodes: what they have on disk, and find again when they are started again."""
        self._interrupts = Interrupts()
        self._interrupted: float | None = None
        self._broken: str | None = None
        self.nodes = [self._node(number) for number in range(directory.nodes)]
        self._stages = any(node.has_stages() for node in self.nodes[:1])
        self.links = links or alike(LinkQuality())
        self.last_message = 0.0
        """When the last message arrived: the time of convergence, once all is quiet."""
        self.rest = rest
        self.service = service
        self._busy: list[float] = [0.0] * directory.nodes
        """Until when each node has something to do."""
        self.measure = measure
        self.most_messages = most_messages
        self.told = told
        self.traffic = Traffic()
        self._chance = random.Random(seed)
        self._events: list[tuple[float, int, int, Any]] = []
        self._under_way = 0
        """How many of the events are more than times that will come."""
        self._sequence = 0
        self._first = -(1 << 60)
        """The sequence of the first event that came before all others of its time."""
        self._arrival: dict[tuple[int, int], float] = {}
        self._resting: set[int] = set()
        self.watched: list[WatchedRow] = []
        """What the program has traced (`watch`), in order."""
        for node in self.nodes:
            node.begin()
            self._take(node)
        for relation, rows in plan.program.facts.items():
            for row in rows:
                self.insert(relation, row)

    # ------------------------------------------------------------------ changes

    def insert(self, relation: str, row: Row) -> None:
        """Insert a base row now, at the node where it lives; what follows is under way, not yet there."""
        self.change([(True, relation, row)])

    def delete(self, relation: str, row: Row) -> None:
        """Delete a base row now."""
        self.change([(False, relation, row)])

    def change(self, changes: Sequence[tuple[bool, str, Row]]) -> None:
        """Insert (true) and delete base rows now, in order: all of them, or none if one of them is refused."""
        checked = [self.given.checked(*change) for change in changes]
        with self._trusted():
            for change in checked:
                self.given.take_down(change, self.now)
                node = self.nodes[change.node]
                if change.node not in self.faults.down_nodes:
                    (node.insert if change.comes else node.delete)(self.given.name(change), change.row)
                    self._take(node)

    def at(self, time: float, call: Callable[[], None]) -> None:
        """Have something done at a time to come: a change, a failure."""
        self._push(time, _CALL, call)

    @contextmanager
    def _trusted(self) -> Iterator[None]:
        """Whatever is begun inside comes to its end, or what nodes hold is of no use any more."""
        if self._broken is not None:
            raise EvaluationError(
                "network-broken",
                f"a node was in the middle of its work when this network broke off ({self._broken})",
                hint="net.twin() is a network that begins again from the base rows",
            )
        with self._interrupts:
            try:
                yield
            except BaseException as error:
                self._broken = type(error).__name__
                raise

    def _pause(self) -> None:
        """A node has worked for a while: Ctrl-C does not wait for its end for ever."""
        if not self._interrupts.pending():
            self._interrupted = None
        elif self._interrupted is None:
            self._interrupted = time.monotonic()
        elif time.monotonic() > self._interrupted + SECONDS_TO_END_AN_EVENT:
            self._interrupts.check()

    # ------------------------------------------------------------------ failures

    def fail_link(self, one: int, other: int) -> None:
        """The link between two nodes is down from now on."""
        self.faults.cut(one, other)

    def restore_link(self, one: int, other: int) -> None:
        """It is there again, and brings what reliable channels have held back, before what is still under way: also
        before what an earlier restoration has brought, and was not taken in yet when the link failed again."""
        for sender, receiver, messages in self.faults.mend(one, other):
            self._first -= len(messages)
            for place, message in enumerate(messages):
                what = (self.nodes[sender], self.nodes[receiver], message)
                heappush(self._events, (self.now, self._first + place, _MESSAGE, what))
                self._under_way += 1

    def partition(self, *parts: Iterable[int]) -> None:
        """Nothing gets from one part to another from now on."""
        self.faults.partition(parts)

    def heal(self) -> None:
        """All links are there again."""
        for one, other in self.faults.cuts():
            self.restore_link(one, other)

    def fail_node(self, number: int) -> None:
        """A node is lost with all that it holds, but for its base rows."""
        self.faults.fail(number)

    def restart_node(self, number: int) -> None:
        """A lost node begins again, with its base rows; the others notice."""
        self.faults.down_nodes.discard(number)
        self._resting.discard(number)
        node = self.nodes[number] = self._node(number)
        for other in self.nodes:
            if other is not node and other.number not in self.faults.down_nodes:
                other.restarted(number, node.incarnation)
                self._take(other)
        for other in self.nodes:
            if other is not node and other.incarnation:
                node.restarted(other.number, other.incarnation)
        node.begin()
        for relation, row in self.given.there(self.now, number):
            if self.plan.relations[self.plan.numbers[relation]].kind is not Kind.STATE:
                node.insert(relation, row)
        self._take(node)

    def _node(self, number: int) -> NetworkNode:
        node = NetworkNode(
            number, self.plan, self.directory, self.scheme, self.order, self.faults.incarnations[number]
        )
        node.clock = lambda: self.now
        node.expires = True
        node.pause = self._pause
        node.chance.seed(f"{self.seed} {number} {node.incarnation}")
        self.made(node)
        return node

    # ------------------------------------------------------------------ time

    def run(self, until: float | None = None) -> None:
        """Go on until all is quiet, or up to a time."""
        with fewer_collections(), looking_on(self.progress) as look, self._trusted():
            if self._run(until, look) and until is not None:
                self.now = max(self.now, until)

    def _run(self, until: float | None, look: Callable[[], None] | None) -> bool:
        """The same; whether it came so far, and was not interrupted."""
        interrupted, steps = self._interrupts.pending, 0
        while True:
            while self._events and (until is None or self._events[0][0] <= until):
                if self._events[0][0] > self.now and self._quiet():
                    continue
                self._step()
                steps += 1
                if interrupted():
                    return False
                if look is not None and not steps % STEPS_BETWEEN_LOOKS:
                    look()
            if not self._quiet():
                return True

    def progress(self) -> str:
        """How far it is, for those who look on: a network nears its rest when fewer and fewer nodes are awaited."""
        awaited = {what[1].number for _, _, kind, what in self._events if kind in (_MESSAGE, _SERVED)}
        quiet = len(self.nodes) - len(awaited)
        rows = sum(len(table.rows) for node in self.nodes for table in node.tables)
        return (
            f"at {self.now:.3f} s: {self.traffic.messages:,} messages, {len(self._events):,} under way,"
            f" {quiet:,} of {len(self.nodes):,} nodes quiet, {rows:,} rows"
        )

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
        """Begin what nodes want to begin at rest, if they are; whether something has begun."""
        if self._under_way or not self._stages:
            return False
        there = [node for node in self.nodes if node.number not in self.faults.down_nodes]
        stage = min(node.wants() for node in there)
        if stage is QuietStage.NOTHING or any(node.holds_back() for node in there):
            return False
        for node in there:
            node.quiet(stage)
            self._take(node)
        return True

    def _step(self) -> None:
        self.now, _, kind, what = heappop(self._events)
        self._under_way -= kind not in _TIMES
        if kind == _MESSAGE:
            (self._queue if self.service else self._deliver)(*what)
        elif kind == _SERVED:
            self._serve(*what)
        elif kind == _CALL:
            what()
        else:
            node, received = what
            if self.nodes[node.number] is not node or node.number in self.faults.down_nodes:
                return
            if kind == _WAKE:
                node.woken()
            else:
                self._resting.discard(node.number)
                if node.received == received and self._busy[node.number] <= self.now:
                    node.idle()
            self._take(node)

    def _queue(self, sender: NetworkNode, receiver: NetworkNode, message: Message) -> None:
        """A message arrives, and waits until those before it have been seen to."""
        if self._arrives(sender, receiver, message):
            rows = len(message.messages) if isinstance(message, SharedMessage) else 1
            begun = max(self.now, self._busy[receiver.number])
            done = self._busy[receiver.number] = begun + self.service * rows
            self._push(done, _SERVED, (sender, receiver, message))

    def _serve(self, sender: NetworkNode, receiver: NetworkNode, message: Message) -> None:
        """A message that has arrived is seen to, whatever has become of its link."""
        if self._is_lost(sender) or self._is_lost(receiver):
            self.traffic.lost += 1
            return
        self.last_message = self.now
        receiver.handle(sender.number, message)
        self._take(receiver)

    def _deliver(self, sender: NetworkNode, receiver: NetworkNode, message: Message) -> None:
        """Give a message to its node, with those that arrive there at the same time, if it takes several."""
        if not self._arrives(sender, receiver, message):
            return
        receiver.take_in(sender.number, message)
        events = self._events
        while (
            events
            and events[0][0] == self.now
            and events[0][2] == _MESSAGE
            and events[0][3][1] is receiver
            and receiver.takes_together(events[0][3][2])
        ):
            sender, _, message = heappop(events)[3]
            self._under_way -= 1
            if self._arrives(sender, receiver, message):
                receiver.take_in(sender.number, message)
        receiver.work()
        self._take(receiver)

    def _arrives(self, sender: NetworkNode, receiver: NetworkNode, message: Message) -> bool:
        """Whether the channel brings a message: both of its ends are still the same, and it is not cut."""
        faults = self.faults
        if self._is_lost(sender) or self._is_lost(receiver):
            self.traffic.lost += 1
            return False
        if faults.blocks(sender.number, receiver.number):
            if self.links(sender.number, receiver.number).reliable:
                faults.hold(sender.number, receiver.number, message)
            else:
                self.traffic.lost += 1
            return False
        self.last_message = self.now
        return True

    def _is_lost(self, node: NetworkNode) -> bool:
        return node.incarnation != self.faults.incarnations[node.number]

    def _take(self, node: NetworkNode) -> None:
        """Send what a node has said, and see that it is told when it is idle."""
        if node.outbox:
            outbox, node.outbox = node.outbox, []
            for receiver, message in outbox:
                self._send(node.number, receiver, message)
        if node.watched:
            self.watched += node.watched
            node.watched = []
        if node.wakes:
            for delay in node.wakes:
                self._push(self.now + delay, _WAKE, (node, 0))
            node.wakes = []
        if node.number not in self._resting and node.restless():
            self._resting.add(node.number)
            when = max(self.now + self.rest, self._busy[node.number])
            self._push(when, _IDLE, (node, node.received))

    def _send(self, sender: int, receiver: int, message: Message) -> None:
        size = size_of(message) if self.measure else 0
        self.traffic.count(sender, receiver, type(message).__name__, size)
        if self.told is not None:
            self.told(self.now, sender, receiver, message, size)
        if self.most_messages is not None and self.traffic.messages > self.most_messages:
            raise EvaluationError(
                "no-convergence", f"the network is not quiet after {self.most_messages:,} messages"
            )
        quality = self.links(sender, receiver)
        if quality.constant and quality.fifo:
            # a message along a link that is always the same cannot overtake another
            what = (self.nodes[sender], self.nodes[receiver], message)
            self._push(self.now + quality.latency, _MESSAGE, what)
            return
        arrivals = quality.times(size, self._chance)
        if len(arrivals) != 1:
            self.traffic.lost += not arrivals
            self.traffic.duplicated += len(arrivals) > 1
        for delay in arrivals:
            time = self.now + delay
            if quality.fifo:
                time = self._arrival[sender, receiver] = max(time, self._arrival.get((sender, receiver), 0.0))
            self._push(time, _MESSAGE, (self.nodes[sender], self.nodes[receiver], message))

    def _push(self, time: float, kind: int, what: Any) -> None:
        self._sequence += 1
        self._under_way += kind not in _TIMES
        heappush(self._events, (time, self._sequence, kind, what))

    # ------------------------------------------------------------------ what there is

    def rows(self, relation: str) -> set[Row]:
        """All rows of a relation, wherever they live; nodes that are down have none."""
        there = (node for node in self.nodes if node.number not in self.faults.down_nodes)
        return {row for node in there for row in node.rows(relation)}

    def view(self, relations: Iterable[str]) -> dict[str, set[Row]]:
        """The rows of several relations."""
        return {relation: self.rows(relation) for relation in relations}
