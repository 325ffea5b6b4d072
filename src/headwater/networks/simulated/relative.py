"""Relative provenance across nodes (green-2007 section 4.2, as compared in liu-2008 section 7.2), shipped lazily.

A row is shipped with the rule instance that derived it: the base row and the view row it follows from. Where it
lives it has all instances that arrived, and a node ships only the first one for a row; others are held back. When a
base row is deleted, all nodes drop the instances that used it. A row without any falls, and instances that used
it are dropped in turn. A row that lost some is tested: its ancestors are asked, node by node, whether they can be
derived from base rows; the answers come back the same way. Those without a good answer support only each other
and fall, too. When nothing falls any more, what was held back takes the place of what was shipped and is gone.

Changes must not overlap: `delete` waits until all nodes are at rest, after each of these phases.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from headwater.networks.simulated.channels import Channels, Row, RowMessage
from headwater.networks.simulated.cluster import Measures, NodeOf, PhasedCluster
from headwater.networks.simulated.queries import LinearQuery

BASE, GONE, VIEW, DROP, ASK, GROUNDED = "base", "gone", "view", "drop", "ask", "grounded"

Instance = tuple[Row, Row]
"""A base row and the view row it was joined with; `()` if it stands alone."""
Used = tuple[int, Row]
"""0 and a base row, or 1 and a view row, that an instance used."""


class RelativeNode:
    """The derivation graph of the rows that live on one node, and what it has shipped and held back."""

    def __init__(self, number: int, query: LinearQuery, place: NodeOf, channels: Channels):
        self.number = number
        self.query = query
        self.place = place
        self.channels = channels
        self.homed: dict[Row, None] = {}
        self.base: dict[Hashable, dict[Row, None]] = {}
        self.view: dict[Hashable, dict[Row, None]] = {}
        self.edges: dict[Row, dict[Instance, None]] = {}
        self.edges_of: dict[Used, set[tuple[Row, Instance]]] = {}
        self.shipped: dict[Row, dict[Instance, None]] = {}
        self.held_back: dict[Row, dict[Instance, None]] = {}
        self.out_of: dict[Used, set[tuple[Row, Instance]]] = {}
        """What was shipped or held back, by the base row and by the view row it used."""
        self.doubtful: dict[Row, None] = {}
        self.asked: set[Row] = set()
        self.askers: dict[Row, set[int]] = {}
        self.visited: dict[Row, None] = {}
        self.grounded: set[Row] = set()
        """Rows with a good answer: those that live here, and premises that others have answered for."""
        self.answered: set[Row] = set()
        self.resting: dict[Row, list[Row]] = {}
        """Rows visited here, by a premise they wait for."""

    # ------------------------------------------------------------------ insertions

    def insert(self, row: Row) -> None:
        """A base row of this node is inserted."""
        if row not in self.homed:
            self.homed[row] = None
            for start in self.query.start(row):
                self._arrived(start, (row, ()))
            self.channels.send(self.number, self.place(self.query.key(row)), RowMessage(BASE, row))

    def handle(self, sender: int, message: RowMessage) -> None:
        row = message.row
        if message.kind == VIEW:
            self._arrived(row[0], row[1])
        elif message.kind == DROP:
            self._drop(row[0], row[1])
        elif message.kind == BASE:
            key = self.query.key(row)
            self.base.setdefault(key, {})[row] = None
            for other in list(self.view.get(key, ())):
                self._derive(row, other)
        elif message.kind == GONE:
            self.gone(row)
        elif message.kind == ASK:
            self._asked(row, sender)
        else:
            self._grounded(row)

    def _arrived(self, row: Row, edge: Instance) -> None:
        edges = self.edges.get(row)
        if edges is not None:
            edges[edge] = None
            self._index(self.edges_of, row, edge)
            return
        self.edges[row] = {edge: None}
        self._index(self.edges_of, row, edge)
        key = self.query.view_key(row)
        self.view.setdefault(key, {})[row] = None
        for base in list(self.base.get(key, ())):
            self._derive(base, row)

    def _derive(self, base: Row, row: Row) -> None:
        edge = (base, row)
        for result in self.query.step(base, row):
            self._index(self.out_of, result, edge)
            if result in self.shipped:
                self.held_back.setdefault(result, {})[edge] = None
            else:
                self._ship(result, {edge: None})

    def _ship(self, row: Row, edges: dict[Instance, None]) -> None:
        self.shipped[row] = edges
        target = self.place(self.query.view_key(row))
        for edge in edges:
            self.channels.send(self.number, target, RowMessage(VIEW, (row, edge)))

    @staticmethod
    def _index(index: dict[Used, set[tuple[Row, Instance]]], row: Row, edge: Instance) -> None:
        for used in enumerate(edge):
            index.setdefault(used, set()).add((row, edge))

    # ------------------------------------------------------------------ deletions

    def delete(self, row: Row) -> None:
        """A base row of this node is deleted: tell everybody."""
        if row in self.homed:
            del self.homed[row]
            self.channels.broadcast(self.number, RowMessage(GONE, row))
            self.gone(row)

    def gone(self, base: Row) -> None:
        """A base row is gone: drop what used it."""
        key = self.query.key(base)
        self.base.get(key, {}).pop(base, None)
        for row, edge in self.out_of.pop((0, base), ()):
            self._forget(row, edge)
        for row, edge in sorted(self.edges_of.pop((0, base), ())):
            self._drop(row, edge)

    def _forget(self, row: Row, edge: Instance) -> bool:
        """Take back what was shipped or held back, and say whether it was shipped; the receiver knows, or is told."""
        if edge in self.held_back.get(row, ()):
            del self.held_back[row][edge]
            if not self.held_back[row]:
                del self.held_back[row]
            return False
        return self.shipped.get(row, {}).pop(edge, 0) is None

    def _drop(self, row: Row, edge: Instance) -> None:
        edges = self.edges.get(row)
        if edges is None or edge not in edges:
            return
        del edges[edge]
        if edges:
            self.doubtful[row] = None
        else:
            self._fall(row)

    def _fall(self, row: Row) -> None:
        """A row has no instance left: those that used it are dropped where they are."""
        del self.edges[row]
        self.doubtful.pop(row, None)
        del self.view[self.query.view_key(row)][row]
        for result, edge in sorted(self.out_of.pop((1, row), ())):
            if self._forget(result, edge):
                target = self.place(self.query.view_key(result))
                self.channels.send(self.number, target, RowMessage(DROP, (result, edge)))

    def release(self) -> None:
        """Ship what was held back for rows of which nothing shipped is left."""
        for row in [row for row, edges in self.shipped.items() if not edges]:
            del self.shipped[row]
            waiting = self.held_back.pop(row, None)
            if waiting:
                self._ship(row, waiting)

    # ------------------------------------------------------------------ testing derivability

    def test(self) -> None:
        """Begin: visit the rows that lost some of their instances."""
        doubtful, self.doubtful = self.doubtful, {}
        for row in doubtful:
            self._visit(row)

    def _visit(self, row: Row) -> None:
        if row in self.visited:
            return
        self.visited[row] = None
        if any(not premise or premise in self.grounded for _, premise in self.edges[row]):
            self._found(row)
            return
        for _, premise in self.edges[row]:
            self.resting.setdefault(premise, []).append(row)
            if premise not in self.asked:
                self.asked.add(premise)
                target = self.place(self.query.view_key(premise))
                self.channels.send(self.number, target, RowMessage(ASK, premise))

    def _asked(self, row: Row, sender: int) -> None:
        if row in self.grounded:
            self.channels.send(self.number, sender, RowMessage(GROUNDED, row))
            return
        self.askers.setdefault(row, set()).add(sender)
        if row in self.edges:
            self._visit(row)

    def _found(self, row: Row) -> None:
        if row not in self.answered:
            self.answered.add(row)
            self.grounded.add(row)
            for asker in sorted(self.askers.get(row, ())):
                self.channels.send(self.number, asker, RowMessage(GROUNDED, row))

    def _grounded(self, premise: Row) -> None:
        self.grounded.add(premise)
        for row in self.resting.get(premise, ()):
            self._found(row)

    def collect(self) -> bool:
        """End: rows without a good answer fall; return whether any did."""
        cut_off = [row for row in self.visited if row not in self.grounded]
        for row in cut_off:
            self._fall(row)
        for state in (self.asked, self.askers, self.visited, self.grounded, self.answered, self.resting):
            state.clear()
        return bool(cut_off)


class RelativeCluster(PhasedCluster[RelativeNode]):
    """A view kept with relative provenance, shipped lazily."""

    name = "relative lazy"

    def node(self, number: int) -> RelativeNode:
        """One of the nodes."""
        return RelativeNode(number, self.query, self.place, self.channels)

    def delete(self, rows: Iterable[Row]) -> None:
        """Delete base rows, and go through all phases until all nodes are at rest."""
        self.deliver()
        for row in rows:
            self.nodes[self.place(self.query.home(row))].delete(row)
        self.deliver()
        while any(node.doubtful for node in self.nodes):
            for node in self.nodes:
                node.test()
            self.deliver()
            if sum(node.collect() for node in self.nodes):
                self.deliver()
        for node in self.nodes:
            node.release()
        self.deliver()

    def handle(self, sender: int, receiver: int, message: RowMessage) -> None:
        """Give a message to its node."""
        self.nodes[receiver].handle(sender, message)

    def view(self) -> set[Row]:
        """All rows of the view."""
        return {row for node in self.nodes for row in node.edges}

    def measures(self) -> Measures:
        """What it has cost, and what it holds."""
        edges = sum(
            self.row_bytes(edge) for node in self.nodes for found in node.edges.values() for edge in found
        )
        rows = sum(len(node.edges) for node in self.nodes)
        state = edges
        for node in self.nodes:
            state += self.row_bytes(node.edges)
            state += sum(self.row_bytes(found) for found in node.base.values())
            for table in (node.shipped, node.held_back):
                state += self.row_bytes(table)
                state += sum(self.row_bytes(edge) for found in table.values() for edge in found)
        return Measures(
            rows, self.channels.messages, self.channels.bytes, edges / rows if rows else 0.0, state
        )
