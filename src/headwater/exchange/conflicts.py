"""Reconciliation inside a peer's database: rows that are rivals, what is decided about them, and rows withheld.

Decisions are base rows of the database, so that whatever follows from them is maintained as anything else. A decision
can change what others depend on, through mappings that form a cycle. So decisions are made again until none changes,
and after some rounds rows are only withheld any more, so that it ends. The order of relations is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.database import Database
from headwater.exchange.edit import Row
from headwater.exchange.reconciliation import OWN, Conflict, ConflictOption, Decision, decide
from headwater.exchange.why import PeerWhy
from headwater.language.datalog.render import MARK, render
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.mappings.mapping import PeerRelation, Schemas
from headwater.language.mappings.policy import TrustCondition
from headwater.language.program import Atom, Comparison, Constant, Program, Query, Term, Variable
from headwater.values.keys import order_key
from headwater.version.changes import Changes

FREE_ROUNDS = 8
"""Rounds in which rows may still be let in again."""


class Reconciler:
    """Decides about the relations with keys of all peers, as a database has them."""

    def __init__(
        self,
        database: Database,
        compiled: CompiledMappings,
        conditions: dict[str, tuple[TrustCondition, ...]],
    ):
        self._database = database
        self._compiled = compiled
        self._conditions = {
            peer: sorted((c for c in each if c.stance == "trust"), key=lambda c: -c.priority)
            for peer, each in conditions.items()
        }

    def settle(self) -> list[Changes]:
        """Withhold what is rejected or deferred, and let in what no longer is; what that did."""
        done: list[Changes] = []
        names = self._compiled.names
        while True:
            insert: dict[str, list[Row]] = {}
            delete: dict[str, list[Row]] = {}
            for relation in self._compiled.keyed:
                wanted = {
                    row
                    for row, decision in self.decisions(relation).items()
                    if decision is not Decision.ACCEPTED
                }
                there = set(self._database[names.withheld(relation)].rows())
                insert[names.withheld(relation)] = list(wanted - there)
                if len(done) < FREE_ROUNDS:
                    delete[names.withheld(relation)] = list(there - wanted)
            if not any(insert.values()) and not any(delete.values()):
                return done
            done.append(self._database.apply(insert, delete))

    def decisions(self, relation: PeerRelation) -> dict[Row, Decision]:
        """What becomes of the rows of a relation that have rivals."""
        arity = len(self._compiled.schemas.columns[relation])
        pairs = [
            (row[:arity], row[arity:]) for row in self._database[self._compiled.names.rivals(relation)].rows()
        ]
        known: dict[Row, int] = {}

        def priority(row: Row) -> int:
            if row not in known:
                known[row] = self.priority(relation, row)
            return known[row]

        return decide(pairs, priority)

    def conflicts(self, peer: str) -> Iterator[Conflict]:
        """The groups of rivals of a peer's relations."""
        for relation in self._compiled.keyed:
            if relation.peer != peer:
                continue
            decided = self.decisions(relation)
            columns = self._compiled.schemas.columns[relation]
            (key, *_) = [
                each.key for each in self._compiled.equalities.key_dependencies() if each.relation == relation
            ]
            groups: dict[Row, list[Row]] = {}
            for row in sorted(decided, key=order_key):
                groups.setdefault(tuple(row[i] for i in key), []).append(row)
            for values, rows in groups.items():
                options = tuple(
                    ConflictOption(row, self.priority(relation, row), decided[row]) for row in rows
                )
                named = {columns[i].name: value for i, value in zip(key, values, strict=True)}
                yield Conflict(peer, relation.name, named, options)

    # ------------------------------------------------------------------ priorities

    def priority(self, relation: PeerRelation, row: Row) -> int:
        """Of the first condition, from the highest priority down, that names the row; 0 if none does."""
        names = self._compiled.names
        if row in self._database[names.contributions(relation)]:
            return OWN
        why: PeerWhy | None = None
        for condition in self._conditions.get(relation.peer, ()):
            if not self.speaks_of(condition, relation, row):
                continue
            if why is None:
                found = self._database.why(names.candidates(relation), row)
                why = PeerWhy(relation.peer, found, self._compiled, lambda peer, name, row: ())
            if _comes_so(condition, why, self._compiled.schemas):
                return condition.priority
        return 0

    def speaks_of(self, condition: TrustCondition, relation: PeerRelation, row: Row) -> bool:
        """Whether the pattern and the guard of a condition hold for a row."""
        if condition.atom is None:
            return True
        if self._compiled.schemas.find(condition.atom, relation.peer) != relation:
            return False
        values: dict[str, object] = {}
        for term, value in zip(condition.atom.args, row, strict=True):
            if isinstance(term, Constant) and term.value != value:
                return False
            if isinstance(term, Variable) and values.setdefault(term.name, value) != value:
                return False
        if not condition.guard:
            return True
        bound: list[Comparison] = [
            Comparison("=", Variable(name), Constant(value)) for name, value in values.items()
        ]
        goal = Program(queries=(Query((*bound, *condition.guard)),))
        return bool(self._database.query(f"{MARK}\n{render(goal)}"))


def _comes_so(condition: TrustCondition, why: PeerWhy, schemas: Schemas) -> bool:
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
