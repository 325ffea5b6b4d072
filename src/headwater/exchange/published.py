"""What peers have published, wherever it is kept: a log of transactions for each peer, which only grows.

Nothing else travels between peers. Publishing twice is publishing once: transactions that are there are skipped, so a
publisher who does not know how far it came starts again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from headwater.errors import ExchangeError
from headwater.exchange.edit import Transaction
from headwater.exchange.edit_state import RowKey


class PublishedLogs(Protocol):
    """The logs of all peers of a confederation."""

    def last(self, peer: str) -> int:
        """The number of the last transaction that a peer has published; 0 before the first."""

    def append(self, peer: str, transactions: Sequence[Transaction]) -> None:
        """Publish transactions of a peer, numbered without gaps; all of them, or none, are visible afterwards.

        Those up to `last` are there already and are skipped. Refuses a gap.
        """

    def read(self, peer: str, after: int) -> Iterator[Transaction]:
        """What a peer has published after the transaction of this number, in order."""

    def editing(self, peer: str, rows: Collection[RowKey]) -> Iterator[Transaction]:
        """The transactions that a peer has published, in order, of those that edit one of some rows at least."""


class LogsInMemory:
    """The logs of a confederation that lives in one process and leaves nothing behind."""

    def __init__(self) -> None:
        self._logs: dict[str, list[Transaction]] = {}

    def last(self, peer: str) -> int:
        return len(self._logs.get(peer, ()))

    def append(self, peer: str, transactions: Sequence[Transaction]) -> None:
        new = unpublished(peer, self.last(peer), transactions)
        self._logs.setdefault(peer, []).extend(new)

    def read(self, peer: str, after: int) -> Iterator[Transaction]:
        yield from self._logs.get(peer, ())[after:]

    def editing(self, peer: str, rows: Collection[RowKey]) -> Iterator[Transaction]:
        for transaction in self.read(peer, 0):
            if any((edit.relation, edit.row) in rows for edit in transaction.edits):
                yield transaction


def unpublished(peer: str, last: int, transactions: Sequence[Transaction]) -> list[Transaction]:
    """Those of some transactions that come after the last one; refuses gaps and transactions of others."""
    new = [transaction for transaction in transactions if transaction.id.number > last]
    for number, transaction in enumerate(new, start=last + 1):
        if transaction.id.peer != peer or transaction.id.number != number:
            raise ExchangeError(
                "log-gap",
                f"the log of {peer} has {last} transactions; {transaction.id} cannot come next",
                hint="is another copy of this peer publishing? A peer has one folder, and one writer",
            )
    return new
