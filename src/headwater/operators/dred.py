"""Delete and rederive across nodes (Gupta, Mumick, Subrahmanian; liu-2008 section 3.2): the yardstick.

Nothing but rows is kept, and what each node has sent, so that it sends nothing twice. A deletion first takes
away all that rests on the deleted row in any way. When all nodes are at rest, and not before, each asks for the
rows it lost at the nodes that could still derive them. That they are asked makes them send a row again which
they have sent before: else the suppression of duplicates would swallow it.

Changes must not overlap: `delete` waits until all nodes are at rest, before and after.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from headwater.operators.channels import Channels, Message, Row
from headwater.operators.cluster import Measures, PhasedCluster, Place
from headwater.operators.queries import LinearQuery

BASE, NO_BASE, INSERT, DELETE, ASK = "base", "no base", "insert", "delete", "ask"


class Node:
    """The rows of one node: base rows that live here, base rows to join with, view rows, what was sent."""

    def __init__(self, number: int, query: LinearQuery, place: Place, channels: Channels):
        self.number = number
        self.query = query
        self.place = place
        self.channels = channels
        self.homed: dict[Hashable, dict[Row, None]] = {}
        self.base: dict[Hashable, dict[Row, None]] = {}
        self.view: dict[Hashable, dict[Row, None]] = {}
        self.sent: set[Row] = set()
        self.overdeleted: dict[Row, None] = {}

    def insert(self, row: Row) -> None:
        """A base row of this node is inserted."""
        rows = self.homed.setdefault(self.query.home(row), {})
        if row not in rows:
            rows[row] = None
            for start in self.query.start(row):
                self._insert(start)
            self.channels.send(self.number, self.place(self.query.key(row)), Message(BASE, row))

    def delete(self, row: Row) -> None:
        """A base row of this node is deleted, and with it all that rests on it."""
        rows = self.homed.get(self.query.home(row), {})
        if row in rows:
            del rows[row]
            for start in self.query.start(row):
                self._delete(start)
            self.channels.send(self.number, self.place(self.query.key(row)), Message(NO_BASE, row))

    def handle(self, message: Message) -> None:
        """Take a message."""
        row = message.row
        if message.kind == INSERT:
            self._insert(row)
        elif message.kind == DELETE:
            self._delete(row)
        elif message.kind == ASK:
            self._answer(*row)
        else:
            key = self.query.key(row)
            if message.kind == BASE:
                self.base.setdefault(key, {})[row] = None
            else:
                del self.base[key][row]
            tell = self._tell if message.kind == BASE else self._take_back
            for other in list(self.view.get(key, ())):
                for result in self.query.step(row, other):
                    tell(result)

    def rederive(self) -> None:
        """Bring back what a base row still gives, and ask other nodes for the rest of what was lost."""
        lost, self.overdeleted = self.overdeleted, {}
        here = [start for rows in self.homed.values() for base in rows for start in self.query.start(base)]
        back = set(here) & lost.keys()
        for row in lost:
            if row not in back:
                asked: dict[int, list[Hashable]] = {}
                for key in self.query.sources(row, self.homed):
                    asked.setdefault(self.place(key), []).append(key)
                for target, keys in asked.items():
                    self.channels.send(self.number, target, Message(ASK, (row, tuple(keys))))
        for row in back:
            self._insert(row)

    def _insert(self, row: Row) -> None:
        key = self.query.view_key(row)
        rows = self.view.setdefault(key, {})
        if row in rows:
            return
        rows[row] = None
        for base in self.base.get(key, ()):
            for result in self.query.step(base, row):
                self._tell(result)

    def _delete(self, row: Row) -> None:
        key = self.query.view_key(row)
        rows = self.view.get(key, {})
        if row not in rows:
            return
        del rows[row]
        self.overdeleted[row] = None
        for base in self.base.get(key, ()):
            for result in self.query.step(base, row):
                self._take_back(result)

    def _answer(self, row: Row, keys: tuple[Hashable, ...]) -> None:
        for key in keys:
            for base in self.base.get(key, ()):
                premise = self.query.premise(base, row)
                if premise is not None and premise in self.view.get(key, ()):
                    self.sent.discard(row)
                    self._tell(row)
                    return

    def _tell(self, row: Row) -> None:
        if row not in self.sent:
            self.sent.add(row)
            self.channels.send(self.number, self.place(self.query.view_key(row)), Message(INSERT, row))

    def _take_back(self, row: Row) -> None:
        if row in self.sent:
            self.sent.discard(row)
            self.channels.send(self.number, self.place(self.query.view_key(row)), Message(DELETE, row))


class DRedCluster(PhasedCluster[Node]):
    """A view kept by delete-and-rederive."""

    name = "dred"

    def node(self, number: int) -> Node:
        """One of the nodes."""
        return Node(number, self.query, self.place, self.channels)

    def delete(self, rows: Iterable[Row]) -> None:
        """Delete base rows, wait until all nodes are at rest, rederive, and wait again."""
        self.deliver()
        for row in rows:
            self.nodes[self.place(self.query.home(row))].delete(row)
        self.deliver()
        for node in self.nodes:
            node.rederive()
        self.deliver()

    def handle(self, sender: int, receiver: int, message: Message) -> None:
        """Give a message to its node."""
        self.nodes[receiver].handle(message)

    def view(self) -> set[Row]:
        """All rows of the view."""
        return {row for node in self.nodes for rows in node.view.values() for row in rows}

    def measures(self) -> Measures:
        """What it has cost, and what it holds."""
        state = 0
        for node in self.nodes:
            state += self.row_bytes(node.sent)
            for table in (node.base, node.view):
                state += sum(self.row_bytes(rows) for rows in table.values())
        return Measures(len(self.view()), self.channels.messages, self.channels.bytes, 0.0, state)
