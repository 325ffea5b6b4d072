"""The transactions that a peer has taken on, as far as they matter to each other: what came together, what depends.

Read from the logs once, and then as far as they have grown. Those that inserted a single row are left out, unless
they depend on others: such a row falls by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from headwater.exchange.edit import Edit, Row, Transaction, TransactionId
from headwater.language.mappings.mapping import PeerRelation

RelationRow = tuple[PeerRelation, Row]
History = Callable[[str, int], Iterable[Transaction]]
"""The transactions of a peer after a number, as far as they are published, or were taken on."""
NONE: frozenset[int] = frozenset()


def no_history(peer: str, after: int = 0) -> Iterable[Transaction]:
    """Nothing is known of transactions."""
    return ()


class TakenTransactions:
    """Transactions by number, in the order in which they were read; the rows that they inserted; who depends on
    whom."""

    def __init__(self, history: History):
        self._history = history
        self._read: dict[str, int] = {}
        self.ids: list[TransactionId] = []
        self.inserted: list[tuple[RelationRow, ...]] = []
        self._by_row: dict[RelationRow, frozenset[int]] = {}
        self._dependents: dict[TransactionId, list[int]] = {}

    def read(self, peers: Iterable[str]) -> list[RelationRow]:
        """Take note of what came since the last time; the rows of which `of` has something to say."""
        news: list[RelationRow] = []
        for peer in peers:
            for transaction in self._history(peer, self._read.get(peer, 0)):
                self._read[peer] = transaction.id.number
                news += self._enter(transaction)
        return news

    def _enter(self, transaction: Transaction) -> Sequence[RelationRow]:
        rows = tuple(
            (PeerRelation(transaction.id.peer, edit.relation), edit.row) for edit in inserted(transaction)
        )
        if len(rows) < 2 and not transaction.depends:
            return ()
        number = len(self.ids)
        self.ids.append(transaction.id)
        self.inserted.append(rows)
        for needed in transaction.depends:
            self._dependents.setdefault(needed, []).append(number)
        for row in rows:
            self._by_row[row] = self._by_row.get(row, NONE) | {number}
        return rows

    def of(self, row: RelationRow) -> frozenset[int]:
        """The transactions that inserted a row together with others, or depend on others."""
        return self._by_row.get(row, NONE)

    @property
    def any(self) -> bool:
        """Whether there are any such."""
        return bool(self._by_row)

    def several(self, number: int) -> bool:
        """Whether a transaction inserted more than one row: it falls as a whole if one of them does."""
        return len(self.inserted[number]) > 1

    def dependents(self, number: int) -> Sequence[int]:
        """Those that depend on a transaction."""
        return self._dependents.get(self.ids[number], ())


def inserted(transaction: Transaction) -> list[Edit]:
    """What a transaction inserts, and does not take back itself."""
    last = {(edit.relation, edit.row): edit for edit in transaction.edits}
    return [edit for edit in last.values() if edit.sign == "+"]
