"""What nodes say to each other: a frozen dataclass for each kind of message, and one codec for all of them.

In the simulator messages are passed as they are, and only measured; on real transports they are bytes. Variables are
numbers that tell their owner (see `annotated/variables`). A new kind is a dataclass here, its fields among those that
`message_codec` knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.networks.runtime.row_table import Row

Terms = tuple[tuple[int, ...], ...]
"""A positive Boolean expression by its minimal terms, each a tuple of variables in order."""

Shape = Terms | bytes
"""An expression by its terms, or as a diagram (`annotations.bdd`), where it has too many of them."""


@dataclass(frozen=True, slots=True)
class Derived:
    """`t`: a row of a relation (by its number in the program) that belongs to the receiver, and what it rests on."""

    relation: int
    row: Row
    terms: Shape


@dataclass(frozen=True, slots=True)
class Gone:
    """`d`: this variable is false for ever, until its owner gives it again: the owner's deletion of this number."""

    variable: int
    number: int


@dataclass(frozen=True, slots=True)
class SeenDeletions:
    """`v`: how many deletions of each owner the sender has seen, and whose tombstones it has dropped up to which."""

    seen: tuple[tuple[int, int], ...]
    dropped: tuple[tuple[int, int], ...]


Instance = tuple[int, tuple[Row, ...]]
"""A rule by its number, and the rows of its premises."""


@dataclass(frozen=True, slots=True)
class CountedDerivations:
    """A row has so many derivations more at the sender; fewer, if the number is negative."""

    relation: int
    row: Row
    number: int


@dataclass(frozen=True, slots=True)
class Follows:
    """A row follows from what the sender has."""

    relation: int
    row: Row


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The sender no longer says so."""

    relation: int
    row: Row


@dataclass(frozen=True, slots=True)
class Supported:
    """A row follows at the sender from premises whose ranks are at most this."""

    relation: int
    row: Row
    rank: int


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The sender no longer supports some rows: those of the so-manieth `Supported` of this channel.

    The receiver knows rows by those numbers; the first of them with its relation, and all of them, are here for those
    who look on, and stay here.
    """

    numbers: tuple[int, ...]
    relation: int = field(default=-1, compare=False)
    row: Row = field(default=(), compare=False)
    taken_back: tuple[Row, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Replaced:
    """A `Supported` and what was `Withdrawn` right after it, as one: a row takes the place of others.

    The rows that are taken back are here for those who look on, and stay here.
    """

    relation: int
    row: Row
    rank: int
    numbers: tuple[int, ...]
    taken_back: tuple[Row, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Reranked:
    """The sender supports a row by premises of another rank now; the row is known as that of `Withdrawn` is."""

    number: int
    rank: int
    relation: int = field(default=-1, compare=False)
    row: Row = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class FollowsBy:
    """FollowsBy by which a row follows at the sender."""

    relation: int
    row: Row
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """An instance that was shipped is destroyed."""

    relation: int
    row: Row
    instance: Instance


@dataclass(frozen=True, slots=True)
class AskedFor:
    """Does a row of the receiver follow?"""

    relation: int
    row: Row


@dataclass(frozen=True, slots=True)
class Grounded:
    """A row that was asked for follows from base rows."""

    relation: int
    row: Row


@dataclass(frozen=True, slots=True)
class Alive:
    """A row follows at the sender, until this time."""

    relation: int
    row: Row
    until: float


@dataclass(frozen=True, slots=True)
class EventRaised:
    """An event of the receiver: it is there for one local fixpoint."""

    relation: int
    row: Row


@dataclass(frozen=True, slots=True)
class RowInserted:
    """An update rule of the sender inserts a row of the receiver's state."""

    relation: int
    row: Row


@dataclass(frozen=True, slots=True)
class RowDeleted:
    """An update rule of the sender deletes a row of the receiver's state."""

    relation: int
    row: Row


Happening = EventRaised | RowInserted | RowDeleted
"""What update rules send: it is the same whatever rows carry."""

RowMessage = (
    Derived
    | CountedDerivations
    | Follows
    | TakenBack
    | Supported
    | Replaced
    | FollowsBy
    | Dropped
    | AskedFor
    | Grounded
    | Alive
    | EventRaised
    | RowInserted
    | RowDeleted
)
"""What has a relation and a row."""

RowlessMessage = Gone | SeenDeletions | Withdrawn | Reranked
"""What has none on the wire."""

PlainMessage = RowMessage | RowlessMessage
"""What schemes say."""


@dataclass(frozen=True, slots=True)
class SharedMessage:
    """Messages that were to go to the same node, in order, said as one (`sharing`)."""

    messages: tuple[PlainMessage, ...]


Message = PlainMessage | SharedMessage
