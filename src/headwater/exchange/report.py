"""What an update did, or would do: which transactions were taken, and how the peer's relations differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from headwater.events import Event
from headwater.exchange.edit import Row, Transaction, TransactionId
from headwater.exchange.net_change import NetChange

MOST_TRANSACTIONS_SHOWN = 8
"""Transactions that a report names."""


@dataclass(frozen=True)
class UpdateReport:
    """Transactions of others that an update takes on, those that wait for others, and what changes by it.

    The rows are worked out when somebody asks.
    """

    peer: str
    transactions: tuple[Transaction, ...]
    waiting: tuple[TransactionId, ...] = ()
    work_out: Callable[[], NetChange] = field(default=NetChange, repr=False, compare=False)
    supposed: bool = False
    """Whether it would be done, and is not."""
    events: tuple[Event, ...] = ()
    """What made it cost more than what is new."""

    @cached_property
    def changes(self) -> NetChange:
        """How the peer's own relations differ afterwards."""
        return self.work_out()

    def inserted(self, relation: str) -> list[Row]:
        """The rows that one of the peer's relations gains."""
        return self.changes.inserted(relation)

    def deleted(self, relation: str) -> list[Row]:
        """The rows that it loses."""
        return self.changes.deleted(relation)

    def __str__(self) -> str:
        named = [str(transaction.id) for transaction in self.transactions[:MOST_TRANSACTIONS_SHOWN]]
        more = len(self.transactions) - len(named)
        shown = ", ".join(named) + (f" and {more} more" if more else "")
        verb = "would take" if self.supposed else "took"
        lines = [f"{self.peer} {verb} {shown}" if named else f"{self.peer}: nothing new is published"]
        if self.waiting:
            lines.append(f"waiting for what they depend on: {', '.join(map(str, self.waiting))}")
        for transaction in self.transactions:
            lines += [f"{transaction.id.peer}'s policy: {edit}" for edit in transaction.policy]
        return "\n".join([*lines, str(self.changes)])
