"""Absorption provenance across nodes (liu-2008 sections 4 to 6).

Each node has a Fixpoint with its part of the view, a PipelinedHashJoin of base rows with it, and a MinShip that
sends what the join gives to the nodes where it lives. An inserted base row gets a variable that is never used
again. Its deletion is told to all nodes by that variable; each makes it false in all its operators and keeps it
as a tombstone, by which it knows later what was sent before the sender heard of the deletion. So changes may
overlap in any way: the view is right whenever the nodes come to rest.

The paper deletes tuple by tuple. With overlapping changes that loses rows, or never ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from headwater.annotations.minimal_dnf import MinimalDNF
from headwater.annotations.protocol import Restrictable
from headwater.annotations.variables import Variables
from headwater.networks.simulated.aggregate_selection import BestOf
from headwater.networks.simulated.channels import Channels, Row, RowMessage
from headwater.networks.simulated.cluster import Measures, NodeOf, SimulatedCluster
from headwater.networks.simulated.fixpoint import ProvenanceFixpoint
from headwater.networks.simulated.join import PipelinedHashJoin
from headwater.networks.simulated.min_ship import ProvenanceMinShip
from headwater.networks.simulated.provenance_table import Provenance, ProvenanceTable
from headwater.networks.simulated.queries import LinearQuery
from headwater.networks.simulated.window import Window

BASE, VIEW, GONE = "base", "view", "gone"
LAZY = None
EAGER = 1
CONVENTIONAL = 0
"""A Ship that sends everything: figure 2 of the paper."""


class AbsorptionNode:
    """The operators of one node, and the base rows that live on it."""

    def __init__(
        self,
        number: int,
        query: LinearQuery,
        place: NodeOf,
        channels: Channels,
        annotation: Restrictable[Any],
        batch: int | None,
        selection: BestOf | None,
        window: Window,
    ):
        self.number = number
        self.query = query
        self.place = place
        self.channels = channels
        self.annotation = annotation
        self.window = window
        self.variables: Variables[Row] = Variables()
        self.tombstones: set[int] = set()
        self.fixpoint = ProvenanceFixpoint(annotation, selection)
        self.join = PipelinedHashJoin(query, annotation)
        self.ship = ProvenanceMinShip(annotation, self._ship, batch, selection)

    # ------------------------------------------------------------------ base rows

    def insert(self, row: Row, now: float) -> None:
        """A base row of this node is inserted, or inserted again."""
        evicted = self.window.insert(row, now)
        if self.variables.number(row) is None:
            variable = self.variables.insert(row) * self.channels.nodes + self.number
            value = self.annotation.variable(variable)
            for start in self.query.start(row):
                self._arrived(start, value)
            target = self.place(self.query.key(row))
            self.channels.send(self.number, target, RowMessage(BASE, row, self.annotation.encode(value)))
        for other in evicted:
            self.delete(other)

    def delete(self, row: Row) -> None:
        """A base row of this node is deleted: tell everybody."""
        self.window.delete(row)
        number = self.variables.delete(row)
        if number is not None:
            variable = number * self.channels.nodes + self.number
            self.channels.broadcast(self.number, RowMessage(GONE, (variable,)))
            self._gone(variable)

    # ------------------------------------------------------------------ messages

    def handle(self, message: RowMessage) -> None:
        """Take a message from another node, or from this one."""
        if message.kind == GONE:
            self._gone(message.row[0])
            return
        value = self.annotation.decode(message.body)
        dead = self.annotation.support(value) & self.tombstones
        if dead:
            value = self.annotation.restrict(value, dead)
            if self.annotation.equal(value, self.annotation.zero):
                return
        if message.kind == BASE:
            for result, product in self.join.insert_base(message.row, value):
                self.ship.insert(result, product)
        else:
            self._arrived(message.row, value)

    def _arrived(self, row: Row, value: Provenance) -> None:
        for update, news in self.fixpoint.insert(row, value):
            self._propagate(update, news)

    def _propagate(self, row: Row, value: Provenance) -> None:
        for result, product in self.join.insert_view(row, value):
            self.ship.insert(result, product)

    def _gone(self, variable: int) -> None:
        if variable in self.tombstones:
            return
        self.tombstones.add(variable)
        self.join.delete(variable)
        self.ship.delete(variable)
        for row, value in list(self.fixpoint.delete(variable)):
            self._propagate(row, value)

    def _ship(self, row: Row, value: Provenance) -> None:
        target = self.place(self.query.view_key(row))
        self.channels.send(self.number, target, RowMessage(VIEW, row, self.annotation.encode(value)))

    def tables(self) -> tuple[ProvenanceTable, ...]:
        """All state with provenance."""
        return (self.fixpoint.table, self.join.base, self.join.view, *self.ship.tables())


class AbsorptionCluster(SimulatedCluster):
    """A view kept with absorption provenance. `batch`: `LAZY`, `EAGER`, `CONVENTIONAL`, or the paper's W."""

    def __init__(
        self,
        query: LinearQuery,
        nodes: int,
        *,
        batch: int | None = LAZY,
        selection: BestOf | None = None,
        annotation: Callable[[], Restrictable[Any]] = MinimalDNF,
        lifetime: float | None = None,
        window_size: int | None = None,
        place: NodeOf | None = None,
        choices: random.Random | None = None,
        limit: int | None = None,
    ):
        super().__init__(query, nodes, place=place, choices=choices, limit=limit)
        modes = {LAZY: "lazy", EAGER: "eager", CONVENTIONAL: "conventional"}
        self.name = f"absorption {modes.get(batch, f'batch {batch}')}"
        self.now = 0.0
        self.nodes = [
            AbsorptionNode(
                number,
                query,
                self.place,
                self.channels,
                annotation(),
                batch,
                selection,
                Window(lifetime, window_size),
            )
            for number in range(nodes)
        ]

    def insert(self, rows: Iterable[Row]) -> None:
        """Insert base rows; messages are sent, not yet delivered."""
        for row in rows:
            self.nodes[self.place(self.query.home(row))].insert(row, self.now)

    def delete(self, rows: Iterable[Row]) -> None:
        """Delete base rows; messages are sent, not yet delivered."""
        for row in rows:
            self.nodes[self.place(self.query.home(row))].delete(row)

    def advance(self, now: float) -> None:
        """Let time pass: base rows whose lifetime is over are deleted."""
        self.now = now
        for node in self.nodes:
            for row in node.window.expired(now):
                node.delete(row)

    def handle(self, sender: int, receiver: int, message: RowMessage) -> None:
        """Give a message to its node."""
        self.nodes[receiver].handle(message)

    def run(self) -> None:
        """Deliver all; nodes at rest ship what a batch has kept back, until there is nothing."""
        self.deliver()
        while sum(node.ship.flush() for node in self.nodes):
            self.deliver()

    def view(self) -> set[Row]:
        """All rows of the view."""
        return set().union(*(node.fixpoint.rows() for node in self.nodes))

    def provenance(self, row: Row) -> Provenance | None:
        """What a row carries where it lives."""
        return self.nodes[self.place(self.query.view_key(row))].fixpoint.table.get(row)

    def measures(self) -> Measures:
        """What it has cost, and what it holds."""
        views = [node.fixpoint.table for node in self.nodes]
        rows = sum(map(len, views))
        provenance = sum(table.provenance_bytes() for table in views)
        state = sum(
            table.provenance_bytes() + self.row_bytes(table) for node in self.nodes for table in node.tables()
        )
        return Measures(
            rows, self.channels.messages, self.channels.bytes, provenance / rows if rows else 0.0, state
        )
