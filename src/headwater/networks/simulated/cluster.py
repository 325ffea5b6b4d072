"""What all ways of maintaining a view across nodes have in common: changes in, rows out, and what it cost."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar
from zlib import crc32

from headwater.errors import EvaluationError
from headwater.networks.simulated.channels import Channels, Row, RowMessage
from headwater.networks.simulated.queries import LinearQuery

NodeOf = Callable[[Hashable], int]
"""The node where rows with a key live."""


def by_hash(nodes: int) -> NodeOf:
    """Spread keys over nodes, the same way in every process.

    >>> [by_hash(4)(key) for key in (1, 2, "a", "b")]
    [3, 1, 2, 1]
    """
    known: dict[Hashable, int] = {}

    def place(key: Hashable) -> int:
        node = known.get(key)
        if node is None:
            node = known[key] = crc32(repr(key).encode()) % nodes
        return node

    return place


@dataclass(frozen=True)
class Measures:
    """The four metrics of liu-2008 section 7.1 (without the time), and the number of messages.

    `provenance` is bytes for each row of the view, `state` the bytes of rows and provenance in the operators of
    all nodes together, `messages` and `bytes` are those between nodes since the beginning.
    """

    rows: int
    messages: int
    bytes: int
    provenance: float
    state: int


class SimulatedCluster(ABC):
    """Nodes that maintain a view of a query together. `limit` is how many messages a run may take."""

    name: str

    def __init__(
        self,
        query: LinearQuery,
        nodes: int,
        *,
        place: NodeOf | None = None,
        choices: random.Random | None = None,
        limit: int | None = None,
    ):
        self.query = query
        self.place = place if place is not None else by_hash(nodes)
        self.channels = Channels(nodes, choices)
        self.limit = limit

    @abstractmethod
    def insert(self, rows: Iterable[Row]) -> None:
        """Insert base rows at their nodes. Rows that are there already change nothing."""

    @abstractmethod
    def delete(self, rows: Iterable[Row]) -> None:
        """Delete base rows at their nodes. Rows that are not there change nothing."""

    def run(self) -> None:
        """Let messages be delivered until all nodes are at rest."""
        self.deliver()

    @abstractmethod
    def view(self) -> set[Row]:
        """All rows of the view."""

    @abstractmethod
    def measures(self) -> Measures:
        """What it has cost, and what it holds."""

    @abstractmethod
    def handle(self, sender: int, receiver: int, message: RowMessage) -> None:
        """What a node does with a message."""

    def deliver(self) -> None:
        """Deliver all messages, up to the limit."""
        self.channels.deliver(self.handle, self.limit)
        if self.channels.waiting():
            raise EvaluationError(
                "no-convergence",
                f"{self.name} had not come to rest after {self.limit:,} messages",
                hint="propagate lazily, or allow more messages",
            )

    def row_bytes(self, rows: Iterable[Row]) -> int:
        """How many bytes rows take."""
        size: Callable[[Any], int] = self.channels.size
        return sum(map(size, rows))


class PhasedNode(Protocol):
    """A node that takes base rows."""

    def insert(self, row: Row) -> None:
        """Insert a base row that lives here."""
        ...


N = TypeVar("N", bound=PhasedNode)


class PhasedCluster(SimulatedCluster, Generic[N]):
    """Nodes that go through a deletion in phases, and are all at rest after each: changes do not overlap."""

    def __init__(
        self,
        query: LinearQuery,
        nodes: int,
        *,
        place: NodeOf | None = None,
        choices: random.Random | None = None,
        limit: int | None = None,
    ):
        super().__init__(query, nodes, place=place, choices=choices, limit=limit)
        self.nodes = [self.node(number) for number in range(nodes)]

    @abstractmethod
    def node(self, number: int) -> N:
        """One of the nodes."""

    def insert(self, rows: Iterable[Row]) -> None:
        """Insert base rows; messages are sent, not yet delivered."""
        for row in rows:
            self.nodes[self.place(self.query.home(row))].insert(row)
