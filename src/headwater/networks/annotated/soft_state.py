"""Soft state (loo-2006 section 4.2): rows live for a time, and longer only if they are said again. Nothing is
deleted.

The node of a base row says it again every so often, each time for a whole lifetime; what follows from it lives as
long as the first of its premises dies. A row that several derivations give lives as long as the longest of them. So
a cycle cannot refresh itself: what a deleted row gave dies when the last word about it does. Saying all again costs
what computing it anew costs, a row that is gone is seen for up to a lifetime, and one for each stratum above. In
return messages may be lost, doubled and reordered.

A time is that of the node which said so: clocks may differ by what a lifetime leaves beside latencies. Networks
with base rows are never quiet; they are run up to a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from headwater.networks.annotated.scheme import Host, Scheme, SchemeMaker
from headwater.networks.orders.order import Update
from headwater.networks.runtime.message_codec import row_size
from headwater.networks.runtime.messages import Alive, Message
from headwater.networks.runtime.row_table import Entry, Row
from headwater.networks.strands.strand import Strand

_TIME_SIZE = 8
REFRESHES = 3
"""How often a row is said again within its lifetime."""

Fact = tuple[int, Row]
"""A relation and a row of it."""


class SoftStateScheme(Scheme):
    """One node's rows: entries carry the time until which they live."""

    steady = True

    def __init__(self, host: Host, lifetime: float):
        self.host = host
        self.lifetime = lifetime
        self.said_until: list[dict[Row, float]] = [{} for _ in host.plan.relations]
        """By relation: what this node said of rows."""
        self._own: dict[Fact, None] = {}
        self._deaths: list[tuple[float, int, Entry]] = []
        self._sequence = 0
        self._awake = False

    def insert(self, relation: int, row: Row) -> None:
        self._own[relation, row] = None
        self._say(relation, row)
        self._stay_awake()

    def delete(self, relation: int, row: Row) -> None:
        """It is not said again, and that is all."""
        del self._own[relation, row]

    def receive(self, sender: int, message: Message) -> None:
        assert isinstance(message, Alive)
        self.host.arrive(message.relation, message.row, message.until)
        self._stay_awake()

    def store(self, update: Update, stamp: int) -> Entry | None:
        table = self.host.tables[update.relation]
        entry = table.rows.get(update.row)
        if entry is not None:
            if update.value <= entry.value:
                return None
            entry.value = update.value
            return entry
        if update.value <= self.host.now():
            return None
        entry = Entry(update.relation, update.row, update.value, stamp)
        table.add(entry)
        self._dies(entry)
        return entry

    def derived(self, strand: Strand, row: Row, entries: Sequence[Entry | None], news: Any) -> None:
        until = min([entry.value for entry in entries if entry is not None])
        relation = self.host.plan.heads[strand.rule]
        said = self.said_until[relation]
        if said.get(row, 0.0) < until:
            said[row] = until
            home = self.host.home(relation, row)
            if home == self.host.number:
                self.host.arrive(relation, row, until)
            elif home is not None:
                self.host.send(home, Alive(relation, row, until))

    def carried(self, entry: Entry) -> int:
        return _TIME_SIZE

    def kept(self) -> int:
        return sum(
            row_size(relation, row) + _TIME_SIZE
            for relation, said in enumerate(self.said_until)
            for row in said
        )

    def passed(self, entry: Entry) -> Any:
        return entry.value

    # ------------------------------------------------------------------ time

    def woken(self) -> None:
        """Let rows die, and say again what holds."""
        self._awake = False
        self._die()
        for relation, row in self._own:
            self._say(relation, row)
        if self._own or self._deaths:
            self._stay_awake()

    def _say(self, relation: int, row: Row) -> None:
        self.host.arrive(relation, row, self.host.now() + self.lifetime)

    def _stay_awake(self) -> None:
        if not self._awake:
            self._awake = True
            self.host.wake(self.lifetime / REFRESHES)

    def _die(self) -> None:
        now = self.host.now()
        while self._deaths and self._deaths[0][0] <= now:
            _, _, entry = heappop(self._deaths)
            if entry.value <= now:
                self.host.tables[entry.table].remove(entry)
            else:
                self._dies(entry)
        for said in self.said_until:
            for row in [row for row, until in said.items() if until <= now]:
                del said[row]

    def _dies(self, entry: Entry) -> None:
        self._sequence += 1
        heappush(self._deaths, (entry.value, self._sequence, entry))


def soft_state(lifetime: float) -> SchemeMaker:
    """Rows that live for so many seconds unless they are said again."""
    return lambda host: SoftStateScheme(host, lifetime)
