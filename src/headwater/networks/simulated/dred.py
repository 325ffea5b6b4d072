"""Delete and rederive across nodes (Gupta, Mumick, Subrahmanian; liu-2008 section 3.2): the yardstick.

Nothing but rows is kept, and what each node has sent, so that it sends nothing twice. A deletion first takes
away all that rests on the deleted row in any way. When all nodes are at rest, and not before, each node sends
again what it took back and can still derive. A row may also be lost because one node took it back while another
one, which sent it too, did not: that one is asked, and sends it again. (A node that took it back need not be
asked.) So a row is shipped once for each node that loses a derivation of it, and once for each that still has or
regains one: duplicates are seen only by who receives them, as in section 3.2.

Changes must not overlap: `delete` waits until all nodes are at rest, before and after.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from headwater.networks.simulated.channels import Channels, Row, RowMessage
from headwater.networks.simulated.cluster import Measures, NodeOf, PhasedCluster
from headwater.networks.simulated.queries import LinearQuery

BASE, NO_BASE, INSERT, DELETE, ASK = "base", "no base", "insert", "delete", "ask"


class DRedNode:
    """The rows of one node: base rows that live here, base rows to join with, view rows, what was sent."""

    def __init__(self, number: int, query: LinearQuery, place: NodeOf, channels: Channels):
        self.number = number
        self.query = query
        self.place = place
        self.channels = channels
        self.homed: dict[Hashable, dict[Row, None]] = {}
        self.base: dict[Hashable, dict[Row, None]] = {}
        self.view: dict[Hashable, dict[Row, None]] = {}
        self.joined: dict[Hashable, dict[Row, None]] = {}
        """The base rows to join with, by their own home."""
        self.sent: set[Row] = set()
        self.told: set[Row] = set()
        """What was sent since deleted rows were last derived again."""
        self.taken_back: dict[Row, None] = {}
        self.overdeleted: dict[Row, None] = {}
        self.revoked: dict[Row, set[int]] = {}
        """Rows of this node, and who took them back."""

    def insert(self, row: Row) -> None:
        """A base row of this node is inserted."""
        rows = self.homed.setdefault(self.query.home(row), {})
        if row not in rows:
            rows[row] = None
            for start in self.query.start(row):
                self._insert(start)
            self.channels.send(self.number, self.place(self.query.key(row)), RowMessage(BASE, row))

    def delete(self, row: Row) -> None:
        """A base row of this node is deleted, and with it all that rests on it."""
        rows = self.homed.get(self.query.home(row), {})
        if row in rows:
            del rows[row]
            for start in self.query.start(row):
                self._delete(start)
            self.channels.send(self.number, self.place(self.query.key(row)), RowMessage(NO_BASE, row))

    def handle(self, sender: int, message: RowMessage) -> None:
        row = message.row
        if message.kind == INSERT:
            self._insert(row)
        elif message.kind == DELETE:
            self.revoked.setdefault(row, set()).add(sender)
            self._delete(row)
        elif message.kind == ASK:
            self._answer(row)
        else:
            key, home = self.query.key(row), self.query.home(row)
            if message.kind == BASE:
                self.base.setdefault(key, {})[row] = None
                self.joined.setdefault(home, {})[row] = None
            else:
                del self.base[key][row]
                del self.joined[home][row]
            tell = self._tell if message.kind == BASE else self._take_back
            for other in list(self.view.get(key, ())):
                for result in self.query.step(row, other):
                    tell(result)

    def rederive(self) -> None:
        """Bring back what a base row still gives, send again what was taken back and still follows, and ask for the
        rest of what was lost at nodes that did not take it back."""
        lost, self.overdeleted = self.overdeleted, {}
        revoked, self.revoked = self.revoked, {}
        taken_back, self.taken_back = self.taken_back, {}
        self.told = set()
        here = [start for rows in self.homed.values() for base in rows for start in self.query.start(base)]
        back = set(here) & lost.keys()
        for row in lost:
            if row not in back:
                could = {self.place(key) for key in self.query.sources(row, self.homed)}
                for target in sorted(could - revoked.get(row, set())):
                    self.channels.send(self.number, target, RowMessage(ASK, row))
        for row in back:
            self._insert(row)
        for row in taken_back:
            if row not in self.sent and self._follows(row):
                self._tell(row)

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

    def _follows(self, row: Row) -> bool:
        """Whether a row can be derived from what is here."""
        for key in self.query.sources(row, self.joined):
            for base in self.base.get(key, ()):
                premise = self.query.premise(base, row)
                if premise is not None and premise in self.view.get(key, ()):
                    return True
        return False

    def _answer(self, row: Row) -> None:
        """What was sent before the deletion, and not taken back, still follows: send it again, once."""
        if row in self.sent and row not in self.told:
            self.sent.discard(row)
            self._tell(row)

    def _tell(self, row: Row) -> None:
        if row not in self.sent:
            self.sent.add(row)
            self.told.add(row)
            self.channels.send(self.number, self.place(self.query.view_key(row)), RowMessage(INSERT, row))

    def _take_back(self, row: Row) -> None:
        if row in self.sent:
            self.sent.discard(row)
            self.taken_back[row] = None
            self.channels.send(self.number, self.place(self.query.view_key(row)), RowMessage(DELETE, row))


class DRedCluster(PhasedCluster[DRedNode]):
    """A view kept by delete-and-rederive."""

    name = "dred"

    def node(self, number: int) -> DRedNode:
        """One of the nodes."""
        return DRedNode(number, self.query, self.place, self.channels)

    def delete(self, rows: Iterable[Row]) -> None:
        """Delete base rows, wait until all nodes are at rest, rederive, and wait again."""
        self.deliver()
        for row in rows:
            self.nodes[self.place(self.query.home(row))].delete(row)
        self.deliver()
        for node in self.nodes:
            node.rederive()
        self.deliver()

    def handle(self, sender: int, receiver: int, message: RowMessage) -> None:
        """Give a message to its node."""
        self.nodes[receiver].handle(sender, message)

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
