"""Which transactions a row needs: those without whose rows it could not be derived.

Along a derivation what is needed adds up; of alternative derivations a row needs what all of them do. That is an
annotation as any other, which the database keeps right as rows come and go: a change costs what it affects. Asking
what would be left if the rows of a transaction went, for each transaction, says the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.annotations import wire
from headwater.annotations.protocol import Annotation, Names, not_an_element, plain
from headwater.database import Database
from headwater.exchange.edit import Row
from headwater.exchange.taken import NONE, RelationRow, TakenTransactions
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.mappings.mapping import PeerRelation
from headwater.provenance.ask.evaluation import Evaluation

Numbers = frozenset[int]
MOST_CORRECTIONS = 32
"""Of an evaluation, before it is made anew: each is looked through when a row comes."""


class Needed(Annotation[Numbers | None]):
    """Sets of what is needed: both of two premises need all, either of two derivations what both do. `zero` is
    `None`: not derived.

    >>> needed = Needed()
    >>> both = needed.times(frozenset({1}), frozenset({2}))
    >>> needed.show(needed.plus(both, frozenset({1, 3})))
    '{p1}'
    """

    name = "needed"
    idempotent = True
    absorptive = True
    zero: Numbers | None = None
    one: Numbers | None = NONE

    def plus(self, left: Numbers | None, right: Numbers | None) -> Numbers | None:
        if left is None:
            return right
        return left if right is None else left & right

    def times(self, left: Numbers | None, right: Numbers | None) -> Numbers | None:
        return None if left is None or right is None else left | right

    def variable(self, number: int) -> Numbers | None:
        return frozenset((number,))

    def value(self, given: object) -> Numbers | None:
        """A set of numbers, or `None`."""
        if given is None:
            return None
        if isinstance(given, set | frozenset) and all(isinstance(each, int) for each in given):
            return frozenset(given)
        raise not_an_element(self, given, "a set of numbers, or None")

    def encode(self, value: Numbers | None) -> bytes:
        """A set of sets with one or no member."""
        return wire.encode_sets(wire.SET, [] if value is None else [value])

    def decode(self, data: bytes) -> Numbers | None:
        sets = wire.decode_sets(wire.SET, data)
        return frozenset(sets[0]) if sets else None

    def show(self, value: Numbers | None, names: Names = plain) -> str:
        return "none" if value is None else "{" + ", ".join(names(each) for each in sorted(value)) + "}"


class NeededTransactions:
    """What candidates need, kept from one version to the next."""

    def __init__(self, taken: TakenTransactions):
        self._taken = taken
        self._evaluations: dict[PeerRelation, Evaluation] = {}
        self._corrections = 0

    def correct(self, compiled: CompiledMappings, rows: Iterable[RelationRow]) -> None:
        """These rows came with transactions that were not known yet."""
        said: dict[str, dict[Row, Numbers]] = {}
        for relation, row in rows if self._evaluations else ():
            said.setdefault(compiled.names.contributions(relation), {})[row] = self._taken.of((relation, row))
        if said:
            self._corrections += 1
            if self._corrections > MOST_CORRECTIONS:
                self._evaluations.clear()
                self._corrections = 0
        for evaluation in self._evaluations.values():
            evaluation.update(said)

    def of(self, database: Database, compiled: CompiledMappings, row: RelationRow) -> Numbers:
        """The transactions that a candidate needs."""
        evaluation = self._evaluation(database, compiled, row[0])
        found: Numbers | None = evaluation[row[1]]
        return found or NONE

    def needing(
        self, database: Database, compiled: CompiledMappings, relation: PeerRelation, number: int
    ) -> list[Row]:
        """The candidates of a relation that need a transaction."""
        rows: dict[str, list[Row]] = {}
        for each, row in self._taken.inserted[number]:
            rows.setdefault(compiled.names.contributions(each), []).append(row)
        return self._evaluation(database, compiled, relation).derived_from(
            rows, lambda value: value is not None and number in value
        )

    def _evaluation(
        self, database: Database, compiled: CompiledMappings, relation: PeerRelation
    ) -> Evaluation:
        if relation not in self._evaluations:
            by_name = {compiled.names.contributions(each): each for each in compiled.schemas.columns}

            def base(name: str, row: Row) -> Numbers:
                of = by_name.get(name)
                return NONE if of is None else self._taken.of((of, row))

            self._evaluations[relation] = database.evaluate(
                compiled.names.candidates(relation), Needed(), base, limit=None
            )
        return self._evaluations[relation]
