"""Reconciliation inside a peer's database: rows that are rivals, what is decided about them, and rows withheld.

Decisions are base rows of the database, so that whatever follows from them is maintained as anything else. A decision
can change what others depend on, through mappings that form a cycle. So decisions are made again until none changes,
and after some rounds rows are only withheld any more, so that it ends. The order of relations is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headwater.database import Database
from headwater.exchange.barred import BarredRows, of_origin
from headwater.exchange.edit import Row
from headwater.exchange.reconciliation import (
    OWN,
    UNRANKED,
    Conflict,
    ConflictOption,
    Decision,
    ValueClash,
    decide,
)
from headwater.exchange.taken import RelationRow, no_history
from headwater.exchange.together import Together
from headwater.exchange.why import PeerWhy, unknown_contributors
from headwater.language.datalog.render import MARK, render
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.mappings.mapping import PeerRelation, Schemas
from headwater.language.mappings.policy import DEFAULT_PRIORITY, TrustCondition
from headwater.language.program import Atom, Comparison, Constant, Program, Query, Term, Variable
from headwater.values.keys import order_key
from headwater.version.changes import Changes

KEPT_BACK = (Decision.REJECTED, Decision.DEFERRED)
FREE_ROUNDS = 8
"""Rounds in which rows may still be let in again."""


class Reconciler:
    """Decides about the relations with keys of all peers, as a database has them."""

    def __init__(
        self,
        database: Database,
        compiled: CompiledMappings,
        conditions: Mapping[str, tuple[TrustCondition, ...]],
        together: Together | None = None,
        barred: BarredRows | None = None,
    ):
        """`together` and `barred` may know something of the candidates from earlier versions."""
        self._database = database
        self._barred_rows = barred or BarredRows()
        self._compiled = compiled
        self._together = together or Together(no_history)
        self._conditions = {
            peer: sorted((c for c in each if c.ranks), key=lambda c: -c.priority)
            for peer, each in conditions.items()
        }

    def settle(self) -> list[Changes]:
        """Withhold what is rejected or deferred, and let in what no longer is; what that did."""
        done: list[Changes] = []
        names = self._compiled.names
        peers = dict.fromkeys(relation.peer for relation in self._compiled.choosing)
        while True:
            insert: dict[str, list[Row]] = {}
            delete: dict[str, list[Row]] = {}
            wanted = {
                key for peer in peers for key, each in self.decisions(peer).items() if each in KEPT_BACK
            }
            for relation in self._compiled.choosing:
                withheld = names.withheld(relation)
                there = set(self._database[withheld].rows())
                rows = {row for each, row in wanted if each == relation}
                insert[withheld] = list(rows - there)
                if len(done) < FREE_ROUNDS:
                    delete[withheld] = list(there - rows)
            if not any(insert.values()) and not any(delete.values()):
                return done
            done.append(self._database.apply(insert, delete))

    def decisions(
        self, peer: str, without: frozenset[RelationRow] = frozenset()
    ) -> dict[RelationRow, Decision]:
        """What becomes of the rows of a peer that have rivals, and of those that came with them in a transaction; or
        would, `without` some of them.

        A transaction falls if a row that needs it is not accepted; then rows that it had beaten are looked at again.
        """
        barred = {key: Decision.REJECTED for key in self._barred(peer) if key not in without}
        out = barred.keys() | without
        pairs = [pair for pair in self._pairs(peer) if out.isdisjoint(pair)]
        known: dict[RelationRow, int] = {}

        def priority(key: RelationRow) -> int:
            if key not in known:
                known[key] = self.priority(*key)
            return known[key]

        fallen: dict[RelationRow, Decision] = {}
        while True:
            decided = decide([pair for pair in pairs if not fallen.keys() & set(pair)], priority)
            beaten = barred | {key: each for key, each in decided.items() if each in KEPT_BACK}
            falling = self._together.falling
            more = falling(self._database, self._compiled, peer, beaten) if beaten else {}
            if more.keys() <= fallen.keys():
                return {**decided, **fallen, **barred}
            fallen = {**more, **fallen}

    def _barred(self, peer: str) -> Iterator[RelationRow]:
        """The candidates of a peer to which a condition gives the priority 0."""
        for relation in self._compiled.choosing:
            each = self._conditions.get(peer, ()) if relation.peer == peer else ()
            ranking = self._ranking(relation) if each else []
            if any(condition.rejects for condition in ranking):
                found = self._barred_rows.of(
                    self._database, self._compiled, relation, ranking, self.rejecting
                )
                yield from ((relation, row) for row in found)

    def _pairs(self, peer: str, of: PeerRelation | None = None) -> Iterator[tuple[RelationRow, RelationRow]]:
        """Rivals of a peer, or of one of its relations."""
        for relation in self._compiled.keyed:
            if relation.peer == peer and of in (None, relation):
                arity = len(self._compiled.schemas.columns[relation])
                for row in self._database[self._compiled.names.rivals(relation)].rows():
                    yield (relation, row[:arity]), (relation, row[arity:])

    def conflicts(self, peer: str) -> Iterator[Conflict]:
        """The groups of rivals of a peer's relations, and rows that are kept back though their rivals are gone."""
        decided = self.decisions(peer)
        rivals = {key for pair in self._pairs(peer) for key in pair}
        for stranded in self._stranded(peer):
            if stranded not in decided:
                decided[stranded] = Decision.DEFERRED
                rivals.add(stranded)
        for relation in self._compiled.keyed:
            if relation.peer != peer:
                continue
            columns = self._compiled.schemas.columns[relation]
            rows = sorted((row for each, row in rivals if each == relation), key=order_key)
            for key, group in self._groups(relation, rows):
                options = tuple(
                    ConflictOption(
                        row, self.priority(relation, row), decided.get((relation, row), Decision.ACCEPTED)
                    )
                    for row in group
                )
                named = {columns[place].name: group[0][place] for place in key}
                yield Conflict(peer, relation.name, named, options)

    def _groups(
        self, relation: PeerRelation, rows: Sequence[Row]
    ) -> Iterator[tuple[tuple[int, ...], list[Row]]]:
        """Rows by each key of a relation, where they differ in what it determines; a row that differs from none by
        any key is in a group of the first."""
        determined: dict[tuple[int, ...], list[int]] = {}
        for each in self._compiled.equalities.key_dependencies():
            if each.relation == relation:
                determined.setdefault(each.key, []).append(each.column)
        alone = dict.fromkeys(rows)
        found: list[tuple[tuple[int, ...], list[Row]]] = []
        for key, columns in determined.items():
            groups: dict[Row, list[Row]] = {}
            for row in rows:
                groups.setdefault(tuple(row[place] for place in key), []).append(row)
            for group in groups.values():
                if any(len({row[column] for row in group}) > 1 for column in columns):
                    found.append((key, group))
                    for row in group:
                        alone.pop(row, None)
        first = next(iter(determined))
        yield from found
        yield from ((first, [row]) for row in alone)

    def rivals(self, relation: PeerRelation, row: Row) -> list[Row]:
        """The candidates that cannot be true if a row is."""
        return [other for (_, first), (_, other) in self._pairs(relation.peer, relation) if first == row]

    def clashes(self) -> Iterator[ValueClash]:
        """Known values that would have to be equal, each pair once."""
        equalities = self._compiled.equalities
        for number in equalities.numbers:
            labels = tuple(egd.label for egd in self._compiled.mappings.egds if equalities.of(egd) == number)
            pairs = self._database[self._compiled.names.clash(number)].rows()
            for left, right in sorted({tuple(sorted(pair, key=order_key)) for pair in pairs}, key=order_key):
                yield ValueClash(left, right, labels)

    def _stranded(self, peer: str) -> Iterator[RelationRow]:
        """Candidates that are withheld.

        In a cycle of mappings a rival may follow from the very row that it beats: then neither can be let in, and a
        person has to say which.
        """
        names = self._compiled.names
        for relation in self._compiled.choosing:
            if relation.peer == peer:
                candidates = self._database[names.candidates(relation)]
                withheld = self._database[names.withheld(relation)].rows()
                yield from ((relation, row) for row in withheld if row in candidates)

    # ------------------------------------------------------------------ priorities

    def priority(self, relation: PeerRelation, row: Row) -> int:
        """Of the first condition, from the highest priority down, that names the row; 0 if none does. Where no
        condition ranks rows of the relation, all have the same."""
        if row in self._database[self._compiled.names.contributions(relation)]:
            return OWN
        ranking = self._ranking(relation)
        if not ranking:
            return DEFAULT_PRIORITY
        found = self._first(ranking, relation, row)
        return UNRANKED if found is None else found.priority

    def rejecting(self, relation: PeerRelation, row: Row) -> TrustCondition | None:
        """The condition that gives a row the priority 0, if one does: the row is rejected, whether it has rivals or
        not."""
        ranking = self._ranking(relation)
        own = row in self._database[self._compiled.names.contributions(relation)]
        if own or not any(condition.rejects for condition in ranking):
            return None
        found = self._first(ranking, relation, row)
        return found if found is not None and found.rejects else None

    def _ranking(self, relation: PeerRelation) -> list[TrustCondition]:
        """The conditions that can give rows of a relation a priority, the highest first."""
        return [each for each in self._conditions.get(relation.peer, ()) if self._ranks(each, relation)]

    def _first(
        self, ranking: Sequence[TrustCondition], relation: PeerRelation, row: Row
    ) -> TrustCondition | None:
        """The first condition that names a row."""
        names, why, origins = self._compiled.names, None, None
        if any(map(of_origin, ranking)):
            origins = self._barred_rows.origins(self._database, self._compiled, relation, ranking, row)
        for place, condition in enumerate(ranking):
            if not self.speaks_of(condition, relation, row):
                continue
            if condition.by is None and (origins is not None or not of_origin(condition)):
                if not of_origin(condition) or (origins is not None and place in origins):
                    return condition
                continue
            if why is None:
                found = self._database.why(names.candidates(relation), row)
                why = PeerWhy(relation.peer, found, self._compiled, unknown_contributors)
            if comes_so(condition, why, self._compiled.schemas):
                return condition
        return None

    def _ranks(self, condition: TrustCondition, relation: PeerRelation) -> bool:
        """Whether a condition can name rows of a relation."""
        return (
            condition.atom is None or self._compiled.schemas.find(condition.atom, relation.peer) == relation
        )

    def speaks_of(self, condition: TrustCondition, relation: PeerRelation, row: Row) -> bool:
        """Whether the pattern and the guard of a condition hold for a row."""
        if condition.atom is None:
            return True
        if not self._ranks(condition, relation):
            return False
        values: dict[str, object] = {}
        for term, value in zip(condition.atom.args, row, strict=True):
            if isinstance(term, Constant) and term.value != value:
                return False
            if isinstance(term, Variable) and values.setdefault(term.name, value) != value:
                return False
        if not condition.guard:
            return True

        def ask() -> bool:
            bound: list[Comparison] = [
                Comparison("=", Variable(name), Constant(value)) for name, value in values.items()
            ]
            goal = Program(queries=(Query((*bound, *condition.guard)),))
            return bool(self._database.query(f"{MARK}\n{render(goal)}"))

        return self._barred_rows.guarded(condition, row, ask)


def comes_so(condition: TrustCondition, why: PeerWhy, schemas: Schemas) -> bool:
    """Whether some derivation of a row has the origin that a condition names."""
    if condition.by is not None and condition.by not in why.brought_by:
        return False
    if condition.from_peer is not None:
        return condition.from_peer in why.peers
    if condition.through is not None:
        return condition.through in why.mappings
    if condition.from_row is None:
        return True
    wanted = schemas.find(condition.from_row, why.peer)
    row = _values(condition.from_row)
    return any(
        (one.peer, one.relation, one.row) == (wanted.peer, wanted.name, row) for one in why.contributions
    )


def _values(atom: Atom) -> Row:
    terms: tuple[Term, ...] = atom.args
    return tuple(term.value for term in terms if isinstance(term, Constant))
