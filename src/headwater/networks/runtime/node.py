"""A node of the network: a state machine that knows nothing of transports.

A driver (the simulator, a process with sockets, a task of Spark) calls
- `insert` and `delete` for base rows that live at this node;
- `handle` for each message, in the order of its channel;
- `idle` when no message waits, `quiet` when no node has anything to do, `woken` when the time asked for has passed;
and takes the `outbox` after each call. Nothing else leaves or enters. `sent` and `received` count messages: two waves
of equal counters at all nodes mean that all is quiet.

Inside, updates are worked off in an order (`orders/`), derivations and what rows carry are a scheme's affair
(`annotated/`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from headwater.errors import DataError, EvaluationError
from headwater.networks.annotated.scheme import Recovering, Scheme, SchemeMaker
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.orders.order import EvaluationOrder, Update
from headwater.networks.orders.pipelined import Pipelined
from headwater.networks.runtime.best_rows import BestRows
from headwater.networks.runtime.directory import FIRST, Directory
from headwater.networks.runtime.given_rows import GivenRows
from headwater.networks.runtime.messages import Message
from headwater.networks.runtime.passing_on import Selector
from headwater.networks.runtime.publishing import publishers
from headwater.networks.runtime.row_table import Entry, Row, RowTable
from headwater.networks.strands.network_program import Best, PassingOn
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.strands.strand import Firing

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
        self._best: dict[str, BestRows] = {}
        self._selectors = [
            Selector(plan, self.tables, passing, self.best_rows(passing)) for passing in plan.program.passing
        ]
        self._selecting = {selector.candidates: selector for selector in self._selectors}
        self._publishers = publishers(plan, self.tables, self.best_rows)
        self.given = GivenRows(plan)
        self.expires = False
        """Whether rows with a lifetime expire here, by this node's clock, and not by the driver's."""
        self.clock: Callable[[], float] = time.time
        self.scheme: Scheme = scheme(self)

    # ------------------------------------------------------------------ what drivers call

    def insert(self, relation: str, row: Row) -> None:
        """A base row of this node is there from now on."""
        number = self._base(relation, row)
        new, gone = self.given.insert(number, row, self.clock())
        lifetime = self.given.lifetime(number)
        if self.expires and lifetime is not None:
            self.wake(lifetime)
        for other in gone:
            self.scheme.delete(number, other)
        if new:
            self.scheme.insert(number, row)
        if new or gone:
            self._settle()

    def delete(self, relation: str, row: Row) -> None:
        """A base row of this node is there no more."""
        number = self._base(relation, row)
        if self.given.delete(number, row):
            self.scheme.delete(number, row)
            self._settle()

    def handle(self, sender: int, message: Message) -> None:
        """A message has come."""
        self.received += 1
        self.scheme.receive(sender, message)
        self._settle()

    def idle(self) -> None:
        """No message waits: publish, and do what was put off."""
        while True:
            self.scheme.idle()
            worked = self.order.idle(self)
            self._settle()
            if not self._publish() and not worked:
                return

    def wants(self) -> QuietStage:
        """What it waits with until no node has anything to do."""
        return QuietStage.ITERATE if self.order.waits() else self.scheme.wants()

    def quiet(self, stage: QuietStage) -> None:
        """No node has anything to do: the most urgent stage that any of them wants begins."""
        if stage is QuietStage.ITERATE:
            self.order.quiet(self)
        else:
            self.scheme.begin(stage)
        self._settle()

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
        self._settle()

    def woken(self) -> None:
        """The time asked for has passed."""
        if self.expires:
            for number, row in list(self.given.expired(self.clock())):
                self.given.delete(number, row)
                self.scheme.delete(number, row)
        self.scheme.woken()
        self._settle()

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
            return self.tables[self.plan.numbers[view]].rows
        return self.best_rows(view).rows()

    def best_rows(self, spec: Best | PassingOn) -> BestRows:
        """The best of some candidates, kept up from the first time that somebody asks."""
        found = self._best.get(spec.candidates)
        if found is None:
            table = self.tables[self.plan.numbers[spec.candidates]]
            found = self._best[spec.candidates] = BestRows(spec.selections)
            for row in table.rows:
                found.appeared(row)
            table.watchers.append(found)
        return found

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

    # ------------------------------------------------------------------ what schemes ask for

    def home(self, relation: int, row: Row) -> int | None:
        column = self.plan.relations[relation].location
        return FIRST if column is None else self.directory.node(row[column])

    def arrive(self, relation: int, row: Row, value: Any) -> None:
        self.order.arrived(Update(relation, row, value))

    def send(self, receiver: int, message: Message) -> None:
        self.sent += 1
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
            selector = self._selecting.get(update.relation)
            if selector is not None:
                selector.more(update.row)
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

    def _settle(self) -> None:
        """Work off updates, and pass best rows on, until nothing is left that need not wait."""
        while True:
            self.order.run(self)
            passed = False
            for selector in self._selectors:
                if self.scheme.steady and selector.waiting():
                    table = self.tables[selector.candidates]
                    for row in selector.take():
                        self.arrive(selector.relation, row, self.scheme.passed(table.rows[row]))
                        passed = True
            if not passed:
                return

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
