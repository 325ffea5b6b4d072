"""Transactions that stand or fall together: what else goes if a row that came with one is not accepted.

A row needs a transaction if it could not be derived without the rows that it inserted. If such a row is rejected or
deferred at a peer, the transaction is, with all that needs it there and all transactions that depend on it. This is
worked out from what is there at present, so that it ends when its reason does. Own transactions never fall, and those
that inserted a single row fall with it anyway.

What rows need is kept from version to version (`needed`) once more than a few rows are not accepted. Before that, and
where the peer computes on nodes, each of them is asked about, and each transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.database import Database
from headwater.exchange.edit import Row
from headwater.exchange.needed import NeededTransactions
from headwater.exchange.reconciliation import Decision
from headwater.exchange.taken import NONE, History, RelationRow, TakenTransactions
from headwater.exchange.why import PeerWhy, unknown_contributors
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.mappings.mapping import PeerRelation

MOST_ASKED_ABOUT = 8
"""Rows that are asked about one by one before what all candidates need is worked out, and kept."""


class Together:
    """Finds what falls with rows of a peer; keeps what it knows from one version to the next."""

    def __init__(self, history: History):
        self._taken = TakenTransactions(history)
        self._needed = NeededTransactions(self._taken)
        self._keeps = False

    def falling(
        self,
        database: Database,
        compiled: CompiledMappings,
        peer: str,
        beaten: Mapping[RelationRow, Decision],
    ) -> dict[RelationRow, Decision]:
        """The rows of a peer that fall with transactions which rows need that were not accepted."""
        news = self._taken.read(dict.fromkeys(relation.peer for relation in compiled.schemas.columns))
        self._needed.correct(compiled, news)
        if not self._taken.any:
            return {}
        self._keeps = self._keeps or len(beaten) > MOST_ASKED_ABOUT
        known = self._keeps and database.runner.here
        rows = (
            KeptNeeds(self._needed, database, compiled)
            if known
            else AskedNeeds(self._taken, database, compiled)
        )
        fallen: dict[int, Decision] = {}
        for key, decision in beaten.items():
            for number in rows.of(peer, key):
                if self._taken.ids[number].peer != peer and self._taken.several(number):
                    worse = Decision.REJECTED in (decision, fallen.get(number))
                    fallen[number] = Decision.REJECTED if worse else decision
        found: dict[RelationRow, Decision] = {}
        for number, decision in self._with_dependents(peer, fallen).items():
            for key in rows.needing(peer, number):
                if key not in beaten:
                    found[key] = Decision.REJECTED if found.get(key) is Decision.REJECTED else decision
        own = _own(database, compiled, found)
        return {key: decision for key, decision in found.items() if key not in own}

    def _with_dependents(self, peer: str, fallen: Mapping[int, Decision]) -> dict[int, Decision]:
        """Fallen transactions, and those that depend on them."""
        known = dict(fallen)
        todo = list(fallen)
        while todo:
            number = todo.pop()
            for other in self._taken.dependents(number):
                worse = known[number] is Decision.REJECTED and known.get(other) is not Decision.REJECTED
                if self._taken.ids[other].peer != peer and (other not in known or worse):
                    known[other] = known[number]
                    todo.append(other)
        return known


def _own(database: Database, compiled: CompiledMappings, rows: Iterable[RelationRow]) -> set[RelationRow]:
    """Those of some rows that the peer's users have contributed."""
    by_relation: dict[PeerRelation, list[Row]] = {}
    for relation, row in rows:
        by_relation.setdefault(relation, []).append(row)
    return {
        (relation, row)
        for relation, each in by_relation.items()
        for row, held in zip(each, database[compiled.names.contributions(relation)].holds(each), strict=True)
        if held
    }


class KeptNeeds:
    """What rows need, as it is kept."""

    def __init__(self, needed: NeededTransactions, database: Database, compiled: CompiledMappings):
        self._needed, self._database, self._compiled = needed, database, compiled

    def of(self, peer: str, key: RelationRow) -> Iterable[int]:
        """The transactions that a row needs."""
        return self._needed.of(self._database, self._compiled, key)

    def needing(self, peer: str, number: int) -> Iterable[RelationRow]:
        """The candidates of a peer that need a transaction."""
        for relation in self._compiled.choosing:
            if relation.peer == peer:
                found = self._needed.needing(self._database, self._compiled, relation, number)
                yield from ((relation, row) for row in found)


class AskedNeeds:
    """The same, asked of the database for each row and each transaction."""

    def __init__(self, taken: TakenTransactions, database: Database, compiled: CompiledMappings):
        self._taken, self._database, self._compiled = taken, database, compiled
        self._needing: dict[int, frozenset[RelationRow]] = {}

    def of(self, peer: str, key: RelationRow) -> Iterable[int]:
        """The transactions that a row needs."""
        relation, row = key
        found = self._database.why(self._compiled.names.candidates(relation), row)
        why = PeerWhy(relation.peer, found, self._compiled, unknown_contributors)
        several = NONE.union(
            *(self._taken.of((PeerRelation(one.peer, one.relation), one.row)) for one in why.contributions)
        )
        return [number for number in several if key in self.needing(peer, number)]

    def needing(self, peer: str, number: int) -> frozenset[RelationRow]:
        """The candidates of a peer that would go if the transaction's rows did."""
        if number not in self._needing:
            names, rows = self._compiled.names, dict[str, list[Row]]()
            for relation, row in self._taken.inserted[number]:
                rows.setdefault(names.contributions(relation), []).append(row)
            changes = self._database.what_if(delete=rows)
            self._needing[number] = frozenset(
                (relation, row)
                for relation in self._compiled.choosing
                if relation.peer == peer
                for row in changes[names.candidates(relation)].deleted
            )
        return self._needing[number]
