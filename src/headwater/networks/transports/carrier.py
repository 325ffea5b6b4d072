"""What a network asks of whatever runs its nodes and carries their messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from headwater.networks.runtime.messages import Message, SharedMessage
from headwater.networks.runtime.node import NetworkNode
from headwater.networks.runtime.row_table import Entry, Row
from headwater.networks.runtime.watching import WatchedRow
from headwater.networks.strands.strand import ALL_STAMPS, Firing

TableRow = tuple[int, Row]
"""A row of a relation, by the relation's number in the program."""
Derivation = tuple[str, tuple[TableRow, ...]]
"""A rule by its label, and the rows of its premises."""


@dataclass(frozen=True, slots=True)
class CarriedMessage:
    """A message as it was sent: seconds since the network began, nodes by number, and the row that it brings. Of
    messages that went as one these are the `parts`, each with the bytes of the whole."""

    time: float
    sender: int
    receiver: int
    kind: str
    bytes: int
    table: int = -1
    row: Row = ()
    taken_back: tuple[Row, ...] = ()
    """Rows whose place it takes, where those who look on can see them."""
    parts: tuple[CarriedMessage, ...] = ()


class Carrier(Protocol):
    """Nodes, wherever they are. Times are in seconds since the network began: virtual ones, or real ones."""

    @property
    def now(self) -> float:
        """The time."""
        ...

    @property
    def last_message(self) -> float:
        """When the last message arrived, or nodes were last seen at work."""
        ...

    def check(self, changes: Sequence[tuple[bool, str, Row]]) -> None:
        """Refuse changes of which one cannot be made."""
        ...

    def change(self, changes: Sequence[tuple[bool, str, Row]]) -> None:
        """Insert (true) and delete base rows, each at its node; what follows is under way."""
        ...

    def given(self) -> Iterable[tuple[str, Row]]:
        """The base rows that there are, links among them, in the order in which they were last given."""
        ...

    def run(self, until: float | None) -> bool:
        """Go on until all is quiet, or up to a time; whether all is quiet."""
        ...

    def traffic(self) -> tuple[int, int]:
        """How many messages were sent so far, and how many bytes they had."""
        ...

    def messages(self) -> Iterable[CarriedMessage]:
        """The messages, in the order in which they were sent: the last ones, if there were very many."""
        ...

    def load(self) -> Iterable[tuple[float, int]]:
        """When messages were sent, and their bytes: of all of them, however many."""
        ...

    def rows(self, relation: str, node: int | None = None) -> set[Row]:
        """The rows of a relation: all, or those at a node."""
        ...

    def watched(self) -> Sequence[WatchedRow]:
        """What the program has traced (`watch`), in the order in which it happened."""
        ...

    def derivations(self, node: int, derived: TableRow) -> list[Derivation]:
        """All ways in which a row follows from what a node has."""
        ...

    def close(self) -> None:
        """Let go of what nodes take: processes, if they have any."""
        ...


def derivations_at(node: NetworkNode, derived: TableRow) -> list[Derivation]:
    """All ways in which a row follows from what a node has: rules run backwards."""
    table, row = derived
    found: list[Derivation] = []
    for strand in node.plan.deriving[table]:
        label = node.plan.rules[strand.rule].label

        def take(_: Row, entries: list[Entry | None], label: str = label) -> None:
            premises = tuple((entry.table, entry.row) for entry in entries if entry is not None)
            found.append((label, premises))

        strand.fire(Firing(node.tables, take), row, None, ALL_STAMPS)
    return found


def carried(time: float, sender: int, receiver: int, message: Message, size: int) -> CarriedMessage:
    """A message on its way."""
    kind = type(message).__name__
    if isinstance(message, SharedMessage):
        parts = tuple(carried(time, sender, receiver, part, size) for part in message.messages)
        return CarriedMessage(time, sender, receiver, kind, size, parts=parts)
    relation, row = getattr(message, "relation", None), getattr(message, "row", None)
    if relation is None or row is None:
        return CarriedMessage(time, sender, receiver, kind, size)
    taken_back = getattr(message, "taken_back", ())
    return CarriedMessage(time, sender, receiver, kind, size, relation, row, taken_back)


def carried_again(fields: tuple[Any, ...]) -> CarriedMessage:
    """The message whose fields were sent."""
    message = CarriedMessage(*fields)
    return replace(message, parts=tuple(map(carried_again, fields[-1]))) if fields[-1] else message
