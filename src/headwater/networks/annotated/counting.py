"""Counting (Gupta, Mumick and Subrahmanian; loo-2006 section 4): a row is there while it has derivations.

A node that gains or loses an instance says so to the home of the row that follows, which adds up. Additions
commute, so changes may overlap and messages may overtake each other; none may be lost or come twice. It is right
where no row can be among its own premises (`acyclic`). Elsewhere a cycle would keep itself alive: such programs are
refused, and so are best rows inside of a recursion, where worse and worse ones would be found while a deletion
follows them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from headwater.errors import RuleError
from headwater.networks.annotated.acyclic import why_cyclic
from headwater.networks.annotated.instances import LocalInstances
from headwater.networks.annotated.scheme import Host, Scheme, SchemeMaker
from headwater.networks.orders.order import Update
from headwater.networks.runtime.message_codec import row_size
from headwater.networks.runtime.messages import CountedDerivations, Message
from headwater.networks.runtime.row_table import Entry, Row
from headwater.networks.runtime.value_codec import varint_size
from headwater.networks.strands.strand import Strand


class CountingScheme(Scheme):
    """The numbers of derivations of one node's rows: what their entries carry."""

    steady = True

    def __init__(self, host: Host):
        reason = why_cyclic(host.plan.program)
        if reason is not None:
            raise RuleError("diverges", f"derivations cannot be counted: {reason}", hint="use absorption")
        self.host = host
        self.instances = LocalInstances(host)
        self.owed: dict[tuple[int, Row], int] = {}
        """Rows that were taken back more often than they came: what was sent before is yet to come."""
        self._losing: deque[tuple[int, Row, int]] = deque()

    def insert(self, relation: int, row: Row) -> None:
        self.host.arrive(relation, row, 1)

    def delete(self, relation: int, row: Row) -> None:
        self._lose(relation, row, 1)

    def receive(self, sender: int, message: Message) -> None:
        assert isinstance(message, CountedDerivations)
        if message.number > 0:
            self.host.arrive(message.relation, message.row, message.number)
        else:
            self._lose(message.relation, message.row, -message.number)

    def store(self, update: Update, stamp: int) -> Entry | None:
        entry = self.instances.entry(update.relation, update.row)
        if entry is not None:
            entry.value += update.value
            return None
        number = update.value + self.owed.pop((update.relation, update.row), 0)
        if number <= 0:
            self._owe(update.relation, update.row, number)
            return None
        entry = Entry(update.relation, update.row, number, stamp)
        self.host.tables[update.relation].add(entry)
        return entry

    def derived(self, strand: Strand, row: Row, entries: Sequence[Entry | None], news: Any) -> None:
        relation = self.host.plan.heads[strand.rule]
        self.instances.tell(
            relation, row, CountedDerivations(relation, row, 1), lambda: self.host.arrive(relation, row, 1)
        )

    def carried(self, entry: Entry) -> int:
        return varint_size(entry.value)

    def kept(self) -> int:
        return sum(row_size(relation, row) for relation, row in self.owed)

    def passed(self, entry: Entry) -> Any:
        raise AssertionError("refused")

    # ------------------------------------------------------------------ losses

    def _lose(self, relation: int, row: Row, number: int) -> None:
        """A row has fewer derivations, and with it perhaps others."""
        self._losing.append((relation, row, number))
        if len(self._losing) == 1:
            while self._losing:
                self._subtract(*self._losing[0])
                self._losing.popleft()

    def _subtract(self, relation: int, row: Row, number: int) -> None:
        entry = self.instances.entry(relation, row)
        if entry is None:
            self._owe(relation, row, self.owed.pop((relation, row), 0) - number)
            return
        entry.value -= number
        if entry.value > 0:
            return
        lost: dict[tuple[int, Row], int] = {}

        def found(rule: int, head: Row, entries: object) -> None:
            key = (self.instances.heads[rule], head)
            lost[key] = lost.get(key, 0) + 1

        self.instances.using(entry, found)
        self.instances.remove(entry)
        self._owe(relation, row, entry.value)
        for (head, following), times in lost.items():
            self.instances.tell(
                head, following, CountedDerivations(head, following, -times),
                lambda head=head, following=following, times=times: self._losing.append((head, following, times)),  # type: ignore[misc]
            )  # fmt: skip

    def _owe(self, relation: int, row: Row, number: int) -> None:
        if number < 0:
            self.owed[relation, row] = number


def counting() -> SchemeMaker:
    """Counts of derivations."""
    return CountingScheme
