"""What an order is: when a row that has come is stored, and when its strands are run.

An *update* is a row with what it carries. A node stores it, which says whether there is news, and runs the strands
that its relation triggers (`Work`). Whatever the order, a stored row has a stamp, and strands join by stamps (see
`strands/strand`): so no pair of rows is missed, and none is joined twice.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from headwater.networks.runtime.row_table import Entry, Row


class Update:
    """A row of a relation (by number) on its way into its table, with what it carries."""

    __slots__ = ("relation", "row", "value")

    def __init__(self, relation: int, row: Row, value: Any):
        self.relation = relation
        self.row = row
        self.value = value


class Work(Protocol):
    """What an order can have done by its node."""

    def store(self, update: Update, stamp: int) -> Entry | None:
        """Merge an update into its table; the entry, with the news in `update.value`, if there is any."""
        ...

    def fire(self, entry: Entry, news: Any, stamp: int) -> None:
        """Run the strands that the entry's relation triggers, for what is news about it."""
        ...


class EvaluationOrder(Protocol):
    """In which order updates are stored and fired. Each node has one of its own."""

    def arrived(self, update: Update) -> None:
        """An update has come, from this node or another."""
        ...

    def run(self, work: Work) -> None:
        """Work that can be done after a message."""
        ...

    def idle(self, work: Work) -> bool:
        """Work that waits until no message does; whether there was any."""
        ...

    def restless(self) -> bool:
        """Whether `idle` has something to do."""
        ...

    def waits(self) -> bool:
        """Whether it has work for moments when no node has any."""
        ...

    def quiet(self, work: Work) -> None:
        """Such a moment has come."""
        ...

    def waiting(self) -> Collection[Update]:
        """The updates that are not stored yet."""
        ...
