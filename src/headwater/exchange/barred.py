"""What conditions say of candidates: where their data came from, and which of them the priority 0 is given to.

What a condition says of data is asked for once, not for each row. What it says of where data came from is read off
the lineage of the candidates, which the database keeps right as rows come and go: a version costs what it changes,
and a look at each candidate that a condition with priority 0 may mean. `Reconciler.rejecting` says the same of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headwater.database import Database
from headwater.exchange.edit import Row
from headwater.language.datalog.render import MARK, render
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.mappings.mapping import PeerRelation
from headwater.language.mappings.policy import TrustCondition
from headwater.language.program import (
    Atom,
    Comparison,
    Constant,
    Literal,
    Positive,
    Program,
    Query,
    Rule,
    Term,
    Variable,
)
from headwater.provenance.ask.evaluation import Evaluation

NAMED = "exchange_named"
"""The rows that a condition names, where it is asked for them."""
MOST_ASKED_ABOUT = 16
"""Rows of a relation whose derivations are asked for before the lineage of all of them is worked out, and kept."""
MOST_ANSWERS_KEPT = 100_000
"""Of what guards say of rows."""
Origins = frozenset[int]
"""Conditions, by their places, whose origins a row's data comes from."""
NOWHERE: Origins = frozenset()


class BarredRows:
    """Finds them; keeps the lineage of candidates from one version to the next."""

    def __init__(self) -> None:
        self._lineages: dict[
            PeerRelation, tuple[CompiledMappings, tuple[TrustCondition, ...], Evaluation]
        ] = {}
        self._asked: dict[PeerRelation, int] = {}
        self._answers: dict[tuple[TrustCondition, Row], bool] = {}

    def guarded(self, condition: TrustCondition, row: Row, ask: Callable[[], bool]) -> bool:
        """Whether a guard holds for a row, which depends on nothing else: asked once."""
        if len(self._answers) > MOST_ANSWERS_KEPT:
            self._answers.clear()
        if (condition, row) not in self._answers:
            self._answers[condition, row] = ask()
        return self._answers[condition, row]

    def origins(
        self,
        database: Database,
        compiled: CompiledMappings,
        relation: PeerRelation,
        ranking: Sequence[TrustCondition],
        row: Row,
    ) -> Origins | None:
        """The conditions, by their places, whose origins a candidate's data comes from; `None` where few candidates
        were asked about so far, or their derivations tell more than lineage does."""
        if any(c.by is not None for c in ranking) or not database.runner.here:
            return None
        self._asked[relation] = asked = self._asked.get(relation, 0) + 1
        if asked <= MOST_ASKED_ABOUT:
            return None
        found: Origins | None = self._lineage(database, compiled, relation, tuple(ranking))[row]
        return found or NOWHERE

    def of(
        self,
        database: Database,
        compiled: CompiledMappings,
        relation: PeerRelation,
        ranking: Sequence[TrustCondition],
        rejecting: Callable[[PeerRelation, Row], TrustCondition | None],
    ) -> Iterator[Row]:
        """The candidates of a relation that are rejected, where `ranking` are all conditions that give its rows a
        priority, the highest first. `rejecting` is asked about rows where lineage does not tell."""
        name = compiled.names.candidates(relation)
        named = [_named(database, name, condition) for condition in ranking]
        suspects = {row: None for c, rows in zip(ranking, named, strict=True) if c.rejects for row in rows}
        if any(c.by is not None for c in ranking) or not database.runner.here:
            yield from (row for row in suspects if rejecting(relation, row) is not None)
            return
        own = database[compiled.names.contributions(relation)].holds(suspects)
        lineage: dict[Row, Origins] = {}
        if suspects and any(map(of_origin, ranking)):
            lineage = dict(self._lineage(database, compiled, relation, tuple(ranking)).items())
        for row, contributed in zip(suspects, own, strict=True):
            naming = (
                condition
                for place, condition in enumerate(ranking)
                if row in named[place] and (not of_origin(condition) or place in lineage.get(row, NOWHERE))
            )
            first = None if contributed else next(naming, None)
            if first is not None and first.rejects:
                yield row

    def _lineage(
        self,
        database: Database,
        compiled: CompiledMappings,
        relation: PeerRelation,
        ranking: tuple[TrustCondition, ...],
    ) -> Evaluation:
        known = self._lineages.get(relation)
        if known is None or known[0] is not compiled or known[1] != ranking:
            places = [(place, c) for place, c in enumerate(ranking) if of_origin(c)]

            def base(name: str, row: Row) -> Origins:
                of = compiled.contributions.get(name)
                if of is None:
                    return NOWHERE
                return frozenset(place for place, c in places if _contributes(c, compiled, relation, of, row))

            rules = {
                rule: frozenset(place for place, c in places if c.through == label)
                for label in {c.through for _, c in places if c.through is not None}
                for rule in compiled.rules_of(label)
            }
            found = database.evaluate(
                compiled.names.candidates(relation), "lineage", base, rules=rules, limit=None
            )
            known = self._lineages[relation] = (compiled, ranking, found)
        return known[2]


def of_origin(condition: TrustCondition) -> bool:
    """Whether it says where data came from."""
    origins = (condition.from_peer, condition.from_row, condition.through)
    return any(origin is not None for origin in origins)


def _contributes(
    condition: TrustCondition, compiled: CompiledMappings, relation: PeerRelation, of: PeerRelation, row: Row
) -> bool:
    """Whether a contribution is what a condition names as the origin."""
    if condition.from_peer is not None:
        return condition.from_peer == of.peer
    if condition.through is not None or condition.from_row is None:
        return False
    wanted = tuple(term.value for term in condition.from_row.args if isinstance(term, Constant))
    return compiled.schemas.find(condition.from_row, relation.peer) == of and wanted == row


def _named(database: Database, name: str, condition: TrustCondition) -> dict[Row, None]:
    """The rows of a relation for which the pattern and the guard of a condition hold."""
    if condition.atom is None:
        return dict.fromkeys(database[name].rows())
    taken = {term.name for term in condition.atom.args if isinstance(term, Variable)}
    columns: list[Term] = []
    more: list[Literal] = []
    for place, term in enumerate(condition.atom.args):
        column = term if isinstance(term, Variable) else Variable(_free(f"c{place}", taken))
        if isinstance(term, Constant):
            more.append(Comparison("=", column, term))
        columns.append(column)
    row = tuple(columns)
    body = (Positive(Atom(name, row)), *more, *condition.guard)
    goal = Query((Positive(Atom(NAMED, tuple(Variable(f"c{place}") for place in range(len(row))))),))
    asked = Program((Rule(None, (Atom(NAMED, row),), body),), queries=(goal,))
    return dict.fromkeys(database.query(f"{MARK}\n{render(asked)}").rows())


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
