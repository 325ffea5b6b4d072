"""What nodes say to each other in the steps of a command."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.nodes.messages.message import Command, Message, PackedRows
from headwater.nodes.messages.outcomes import Done


@dataclass(frozen=True)
class Connect(Command[Done]):
    """Connect to the other nodes, whose addresses these are by number."""

    addresses: dict[int, str]


class PeerMessage(Message):
    """What one node says to another in one step of a command."""


@dataclass(frozen=True)
class Step(Message):
    """The n-th message of a command from one node to another."""

    order: int
    step: int
    content: PeerMessage


@dataclass(frozen=True)
class ParcelTable(Message):
    """Derivations, questions or answers about a relation or rule; see `maintain.exchange.Parcel`."""

    kind: str
    name: str
    rows: PackedRows


@dataclass(frozen=True)
class Exchanged(PeerMessage):
    """A node's clock, what it has spent on dead rows, how many rows it sends to all nodes, and those for this one."""

    clock: int
    spent: int
    posted: int
    parcels: tuple[ParcelTable, ...] = ()


@dataclass(frozen=True)
class Values(PeerMessage):
    """Numbers to be added up."""

    values: tuple[float, ...]


@dataclass(frozen=True)
class Unable(PeerMessage):
    """The node cannot go on with the command."""
