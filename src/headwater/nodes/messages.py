"""What the driver and nodes say to each other: a dataclass for each message. Data only.

A command names the reply that belongs to it: `Count` is a `Command[Counted]`. Fields hold numbers, texts, types,
events, tables, dataclasses of these, and tuples and dictionaries of them; `encoding` turns any message into bytes and
back by its declaration here, and there is no other place where a message's form is written down.

Tables hold rows as values (`row_tables`), one for each relation.

The driver sends an `Order` and waits for the `Outcome` with its number. Nodes that went on while the driver does
something else would need no other messages: an order has a number, and a node may have several waiting.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, TypeVar

import pyarrow as pa

from headwater.errors import Place
from headwater.events import Event
from headwater.local.explain import RelationFacts, ViewFacts
from headwater.rules.placement import Placement
from headwater.store.segments import Segment
from headwater.values.types import Type
from headwater.version.statistics import VersionStatistics

Types = tuple[Type | None, ...]
Tables = dict[str, pa.Table]
"""Rows by relation."""


class Message:
    """Anything that is sent."""

    kinds: ClassVar[dict[str, type[Message]]] = {}
    """All messages by name."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Message.kinds[cls.__name__] = cls


class Reply(Message):
    """What a node answers to a command."""


Answer = TypeVar("Answer", bound=Reply)


class Command(Message, Generic[Answer]):
    """What all nodes are told to do, each with the rows that concern it; answered by an `Answer` or a `Failure`."""


# ---------------------------------------------------------------------- coming and going


@dataclass(frozen=True)
class Hello(Message):
    """A node has come. Answered by `Welcome` or `Leave`."""

    attempt: tuple[int, ...]
    number: int
    process: int
    address: str


@dataclass(frozen=True)
class Farewell(Message):
    """A node cannot be one. Answered by `Leave`."""

    attempt: tuple[int, ...]
    number: int
    why: str


@dataclass(frozen=True)
class Welcome(Message):
    """The driver's stream will come."""


@dataclass(frozen=True)
class Leave(Message):
    """Go home; or, with `again`, end as one that failed, so that all nodes are started again."""

    again: bool


@dataclass(frozen=True)
class Beat(Message):
    """A node is alive."""


@dataclass(frozen=True)
class Order(Message):
    """A command with its number. With `commit`, the open version is committed before; some want no outcome."""

    number: int
    command: Command[Reply]
    commit: bool = False
    answered: bool = True


@dataclass(frozen=True)
class Outcome(Message):
    """What came of the order with that number."""

    number: int
    reply: Reply


@dataclass(frozen=True)
class Interrupt(Message):
    """Break off the order with that number."""

    number: int


# ---------------------------------------------------------------------- replies that many commands have


@dataclass(frozen=True)
class Done(Reply):
    """It is done."""


@dataclass(frozen=True)
class Fault(Message):
    """An error: the name of its class in `errors`, or of Python's own."""

    kind: str
    code: str
    message: str
    place: Place | None = None
    hint: str | None = None


@dataclass(frozen=True)
class Failure(Reply):
    """It cannot be done. With `peer`, because another node is gone or has failed, which says why itself."""

    fault: Fault
    trace: str = ""
    peer: bool = False


@dataclass(frozen=True)
class ChangedRows(Message):
    """The rows that one relation has gained and lost on a node."""

    gained: pa.Table
    lost: pa.Table


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


# ---------------------------------------------------------------------- versions


@dataclass(frozen=True)
class ProgramText(Message):
    """All that nodes need to know to come to the same program: texts with their sources, the ids of their rules, what
    rows told about types and columns, the types of base relations that have rows, and where each relation lives."""

    texts: tuple[tuple[str, str], ...]
    rules: tuple[tuple[str, ...], ...]
    known: dict[str, Types]
    columns: dict[str, tuple[str, ...]]
    stored: dict[str, Types]
    homes: dict[str, Placement]


@dataclass(frozen=True)
class Define(Command[VersionReport]):
    """Take on definitions, with facts. `touches` are the base relations that may change on any node."""

    program: ProgramText
    version: int
    now: float
    touches: tuple[str, ...]
    inserts: Tables = field(default_factory=dict)

    def given(self, deletes: Tables, inserts: Tables) -> Define:
        """With the rows for one node."""
        return replace(self, inserts=inserts)


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
    """Delete and insert rows that belong to the node. `touches` are the base relations that change on any node."""

    version: int
    now: float
    touches: tuple[str, ...]
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


# ---------------------------------------------------------------------- reading


@dataclass(frozen=True)
class FetchRows(Command["FetchedRows"]):
    """Tell the rows of a relation that the node holds."""

    relation: str


@dataclass(frozen=True)
class FetchedRows(Reply):
    """`None` if another node tells them."""

    rows: pa.Table | None


@dataclass(frozen=True)
class Count(Command["Counted"]):
    """Count the rows of a relation."""

    relation: str


@dataclass(frozen=True)
class Counted(Reply):
    """Those that no other node counts."""

    rows: int


@dataclass(frozen=True)
class Find(Command["Found"]):
    """Look for a row of a relation."""

    relation: str
    row: pa.Table


@dataclass(frozen=True)
class Found(Reply):
    """Whether it is there."""

    found: bool


@dataclass(frozen=True)
class Describe(Command["Description"]):
    """Tell sizes and join orders."""


@dataclass(frozen=True)
class Description(Reply):
    """Of the node's own parts, and its own orders."""

    relations: dict[str, RelationFacts]
    views: list[ViewFacts]


@dataclass(frozen=True)
class Export(Command["Exported"]):
    """Write the rows of a relation as a Parquet file into a folder, for Spark to read."""

    relation: str
    folder: str


@dataclass(frozen=True)
class Exported(Reply):
    """The file; `None` if another node has written them."""

    file: str | None


# ---------------------------------------------------------------------- durability


@dataclass(frozen=True)
class EngineOptions(Message):
    """What `connect` was told about how to evaluate."""

    strategy: str = "support"
    max_rounds: int = 1_000_000
    at_max_rounds: str = "raise"
    strict: bool = False
    memory: int | str | None = None
    min_ship: bool = True


@dataclass(frozen=True)
class StoredState(Message):
    """A checkpoint: its program, its segments, and what it knows besides rows. `reusable` if the nodes that wrote it
    held the same parts, so that segments of relations that do not change need not be written again."""

    program: ProgramText
    version: int
    now: float
    clock: int
    incomplete: tuple[tuple[str, ...], ...]
    strata: tuple[str, ...]
    folder: str
    segments: tuple[Segment, ...]
    reusable: bool


@dataclass(frozen=True)
class Clear(Command[Done]):
    """Forget everything, and begin with nothing."""

    options: EngineOptions


@dataclass(frozen=True)
class Load(Command[VersionReport]):
    """Forget everything, and take what belongs to the node from a checkpoint."""

    options: EngineOptions
    state: StoredState


@dataclass(frozen=True)
class WriteSegments(Command["SegmentsWritten"]):
    """Write what changed since the last checkpoint as segments. `present` are the tables that this one had."""

    folder: str
    generation: int
    present: tuple[str, ...]


@dataclass(frozen=True)
class SegmentsWritten(Reply):
    """New segments, tables whose old ones still hold, and what a checkpoint knows besides rows."""

    segments: tuple[Segment, ...]
    reuse: tuple[str, ...]
    clock: int
    incomplete: tuple[tuple[str, ...], ...]
    strata: tuple[str, ...]


# ---------------------------------------------------------------------- between nodes


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
    rows: pa.Table


@dataclass(frozen=True)
class Exchanged(PeerMessage):
    """A node's clock, how many rows died there, how many rows it sends to all nodes, and those for this one."""

    clock: int
    died: int
    posted: int
    parcels: tuple[ParcelTable, ...] = ()


@dataclass(frozen=True)
class Values(PeerMessage):
    """Numbers to be added up."""

    values: tuple[float, ...]


@dataclass(frozen=True)
class Unable(PeerMessage):
    """The node cannot go on with the command."""
