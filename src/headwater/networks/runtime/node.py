"""A node of the network: a state machine that knows nothing of transports.

A driver (the simulator, a process with sockets, a task of Spark) calls
- `begin` once: timers are set, which should not fire before the base rows of the beginning are there;
- `insert` and `delete` for base rows and rows of state that live at this node, and `insert` for events;
- `handle` for each message, in the order of its channel;
- `idle` when no message waits, `quiet` when no node has anything to do, `woken` when the time asked for has passed;
and takes the `outbox` after each call. Nothing else leaves or enters. `sent` and `received` count messages: two waves
of equal counters at all nodes mean that all is quiet.

Inside, updates are worked off in an order (`orders/`), derivations and what rows carry are a scheme's affair
(`annotated/`). Events and the rules that update tables are `reactions`, the same under every scheme.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, MutableSequence
from functools import partial
from typing import Any

from headwater.errors import DataError, EvaluationError
from headwater.networks.annotated.scheme import Recovering, Scheme, SchemeMaker
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.orders.order import EvaluationOrder, Update
from headwater.networks.orders.pipelined import Pipelined
from headwater.networks.runtime.directory import FIRST, Directory
from headwater.networks.runtime.given_rows import SAME_TIME, GivenRows
from headwater.networks.runtime.messages import (
    EventRaised,
    Message,
    PlainMessage,
    Replaced,
    RowDeleted,
    RowInserted,
    SharedMessage,
    Supported,
    Withdrawn,
)
from headwater.networks.runtime.moment import NodeMoment
from headwater.networks.runtime.publishing import publishers
from headwater.networks.runtime.reactions import Reactions
from headwater.networks.runtime.replacing import LastTold
from headwater.networks.runtime.row_table import Entry, Row, RowTable
from headwater.networks.runtime.selections import Selections
from headwater.networks.runtime.sharing import MessageSharing
from headwater.networks.runtime.timers import NodeTimers
from headwater.networks.runtime.watching import EVENT_SIGN, TracedTable, WatchedRow
from headwater.networks.strands.network_program import Best
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.strands.strand import Firing
from headwater.rules.checked import UpdateKind

INFERENCES_BETWEEN_PAUSES = 1 << 10


class NetworkNode:
    """One node. `number` is its place in the directory."""

    def __init__(
        self,
        number: int,
        plan: NodePlan,
        directory: Directory,
        scheme: SchemeMaker,
        order: Callable[[], EvaluationOrder] = Pipelined,
        incarnation: int = 0,
    ):
        self.number = number
        self.incarnation = incarnation
        self.nodes = directory.nodes
        self.places = directory.places
        self.plan = plan
        self.directory = directory
        self.tables = [
            RowTable(relation.arity, indexes)
            for relation, indexes in zip(plan.relations, plan.indexes, strict=True)
        ]
        self.outbox: list[tuple[int, Message]] = []
        self.wakes: list[float] = []
        """The delays after which to be woken, for the driver to take."""
        self.sent = self.received = self.inferences = 0
        self.pause: Callable[[], None] = lambda: None
        """Called now and then while strands run; may raise."""
        self.order = order()
        self._firing = Firing(self.tables, self._found)
        self.selections = Selections(plan, self.tables)
        self._publishers = publishers(plan, self.tables, self.selections.best_rows)
        self.given = GivenRows(plan)
        self.expires = False
        """Whether rows with a lifetime expire here, by this node's clock, and not by the driver's."""
        self.clock: Callable[[], float] = time.time
        self.chance = random.Random(number)
        """What `f_rand` and the like give; drivers that can be run again set its seed."""
        self.watched: MutableSequence[WatchedRow] = []
        """What the program has traced, for the driver to take."""
        self._woken_at: float | None = None
        self._last_told = LastTold()
        self.sharing: MessageSharing | None = None
        """What holds messages back, so that they go together."""
        self.scheme: Scheme = scheme(self)
        self.reactions: Reactions | None = None
        self._timers = NodeTimers(plan.program.timers)
        if plan.program.reactive:
            if not isinstance(self.order, Pipelined):
                raise DataError(
                    "order",
                    "programs with events are evaluated row by row",
                    hint='leave out order, or say "psn"',
                )
            self.reactions = Reactions(self, NodeMoment(lambda: self.clock(), self.chance))
        for relation in plan.program.watched:
            table = plan.numbers[relation]
            if not plan.relations[table].event:
                tables = self.tables if self.reactions is None else self.reactions.tables
                tables[table].watchers.append(TracedTable(partial(self._trace, relation)))

    # ------------------------------------------------------------------ what drivers call

    def begin(self) -> None:
        """The node begins, or begins again."""
        self._timers.begin(self.clock())
        self._stay_awake()

    def insert(self, relation: str, row: Row) -> None:
        """A row that is given to this node is there from now on; an event happens."""
        number = self._base(relation, row)
        if self.reactions is not None:
            event = self.plan.relations[number].event
            self.reactions.happened(UpdateKind.RAISE if event else UpdateKind.INSERT, number, row)
            self.work()
            return
        new, gone = self.put(number, row)
        if new or gone:
            self.work()

    def delete(self, relation: str, row: Row) -> None:
        """A row of this node is there no more."""
        number = self._base(relation, row)
        if self.reactions is not None:
            self.reactions.happened(UpdateKind.DELETE, number, row)
            self.work()
        elif self.take(number, row):
            self.work()

    def handle(self, sender: int, message: Message) -> None:
        """A message has come."""
        self.take_in(sender, message)
        self.work()

    def takes_together(self, message: Message) -> bool:
        """Whether a message may be taken in right after another of the same time: events are seen to one by one."""
        return self.reactions is None and self.scheme.takes_together(message)

    def take_in(self, sender: int, message: Message) -> None:
        """A message has come, and perhaps others with it: `work` is called after them."""
        self.received += 1
        if isinstance(message, SharedMessage):
            for each in message.messages:
                self._receive(sender, each)
        else:
            self._receive(sender, message)

    def _receive(self, sender: int, message: PlainMessage) -> None:
        if isinstance(message, EventRaised | RowInserted | RowDeleted):
            assert self.reactions is not None, "all nodes run the same program"
            self.reactions.receive(message)
        elif isinstance(message, Replaced):
            # a loss is followed when nothing is on its way into a table
            self.scheme.receive(sender, Supported(message.relation, message.row, message.rank))
            self._settle()
            self.scheme.receive(sender, Withdrawn(message.numbers))
        else:
            self.scheme.receive(sender, message)

    def idle(self) -> None:
        """No message waits: publish, and do what was put off."""
        while True:
            self.scheme.idle()
            worked = self.order.idle(self)
            self.work()
            if not self._publish() and not worked:
                return

    def wants(self) -> QuietStage:
        """What it waits with until no node has anything to do."""
        return QuietStage.ITERATE if self.order.waits() else self.scheme.wants()

    def has_stages(self) -> bool:
        """Whether it ever wants something to begin when all nodes are at rest."""
        return not isinstance(self.order, Pipelined) or self.scheme.waits_for_rest

    def holds_back(self) -> bool:
        """Whether something that has happened waits for a time to pass: messages for others, or better rows."""
        shares = self.sharing is not None and self.sharing.next() is not None
        return shares or self.selections.ends is not None or self.scheme.holds_back()

    def quiet(self, stage: QuietStage) -> None:
        """No node has anything to do: the most urgent stage that any of them wants begins."""
        if stage is QuietStage.ITERATE:
            self.order.quiet(self)
        else:
            self.scheme.begin(stage)
            self.selections.release()
        self.work()

    def now(self) -> float:
        return self.clock()

    def restarted(self, other: int, incarnation: int) -> None:
        """Another node was lost with all that it had, and has begun again."""
        if not isinstance(self.scheme, Recovering):
            raise EvaluationError(
                "node-lost",
                f"node {other} was lost, and {type(self.scheme).__name__} cannot go on without what it held",
                hint="use absorption, or soft state",
            )
        self.scheme.restarted(other, incarnation)
        self.work()

    def woken(self) -> None:
        """The time asked for has passed."""
        now = self.clock()
        if self._woken_at is not None and self._woken_at <= now + SAME_TIME:
            self._woken_at = None
        if self.expires:
            for number, row in list(self.given.expired(now)):
                self._expire(number, row)
        if self.reactions is not None:
            for timer in self._timers.due(now):
                row = (self.directory.address(self.number), *timer.rest)
                if timer.numbered:
                    row = (row[0], self.reactions.moment.number(), *timer.rest)
                self.reactions.happened(UpdateKind.RAISE, self.plan.numbers[timer.relation], row)
        self.scheme.woken()
        if self.selections.over(now):
            self.selections.pass_on(self.scheme, self.arrive)
        self.work()
        if self.sharing is not None:
            for receiver, message in self.sharing.due(now):
                self.sent += 1
                self.outbox.append((receiver, message))
        self._stay_awake()

    def _expire(self, number: int, row: Row) -> None:
        if self.reactions is not None:
            self.reactions.happened(UpdateKind.DELETE, number, row)
        else:
            self.take(number, row)

    def _stay_awake(self) -> None:
        """Ask to be woken when the next row expires, the next timer fires, or what waits is due."""
        times = [
            self._timers.next(),
            self.given.next_expiry() if self.expires else None,
            self.selections.ends,
        ]
        if self.sharing is not None:
            times.append(self.sharing.next())
        first = min((moment for moment in times if moment is not None), default=None)
        if first is not None and (self._woken_at is None or first < self._woken_at - SAME_TIME):
            self._woken_at = first
            self.wake(max(0.0, first - self.clock()))

    def restless(self) -> bool:
        """Whether `idle` may have something to do."""
        return (
            self.order.restless()
            or self.scheme.restless()
            or self.scheme.steady
            and any(publisher.touched() for publisher in self._publishers)
        )

    def rows(self, relation: str) -> Iterable[Row]:
        """The rows of a user's relation that live here."""
        view = self.plan.program.views[relation]
        if not isinstance(view, Best):
            if self.reactions is not None:
                return self.reactions.tables[self.plan.numbers[view]].rows
            return self.tables[self.plan.numbers[view]].rows
        return self.selections.best_rows(view).rows()

    def entry(self, relation: str, row: Row) -> Entry | None:
        """A row that lives here, with what it carries."""
        view = self.plan.program.views[relation]
        name = view.candidates if isinstance(view, Best) else view
        return self.tables[self.plan.numbers[name]].rows.get(row)

    def _base(self, relation: str, row: Row) -> int:
        number = self.plan.numbers.get(relation)
        if number is None or not self.plan.relations[number].base:
            raise DataError("unknown-relation", f"{relation} is no base relation of this network")
        if self.home(number, row) != self.number:
            raise DataError("elsewhere", f"{relation}{row} does not live at node {self.number}")
        return number

    # ------------------------------------------------------------------ what reactions ask for

    def put(self, relation: int, row: Row) -> tuple[bool, list[Row]]:
        """Insert a row that is given: whether it is new, and which go for it; views do not follow yet."""
        new, gone = self.given.insert(relation, row, self.clock())
        for other in gone:
            self.scheme.delete(relation, other)
        if new:
            self.scheme.insert(relation, row)
        if self.expires and self.given.lifetime(relation) is not None:
            self._stay_awake()
        return new, gone

    def take(self, relation: int, row: Row) -> bool:
        """Delete one; whether it was there."""
        there = self.given.delete(relation, row)
        if there:
            self.scheme.delete(relation, row)
        return there

    def follow(self) -> None:
        """Let views follow, with all that this node can tell by itself."""
        self._settle()
        while self._publish():
            pass

    def address(self, node: int) -> Any:
        return self.directory.address(node)

    def neighbours(self) -> list[int]:
        """The other ends of this node's links; the topology's, if the program marks none, or all others."""
        found = dict[int | None, None]()
        for name in self.plan.program.links:
            number = self.plan.numbers[name]
            for row in self.tables[number].rows:
                found[self.link_end(number, row)] = None
        if not self.plan.program.links:
            beside = self.directory.neighbours(self.number)
            return list(self.others() if beside is None else beside)
        return [node for node in found if node is not None and node != self.number]

    def link_end(self, relation: int, row: Row) -> int | None:
        links = self.plan.program.links
        return self.directory.node(row[1]) if self.plan.relations[relation].name in links else None

    def saw(self, relation: int, row: Row) -> None:
        """An event happens here."""
        name = self.plan.relations[relation].name
        if name in self.plan.program.watched:
            self._trace(name, EVENT_SIGN, row)

    def _trace(self, relation: str, sign: str, row: Row) -> None:
        self.watched.append(WatchedRow(self.clock(), self.number, relation, sign, row))

    # ------------------------------------------------------------------ what schemes ask for

    def home(self, relation: int, row: Row) -> int | None:
        column = self.plan.relations[relation].location
        return FIRST if column is None else self.directory.node(row[column])

    def place(self, relation: int, row: Row) -> int:
        column = self.plan.relations[relation].location
        return 0 if column is None or self.places == 1 else self.directory.place(row[column])

    def arrive(self, relation: int, row: Row, value: Any) -> None:
        self.order.arrived(Update(relation, row, value))

    def falls(self, relation: int, row: Row, rank: int, teller: int) -> None:
        self.selections.falls(relation, row, rank, teller)

    def send(self, receiver: int, message: Message) -> None:
        if self.sharing is not None:
            if self.sharing.hold(receiver, message, self.clock()):
                self._stay_awake()
            return
        if isinstance(message, Withdrawn) and self._last_told.takes(self.outbox, receiver, message):
            return
        self.sent += 1
        self._last_told.sends(self.outbox, receiver, message)
        self.outbox.append((receiver, message))

    def others(self) -> Iterable[int]:
        return (number for number in range(self.nodes) if number != self.number)

    def waiting(self) -> Iterable[Update]:
        return self.order.waiting()

    def wake(self, delay: float) -> None:
        self.wakes.append(delay)

    # ------------------------------------------------------------------ work

    def store(self, update: Update, stamp: int) -> Entry | None:
        """Merge an update into its table, by the scheme."""
        entry = self.scheme.store(update, stamp)
        if entry is not None:
            self.selections.more(update.relation, update.row)
        return entry

    def fire(self, entry: Entry, news: Any, stamp: int) -> None:
        """Run all strands that a row sets off."""
        firing = self._firing
        firing.news = news
        for strand in self.plan.triggered[entry.table]:
            strand.fire(firing, entry.row, entry, stamp)

    def _found(self, row: Row, entries: list[Entry | None]) -> None:
        self.inferences += 1
        if not self.inferences % INFERENCES_BETWEEN_PAUSES:
            self.pause()
        firing = self._firing
        assert firing.strand is not None
        self.scheme.derived(firing.strand, row, entries, firing.news)

    def work(self) -> None:
        """Do all that need not wait: updates, and what events and new rows set off."""
        try:
            if self.reactions is None:
                self._settle()
            else:
                self.follow()
                self.reactions.run()
        except EvaluationError as error:
            raise self._here(error) from error

    def _here(self, error: EvaluationError) -> EvaluationError:
        """The error of a rule, with the node at which it ran."""
        address = self.directory.address(self.number)
        at = f"node {self.number}" if address is None else str(address)
        return EvaluationError(error.code, f"{error.message}, at {at}", place=error.place, hint=error.hint)

    def _settle(self) -> None:
        """Work off updates, and pass best rows on, until nothing is left that need not wait."""
        while True:
            self.order.run(self)
            if not self._pass_on_at_once() and not self.scheme.settled():
                return

    def _pass_on_at_once(self) -> bool:
        """Pass best rows on, if they need not wait for a period; whether there were any."""
        if not self.selections.period:
            return self.selections.pass_on(self.scheme, self.arrive)
        if self.selections.begin_period(self.scheme, self.clock()):
            self._stay_awake()
        return False

    def _publish(self) -> bool:
        """Delete and insert what publishers say; whether there was anything."""
        changed = False
        if not self.scheme.steady:
            return False
        for publisher in self._publishers:
            gone, new = publisher.difference()
            for row in gone:
                self.scheme.delete(publisher.relation, row)
            for row in new:
                self.scheme.insert(publisher.relation, row)
            changed = changed or bool(gone or new)
        if changed:
            self._settle()
        return changed
