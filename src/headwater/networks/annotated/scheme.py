"""What a scheme is: the part of a node that decides what rows carry, what is shipped, and how deletions travel.

The node runs strands, groups and selections, and knows nothing of annotations. A scheme is told
- that a base row of the node is inserted or deleted. Rows that are *published* (groups, missing rows, best rows) are
  base rows to it like any others: they come and go by the node's own decision;
- that an update is to be stored: it merges what the row carries with what is known of it, and says what is news;
- that a strand has derived a row: it ships it to where the row lives, at once, later, or not at all;
- that a message has come, of a kind that schemes of its own nodes sent.

It holds what rows carry in the entries of the node's tables, and adds and removes entries; the tables tell groups and
selections. A deletion must reach all that rests on it in whatever way the scheme has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, Protocol, runtime_checkable

from headwater.networks.annotated.stages import QuietStage
from headwater.networks.orders.order import Update
from headwater.networks.runtime.messages import Message
from headwater.networks.runtime.passing_on import FallenBest
from headwater.networks.runtime.row_table import Entry, Row, RowTable
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.strands.strand import Strand


class Host(Protocol):
    """What a scheme can ask of its node."""

    number: int
    nodes: int
    places: int
    """How many places each node has, for rows that are near each other in the network."""
    incarnation: int
    """How often this node has been started again."""
    plan: NodePlan
    tables: list[RowTable]

    def home(self, relation: int, row: Row) -> int | None:
        """The node that a row belongs to; `None` if its address is nobody's."""
        ...

    def place(self, relation: int, row: Row) -> int:
        """The place of a row of this node."""
        ...

    def arrive(self, relation: int, row: Row, value: Any) -> None:
        """A row of this node is to be stored, with what it carries; its strands will run."""
        ...

    def falls(self, relation: int, row: Row, rank: int, teller: int) -> None:
        """A row is about to go because its last teller supports it no more: selections beware of what rests on it."""
        ...

    def send(self, receiver: int, message: Message) -> None:
        """Send a message to another node."""
        ...

    def others(self) -> Iterable[int]:
        """All other nodes."""
        ...

    def neighbours(self) -> list[int]:
        """The other ends of this node's links; the topology's, if the program marks none, or all others."""
        ...

    def link_end(self, relation: int, row: Row) -> int | None:
        """The other end of a link; `None` if the row is of another relation."""
        ...

    def waiting(self) -> Iterable[Update]:
        """Updates that have arrived and are not stored yet: they carry what is to be kept true, too."""
        ...

    def now(self) -> float:
        """The time, in seconds, as this node's clock has it."""
        ...

    def wake(self, delay: float) -> None:
        """Ask to be woken after so many seconds."""
        ...


class Scheme(Protocol):
    """One node's side of an annotation. Most need not be told of idle moments, quiet ones and the time: where nothing
    is said, nothing is done about them."""

    waits_for_rest: bool = False
    """Whether it ever wants something to begin when all nodes are at rest."""

    @property
    def steady(self) -> bool:
        """Whether rows that are not there are not expected back: nothing is published before."""
        ...

    @property
    def passes_on(self) -> bool:
        """The same for rows that selections inside recursions depend on: nothing is passed on before."""
        return self.steady

    def takes_together(self, message: Message) -> bool:
        """Whether it may be received right after another, before what that one brought is stored and fired."""
        return False

    def insert(self, relation: int, row: Row) -> None:
        """A base row of this node, or one that it publishes, is there from now on; it was not before."""
        ...

    def delete(self, relation: int, row: Row) -> None:
        """A row that was inserted is there no more."""
        ...

    def store(self, update: Update, stamp: int) -> Entry | None:
        """Merge an update into its table. The entry, with `update.value` set to what is news, if anything is."""
        ...

    def derived(self, strand: Strand, row: Row, entries: Sequence[Entry | None], news: Any) -> None:
        """A strand has derived a row of its rule's head; the entry where it started counts with its `news` only.

        `entries` are those of the rule's premises, in order; the list is used again after the call.
        """
        ...

    def receive(self, sender: int, message: Message) -> None:
        """A message of another node's scheme."""
        ...

    def settled(self) -> bool:
        """All that has arrived is stored, and its strands have run; whether something arrives on that."""
        return False

    def idle(self) -> None:
        """No message waits."""
        return

    def restless(self) -> bool:
        """Whether `idle` has something to do."""
        return False

    def wants(self) -> QuietStage:
        """What it waits with until no node has anything to do and no message is under way."""
        return QuietStage.NOTHING

    def holds_back(self) -> bool:
        """Whether something that has happened waits for a time to pass before it is told."""
        return False

    def begin(self, stage: QuietStage) -> None:
        """Such a moment has come, and this is the most urgent that any node wants."""
        return

    def woken(self) -> None:
        """The time asked for has passed."""
        return

    def carried(self, entry: Entry) -> int:
        """How many bytes what a row carries would take on the wire."""
        ...

    def kept(self) -> int:
        """How many bytes of rows, and of what they carry, are kept beside the tables."""
        ...

    def replaces(self, entry: Entry, fallen: FallenBest) -> bool:
        """Whether a row may pass on in a group where others fell (`Host.falls`), before all nodes are at rest."""
        return True

    def passed(self, entry: Entry) -> Any:
        """What a best row carries when it passes on inside its recursion."""
        ...

    def beaten(self, relation: int, rows: Set[Row]) -> None:
        """Rows that have passed on are not the best any more: they may leave the table that they passed on to."""
        return


@runtime_checkable
class Recovering(Protocol):
    """A scheme that goes on when a node was lost with all that it had."""

    def restarted(self, other: int, incarnation: int) -> None:
        """Another node has begun again, with nothing: whatever it was sent is to be sent again, and what rests on
        its own rows is gone until it says so again. Channels to and from it are new."""
        ...


SchemeMaker = Callable[[Host], Scheme]
"""Makes the scheme of a node."""
