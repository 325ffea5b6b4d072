"""A version: what it is given, what it did, and its end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headwater.events import Event
from headwater.nodes.messages.message import Command, Message, PackedRows, Reply, Tables, Types
from headwater.nodes.messages.outcomes import Done
from headwater.rules.placement import Placement
from headwater.version.statistics import VersionStatistics


@dataclass(frozen=True)
class ChangedRows(Message):
    """The rows that one relation has gained and lost on a node."""

    gained: PackedRows
    lost: PackedRows


@dataclass(frozen=True)
class ChangeCount(Message):
    """How many rows one relation has gained and lost on a node; and the rows, where they are few."""

    gained: int
    lost: int
    rows: ChangedRows | None


@dataclass(frozen=True)
class Shipped(Message):
    """What a node has sent to other nodes since it was started: messages, bytes, derivations and questions."""

    messages: int = 0
    bytes: int = 0
    rows: int = 0


@dataclass(frozen=True)
class VersionReport(Reply):
    """What the open version did on a node. `sizes` are the rows stored of each base relation, `steps` the bytes sent
    in each exchange."""

    changes: dict[str, ChangeCount]
    sizes: dict[str, int]
    statistics: VersionStatistics
    shipped: Shipped
    nbytes: int
    steps: tuple[int, ...]


@dataclass(frozen=True)
class ProgramText(Message):
    """All that nodes need to know to come to the same program: texts with their sources, the ids of their rules, what
    rows told about types, columns and nulls, the types of base relations that have rows, and where relations live."""

    texts: tuple[tuple[str, str], ...]
    rules: tuple[tuple[str, ...], ...]
    known: dict[str, Types]
    columns: dict[str, tuple[str, ...]]
    nullable: dict[str, tuple[bool | None, ...]]
    stored: dict[str, Types]
    homes: dict[str, Placement]


@dataclass(frozen=True)
class Define(Command[VersionReport]):
    """Take on definitions, with facts. `touches` are the base relations that may change on any node."""

    program: ProgramText
    version: int
    now: float
    touches: tuple[str, ...]
    deletes: Tables = field(default_factory=dict)
    inserts: Tables = field(default_factory=dict)

    def given(self, deletes: Tables, inserts: Tables) -> Define:
        """With the rows for one node."""
        return replace(self, deletes=deletes, inserts=inserts)


@dataclass(frozen=True)
class Learn(Command[Done]):
    """Go by what is known of types now; rows stay."""

    program: ProgramText
    now: float

    def given(self, deletes: Tables, inserts: Tables) -> Learn:
        """It has no rows."""
        return self


@dataclass(frozen=True)
class ChangeRows(Command[VersionReport]):
    """Delete and insert rows that belong to the node. `touches` are the base relations that change on any node. Where
    it is to `proceed`, that is a further transition of the open version."""

    version: int
    now: float
    touches: tuple[str, ...]
    proceed: bool = False
    deletes: Tables = field(default_factory=dict)
    inserts: Tables = field(default_factory=dict)

    def given(self, deletes: Tables, inserts: Tables) -> ChangeRows:
        """With the rows for one node."""
        return replace(self, deletes=deletes, inserts=inserts)


@dataclass(frozen=True)
class FetchChange(Command["FetchedChange"]):
    """Tell the rows that the last version gained and lost in a relation."""

    relation: str


@dataclass(frozen=True)
class FetchedChange(Reply):
    """`None` if there are none, or another node tells them."""

    rows: ChangedRows | None


@dataclass(frozen=True)
class Commit(Command["Committed"]):
    """Keep the open version."""


@dataclass(frozen=True)
class Committed(Reply):
    """It is kept; what was worth telling."""

    events: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Rollback(Command[Done]):
    """Undo the open version."""
