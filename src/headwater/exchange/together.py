"""Transactions that stand or fall together: what else goes if a row that came with one is not accepted.

A row needs a transaction if it could not be derived without the rows that it inserted. If such a row is rejected or
deferred at a peer, the transaction is, with all that needs it there and all transactions that depend on it. This is
worked out from what is there at present, so that it ends when its reason does. Own transactions never fall, and those
that inserted a single row fall with it anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headwater.database import Database
from headwater.exchange.edit import Edit, Row, Transaction, TransactionId
from headwater.exchange.reconciliation import Decision
from headwater.exchange.why import PeerWhy, unknown_contributors
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.mappings.mapping import PeerRelation

RelationRow = tuple[PeerRelation, Row]
History = Callable[[str], Iterable[Transaction]]
"""The transactions of a peer that were taken on so far."""


def no_history(peer: str) -> Iterable[Transaction]:
    """Nothing is known of transactions."""
    return ()


class Together:
    """Finds what falls with rows of a peer, from the logs."""

    def __init__(self, database: Database, compiled: CompiledMappings, history: History):
        self._database = database
        self._compiled = compiled
        self._history = history
        self._needing: dict[TransactionId, frozenset[RelationRow]] = {}

    def falling(self, peer: str, beaten: Mapping[RelationRow, Decision]) -> dict[RelationRow, Decision]:
        """The rows of a peer that fall with transactions which rows need that were not accepted."""
        fallen: dict[TransactionId, Decision] = {}
        for (relation, row), decision in beaten.items():
            for transaction in self._of(relation, row):
                if transaction.id.peer != peer and (relation, row) in self._needs(peer, transaction):
                    worse = Decision.REJECTED in (decision, fallen.get(transaction.id))
                    fallen[transaction.id] = Decision.REJECTED if worse else decision
        found: dict[RelationRow, Decision] = {}
        for transaction, decision in self._with_dependents(peer, fallen):
            for key in self._needs(peer, transaction):
                if not self._own(*key):
                    found[key] = Decision.REJECTED if found.get(key) is Decision.REJECTED else decision
        return {key: decision for key, decision in found.items() if key not in beaten}

    def _own(self, relation: PeerRelation, row: Row) -> bool:
        return row in self._database[self._compiled.names.contributions(relation)]

    def _of(self, relation: PeerRelation, row: Row) -> list[Transaction]:
        """The transactions of several rows that contributed to a row."""
        found = self._database.why(self._compiled.names.candidates(relation), row)
        why = PeerWhy(relation.peer, found, self._compiled, unknown_contributors)
        wanted = {(one.peer, one.relation, one.row) for one in why.contributions}
        return [
            transaction
            for peer in dict.fromkeys(one.peer for one in why.contributions)
            for transaction in self._history(peer)
            if len(inserted := _inserted(transaction)) > 1
            and any((peer, edit.relation, edit.row) in wanted for edit in inserted)
        ]

    def _with_dependents(
        self, peer: str, fallen: Mapping[TransactionId, Decision]
    ) -> list[tuple[Transaction, Decision]]:
        """Fallen transactions, and those that depend on them."""
        if not fallen:
            return []
        known = dict(fallen)
        peers = dict.fromkeys(relation.peer for relation in self._compiled.schemas.columns)
        every = [transaction for each in peers if each != peer for transaction in self._history(each)]
        grown = True
        while grown:
            grown = False
            for transaction in every:
                if transaction.id not in known:
                    for needed in transaction.depends:
                        if needed in known:
                            known[transaction.id] = known[needed]
                            grown = True
        return [(transaction, known[transaction.id]) for transaction in every if transaction.id in known]

    def _needs(self, peer: str, transaction: Transaction) -> frozenset[RelationRow]:
        """The candidates of a peer that would go if the transaction's rows did."""
        if transaction.id not in self._needing:
            names, rows = self._compiled.names, dict[str, list[Row]]()
            for edit in _inserted(transaction):
                relation = PeerRelation(transaction.id.peer, edit.relation)
                rows.setdefault(names.contributions(relation), []).append(edit.row)
            changes = self._database.what_if(delete=rows)
            self._needing[transaction.id] = frozenset(
                (relation, row)
                for relation in self._compiled.choosing
                if relation.peer == peer
                for row in changes[names.candidates(relation)].deleted
            )
        return self._needing[transaction.id]


def _inserted(transaction: Transaction) -> list[Edit]:
    """What a transaction inserts, and does not take back itself."""
    last = {(edit.relation, edit.row): edit for edit in transaction.edits}
    return [edit for edit in last.values() if edit.sign == "+"]
